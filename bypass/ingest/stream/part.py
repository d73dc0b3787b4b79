"""A part of the devices: its messages are compared with earlier ones, and policies decide about them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from functools import partial
from typing import TYPE_CHECKING, Literal

import numpy as np

from bypass.ingest.categories import PARTS, partition_of
from bypass.ingest.devices.policy import KEEP_EVERYTHING, MECHANISMS, policy_action
from bypass.ingest.stream.memory import PartMemory
from bypass.ingest.stream.offsets import StreamOffset
from bypass.ingest.stream.policies import Policies
from bypass.ingest.tables.rows import RowBuilder
from bypass.ports.measurements import Measurement, MessageOrigin
from bypass.transitions import Plan, Record, TransitionError

if TYPE_CHECKING:
    from bypass.ingest.stream.task import TaskResult

REGISTRY = "registry"
"""The name of plans that the registry's policies are carried out by."""


class Part:
    """The messages of one part in one batch."""

    def __init__(self, memory: PartMemory, number: int, end: StreamOffset) -> None:
        self._memory, self._end = memory, end
        if memory.policies is None:
            memory.policies = Policies(MECHANISMS, partial(_has, number), memory.policy_memory())
        self.policies = memory.policies
        self.policies.begin(end.clock)
        # Devices that the registry gives another policy now, by tenant and policy.
        self._assigned: dict[tuple[str, str], list[str]] = {}
        self._identities: list[int] = []
        self._messages: list[tuple[MessageOrigin, list[Measurement]]] = []
        self._letters: set[int] = set()
        self._records: list[Record] = []

    def execute(self, plans: Iterable[Plan]) -> None:
        """Carry out plans, before any message."""
        for plan in plans:
            self._records += self.policies.execute(plan)

    def age(self, device: str, sequence: int) -> Literal["new", "seen", "old"]:
        """Note a numbered message, and say whether it has come before; it is `old` if nobody can tell."""
        return self._memory.sequences.take(device, sequence)

    def is_first(self, letter: int) -> bool:
        """Whether a dead letter that is replayed has not come before, by its identity."""
        if letter in self._letters or self._memory.identities.seen(np.array([letter], np.int64))[0]:
            return False
        self._letters.add(letter)
        return True

    def take(
        self, origin: MessageOrigin, measurements: list[Measurement], identity: int, policy: str
    ) -> None:
        """Take a message of a device that the registry gives `policy`; one without an identity has 0."""
        if policy != self.policies.noted.get(origin.device, KEEP_EVERYTHING):
            self.policies.note(origin.device, policy)
            self._assigned.setdefault((origin.tenant, policy), []).append(origin.device)
        self._identities.append(identity)
        self._messages.append((origin, measurements))

    def finish(self, rows: RowBuilder, result: TaskResult) -> None:
        """Leave out what has come before; let policies decide about the rest, and about what they hold."""
        for (tenant, policy), assigned in self._assigned.items():
            self._assign(tenant, policy, assigned, result)
        fresh = self._fresh()
        result.duplicates += len(self._messages) - len(fresh)
        host = self.policies.host
        if self.policies.keep_everything:
            for origin, measurements in fresh:
                rows.add(origin, measurements)
            result.stored += len(fresh)
        else:
            outcomes = Counter(self.policies.take(origin, measurements) for origin, measurements in fresh)
            result.stored += outcomes["stored"]
            result.filtered += outcomes["filtered"]
        self.policies.pass_time()
        for origin, measurements in host.kept:
            rows.add(origin, measurements)
        result.stored += host.settled[True]
        result.filtered += host.settled[False]
        result.held += host.held
        for name, devices in self.policies.names().items():
            result.policies[name] = devices if devices is None else devices + (result.policies.get(name) or 0)
        result.failed += [
            f"plan {record.plan}: {record.target}: {record.error}"
            for record in self._records
            if record.outcome == "failed" and record.plan != REGISTRY
        ]

    def _assign(self, tenant: str, policy: str, devices: list[str], result: TaskResult) -> None:
        """Have devices of a tenant served as the registry says; those of a policy that cannot be used keep
        everything, which is told once."""
        try:
            action = policy_action(policy).model_copy(update={"members": tuple(devices)})
            records = self.policies.execute(Plan(plan=REGISTRY, actions=(action,)), tenant)
            error = next((record.error for record in records if record.outcome == "failed"), "")
        except (ValueError, TransitionError) as problem:
            records, error = [], str(problem)
        if error:
            result.unusable += [(device, policy, error) for device in devices]
            action = policy_action(KEEP_EVERYTHING).model_copy(update={"members": tuple(devices)})
            records += self.policies.execute(Plan(plan=REGISTRY, actions=(action,)), tenant)
        self._records += records

    def _fresh(self) -> list[tuple[MessageOrigin, list[Measurement]]]:
        """The messages that have not come before, in an earlier batch or in this one."""
        identities = np.array(self._identities, np.int64)
        first = np.zeros(len(identities), np.bool_)
        first[np.unique(identities, return_index=True)[1]] = True
        exempt = identities == 0
        fresh = exempt | first & ~self._memory.identities.seen(identities)
        letters = np.array(sorted(self._letters), np.int64)
        self._memory.remember(self._end.step, np.concatenate([identities[fresh & ~exempt], letters]))
        return [message for message, new in zip(self._messages, fresh.tolist(), strict=True) if new]


def _has(part: int, device: str) -> bool:
    """Whether a device belongs to a part."""
    return partition_of(device) % PARTS == part
