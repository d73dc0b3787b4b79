"""The configuration of a device as executors have it: checked before, small, and quick to read."""

from __future__ import annotations

import msgspec


class PeerRecord(msgspec.Struct, frozen=True, array_like=True):
    """The fields of a `Peer`."""

    kind: str
    keys: str
    operations: tuple[str, ...]


class DeviceRecord(msgspec.Struct, frozen=True):
    """The fields of a `Device`; `parser_schema` is in JSON, so that equal ones can be found. `policy` is the
    name of a mechanism, or in JSON if it has parameters."""

    id: str
    application: str
    tenant: str
    region: str
    suite: str
    standard: str | None
    keys: str | None
    peer: PeerRecord | None
    sequenced: bool
    compression: str
    largest: int
    parser: str
    parser_schema: str
    policy: str
    qos: int
    clock: str
    metadata: dict[str, str]
