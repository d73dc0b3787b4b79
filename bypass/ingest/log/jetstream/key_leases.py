"""Leases of connectors in a key-value bucket: those of an application are one value, changed by revision."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from bypass.ingest.log.jetstream.stream import LogStream
from bypass.ingest.log.leases import LeasesFailed, MemberLease, decode_leases, encode_leases
from bypass.ingest.log.message_log import InvalidLog, LogFailed, LogFull

T = TypeVar("T")

MOST_ATTEMPTS = 100
PATIENCE_S = 3.0
"""Less than for messages: a connector that waits for its lease does nothing else, and tries again anyway."""


class KeyLeases:
    """Leases in the bucket of a log's stream."""

    def __init__(self, stream: LogStream) -> None:
        self._stream = stream

    def change(self, application: str, function: Callable[[dict[str, MemberLease]], T]) -> T:
        key = f"leases.{application.encode().hex()}"
        try:
            for _ in range(MOST_ATTEMPTS):
                data, revision = self._stream.get(key, PATIENCE_S)
                members = decode_leases(data) if data else {}
                result = function(members)
                if self._stream.put(key, encode_leases(members), revision, PATIENCE_S) is not None:
                    return result
        except (LogFailed, LogFull, InvalidLog) as error:
            raise LeasesFailed(f"{error}: expected to change the leases") from error
        raise LeasesFailed(f"{application}: others changed the leases {MOST_ATTEMPTS} times: expected a turn")
