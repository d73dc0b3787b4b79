"""Changes of stored objects that clients ask for, and what becomes of each."""

from __future__ import annotations

from typing import NamedTuple

from bypass.objects.metadata import Metadata, ObjectKey
from bypass.protocol.storage import OperationStatus


class PutObject(NamedTuple):
    """Store an object of an `account`; `record` is its metadata as it is encoded."""

    account: str
    metadata: Metadata
    record: bytes
    data: bytes


class BeginUpload(NamedTuple):
    """Make room for an object whose bytes come in parts, or go on with what was begun."""

    account: str
    metadata: Metadata
    record: bytes


class AddPart(NamedTuple):
    """Add bytes to an upload, which are to begin at an offset."""

    account: str
    key: ObjectKey
    offset: int
    data: bytes


class DeleteObject(NamedTuple):
    """Delete an object; `opening` is to open the commitment of its metadata."""

    account: str
    key: ObjectKey
    opening: bytes


class SweepObjects(NamedTuple):
    """Remove some of the objects that came before `before`, and uploads without a word since `idle` (seconds
    since 1970)."""

    before: float
    idle: float


ObjectChange = PutObject | BeginUpload | AddPart | DeleteObject | SweepObjects


class ArrivedObject(NamedTuple):
    """An object that is in the store now: the number of its arrival, and its metadata, also as encoded."""

    arrival: int
    metadata: Metadata
    record: bytes


class ChangeOutcome(NamedTuple):
    """The result of a change. `reason` names what it is counted as if it was refused, `detail` explains that.

    `arrived` is an object that came into the store by it. `missing` is the offset from which on bytes are
    needed; None if none are. `removed` counts objects that are gone.
    """

    status: OperationStatus
    detail: str = ""
    reason: str = ""
    arrived: ArrivedObject | None = None
    missing: int | None = None
    removed: int = 0


DONE = ChangeOutcome(OperationStatus.OK)
