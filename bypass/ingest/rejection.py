"""The refusal of one message, with the stage that refused it and a reason that can be counted."""

from __future__ import annotations

from typing import Literal

from bypass.root_error import BypassError

Stage = Literal["replay", "registry", "integrity", "peer", "decipher", "decompress", "parse"]

_LONGEST_DETAIL = 200


class Rejected(BypassError):
    """A message that a stage refuses.

    `reason` is one of few short texts, the same for all messages with the same fault, so that it can be
    counted; `detail` is one short line for people, and says more about this message. Neither has keys.
    """

    def __init__(self, stage: Stage, reason: str, detail: str = "") -> None:
        detail = " ".join(detail[:_LONGEST_DETAIL].split())
        # `args` has to be what the constructor takes, because unpickling calls it with them.
        super().__init__(stage, reason, detail)
        self.stage = stage
        self.reason = reason
        self.detail = detail

    def __str__(self) -> str:
        return f"{self.stage}: {self.reason}" + (f": {self.detail}" if self.detail else "")
