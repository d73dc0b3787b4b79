"""A task of a batch: reads its categories from the logs, takes messages through the stages, writes files
of rows."""

from __future__ import annotations

import gc
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import pyarrow as pa

from bypass.ingest.categories import PARTS
from bypass.ingest.devices.key_store import KeyStore
from bypass.ingest.devices.own_mechanisms import bring_mechanisms
from bypass.ingest.devices.snapshot import RegistrySnapshot, snapshot_file
from bypass.ingest.folder import IngestFolder
from bypass.ingest.log.catalogue import find_log
from bypass.ingest.names import REPLAYS
from bypass.ingest.rejection import Rejected
from bypass.ingest.stages.chain import UNUSABLE
from bypass.ingest.stages.chains import Chains
from bypass.ingest.stream.identities import identity
from bypass.ingest.stream.memory import part_memory
from bypass.ingest.stream.offsets import StreamOffset
from bypass.ingest.stream.part import Part
from bypass.ingest.stream.plans import plans_between
from bypass.ingest.stream.replays import decode_replay
from bypass.ingest.tables.files import WrittenFile, write_rows
from bypass.ingest.tables.rows import RowBuilder, day_of
from bypass.ingest.tables.schema import DEAD_LETTERS, PARTITION
from bypass.ports.measurements import MessageOrigin

DAMAGED = "damaged log"
"""The reason of messages that were in the log and that the disk has forgotten."""

MOST_TOLD = 100
"""Devices that one task tells of at most, of those whose configuration cannot be used."""

_chains: dict[tuple[Path, int, int], Chains] = {}


class TaskOrder(msgspec.Struct, frozen=True):
    """The order of a task: where the installation is, and which part of which batch it has."""

    folder: str
    number: int
    start: dict[str, Any]
    end: dict[str, Any]


class TaskResult(msgspec.Struct):
    """The work of a task: the files it wrote, by table, and how many messages ended in which way.

    `lost` messages were in blocks that the log has forgotten; they are dead letters without bytes.
    `policies` are the mechanisms that run, with the devices that each serves by name; None stands for all
    others. `unusable` are devices whose policy cannot be used, with the policy and why; `unreadable` names
    those whose configuration cannot be used, and why; `failed` says which actions of plans could not be
    carried out.
    """

    files: dict[str, list[WrittenFile]]
    read: int = 0
    stored: int = 0
    filtered: int = 0
    duplicates: int = 0
    held: int = 0
    dead_letters: dict[str, int] = msgspec.field(default_factory=dict)
    measurements: int = 0
    lost: int = 0
    policies: dict[str, int | None] = msgspec.field(default_factory=dict)
    unusable: list[tuple[str, str, str]] = msgspec.field(default_factory=list)
    unreadable: list[str] = msgspec.field(default_factory=list)
    failed: list[str] = msgspec.field(default_factory=list)


class Letter(NamedTuple):
    """A message that could not be read, and why."""

    device: str
    stage: str
    reason: str
    detail: str
    payload: bytes
    received: int
    log: str
    sequence: int


def run_task(order: TaskOrder) -> TaskResult:
    """Do a task's part of a batch. Doing it again gives the same rows and the same counts."""
    with _collector_paused():
        return _Task(IngestFolder(Path(order.folder)), order).run()


@contextmanager
def _collector_paused() -> Iterator[None]:
    """Keep the collector of cycles from looking through all that a task holds, again and again.

    A batch is a million tuples and no cycles: looking for some took more time than everything else.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


class _Task:
    """One task of one batch, while it is worked on."""

    def __init__(self, folder: IngestFolder, order: TaskOrder) -> None:
        self.folder, self.number = folder, order.number
        self.start, self.end = StreamOffset.from_json(order.start), StreamOffset.from_json(order.end)
        self.letters: list[Letter] = []
        self.result = TaskResult({})

    def run(self) -> TaskResult:
        bring_mechanisms(self.folder)
        result, rows = self.result, {False: RowBuilder(), True: RowBuilder()}
        plans = [plan for _, plan in plans_between(self.folder.plans, self.start.plans, self.end.plans)]
        with ExitStack() as memories:
            parts = {
                number: Part(
                    memories.enter_context(
                        part_memory(self.folder.state, number, self.start.step, self.end.step)
                    ),
                    number,
                    self.end,
                )
                for number in range(self.number, PARTS, self.end.tasks)
            }
            for part in parts.values():
                part.execute(plans)
            for log, records in self._records():
                self._decode(log, records, parts)
            for part in parts.values():
                part.finish(rows[part.policies.batched], result)
            name = f"{self.end.step}-{self.number}"
            table = pa.concat_tables([rows[False].table("standard"), rows[True].table("batched")])
            result.measurements = sum(map(len, rows.values()))
            result.dead_letters = dict(Counter(letter.reason for letter in self.letters))
            unusable = {letter.detail for letter in self.letters if letter.reason == UNUSABLE}
            result.unreadable = sorted(unusable)[:MOST_TOLD]
            if result.lost:
                result.dead_letters[DAMAGED] = result.lost
            if table.num_rows:
                result.files["measurements"] = write_rows(self.folder.measurements, table, PARTITION, name)
            if self.letters:
                letters = _letter_table(self.letters)
                result.files["dead_letters"] = write_rows(self.folder.dead_letters, letters, ("day",), name)
        return result

    def _records(self) -> Iterator[tuple[str, pa.RecordBatch]]:
        """The records of the task's parts, log by log. Those that no log has any more are of no part: the
        first task counts them."""
        log = find_log(self.folder)
        if self.number == 0:
            self.result.lost = log.lost(self.start.logs, self.end.logs)
            self.result.read += self.result.lost
        return log.read(self.start.logs, self.end.logs, frozenset(range(self.number, PARTS, self.end.tasks)))

    def _decode(self, log: str, records: pa.RecordBatch, parts: dict[int, Part]) -> None:
        replays = log.partition("/")[0] == REPLAYS
        self.result.read += records.num_rows
        find = _find_chains(self.folder, self.end.registry, self.end.keys).find
        names = ("category", "sequence", "received", "device", "payload")
        columns = (records.column(name).to_pylist() for name in names)
        for category, number, received, device, payload in zip(*columns, strict=True):
            part = parts[category % PARTS]
            try:
                if replays:
                    letter, payload = decode_replay(payload)
                    if not part.is_first(letter):
                        self.result.duplicates += 1
                        continue
                chain = find(device)
                sequence, measurements = chain(payload, received, device)
                age = "unnumbered" if sequence is None else part.age(device, sequence)
                if age == "seen":
                    self.result.duplicates += 1
                    continue
                if age == "old" and not replays:
                    raise Rejected("integrity", "replayed", f"sequence {sequence}: expected a newer one")
            except Rejected as refusal:
                stage, reason, detail = refusal.stage, refusal.reason, refusal.detail
                self.letters.append(Letter(device, stage, reason, detail, payload, received, log, number))
                continue
            of = chain.device
            origin = MessageOrigin(of.region, of.tenant, device, received, log, number)
            name = 0 if age == "new" else identity(device, payload)
            part.take(origin, measurements, name, of.policy)


def _find_chains(folder: IngestFolder, version: int, keys: int) -> Chains:
    """The devices of a version of the registry, with their stages, and with keys of a version of the key
    store. A worker keeps the latest ones."""
    key = folder.path, version, keys
    if key not in _chains:
        _chains.clear()
        snapshot = RegistrySnapshot.load(snapshot_file(folder.snapshots, version))
        _chains[key] = Chains(snapshot, KeyStore(folder.keys, keys))
    return _chains[key]


def _letter_table(letters: list[Letter]) -> pa.Table:
    columns = dict(zip(Letter._fields, zip(*letters, strict=True), strict=True))
    columns["day"] = tuple(day_of(received) for received in columns["received"])
    return pa.table(
        [pa.array(columns[name], DEAD_LETTERS.field(name).type) for name in DEAD_LETTERS.names],
        schema=DEAD_LETTERS,
    )
