"""Logs of a live broker: lines for people, or one JSON object a line for machines."""

from __future__ import annotations

import json
import logging
import sys
import threading
import time
from types import TracebackType
from typing import Any, Literal

Form = Literal["text", "json"]

log = logging.getLogger(__name__)


class JsonLines(logging.Formatter):
    """One object a line: when, how grave, which part, what."""

    def format(self, record: logging.LogRecord) -> str:
        content = _content(record.created, record.levelname.lower(), record.name, record.getMessage())
        if record.exc_info:
            content["error"] = self.formatException(record.exc_info)
        return json.dumps(content)


class _JsonHandler(logging.StreamHandler[Any]):
    """The one that `configure_logs` has added."""


def configure_logs(level: str, form: Form) -> None:
    """Write what the broker logs to standard error, and warnings of whatever it uses.

    In JSON that goes for all that Python would write there by itself: warnings, and errors that nobody
    catches, in any thread.
    """
    handler = _JsonHandler(sys.stderr)
    text = logging.Formatter("%(asctime)s %(levelname)-7s %(name)s: %(message)s")
    handler.setFormatter(JsonLines() if form == "json" else text)
    root = logging.getLogger()
    for other in [each for each in root.handlers if isinstance(each, _JsonHandler)]:
        root.removeHandler(other)
    root.addHandler(handler)
    logging.getLogger("bypass").setLevel(level.upper())
    if form == "json":
        logging.captureWarnings(True)
        sys.excepthook = _uncaught
        threading.excepthook = _uncaught_in_thread
        sys.unraisablehook = _unraisable


def announcement(text: str, form: Form) -> str:
    """Give a line to print when the broker starts, in the form of the log."""
    return text if form == "text" else json.dumps(_content(time.time(), "info", "bypass", text))


def _content(at: float, level: str, part: str, message: str) -> dict[str, Any]:
    return {"at": round(at, 6), "level": level, "part": part, "message": message}


def _uncaught(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    log.critical("ended by an error", exc_info=(kind, error, trace))


def _uncaught_in_thread(args: threading.ExceptHookArgs) -> None:
    name = args.thread.name if args.thread is not None else "unknown"
    error = args.exc_value or args.exc_type()
    log.critical("thread %s: ended by an error", name, exc_info=(args.exc_type, error, args.exc_traceback))


def _unraisable(args: sys.UnraisableHookArgs) -> None:
    error = args.exc_value or args.exc_type()
    log.error(
        "%s %r",
        args.err_msg or "error ignored in",
        args.object,
        exc_info=(args.exc_type, error, args.exc_traceback),
    )
