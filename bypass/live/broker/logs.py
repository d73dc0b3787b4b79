"""Logs of a live broker: lines for people, or one JSON object a line for machines."""

from __future__ import annotations

import json
import logging
import sys
from typing import Literal


class JsonLines(logging.Formatter):
    """One object a line: when, how grave, which part, what."""

    def format(self, record: logging.LogRecord) -> str:
        content = {
            "at": round(record.created, 6),
            "level": record.levelname.lower(),
            "part": record.name,
            "message": record.getMessage(),
        }
        if record.exc_info:
            content["error"] = self.formatException(record.exc_info)
        return json.dumps(content)


def configure_logs(level: str, form: Literal["text", "json"]) -> None:
    """Write what the broker logs to standard error."""
    handler = logging.StreamHandler(sys.stderr)
    text = logging.Formatter("%(asctime)s %(levelname)-7s %(name)s: %(message)s")
    handler.setFormatter(JsonLines() if form == "json" else text)
    root = logging.getLogger("bypass")
    root.handlers[:] = [handler]
    root.setLevel(level.upper())
