"""The policies of a part of the devices: which mechanism serves which device, exchanged by plans between
batches."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any, Literal, cast

from bypass.ingest.stream.variants import PRECOMPUTE, TooManyVariants, aimed, kind_name, plain, variant
from bypass.mechanisms.precompute.base import Precompute
from bypass.mechanisms.registry import Registry
from bypass.mechanisms.row_models import RowModel
from bypass.ports.measurements import Measurement, MessageOrigin
from bypass.transitions import Action, Engine, Plan, Record

ROW_MODEL = "row-model"
FIRST = {"mechanisms": [["keep-everything", {}]], "row_model": "standard", "held": 0}
"""Everything is kept in rows of the standard model, until plans or the registry say otherwise."""


class PolicyHost:
    """The world that the policies of one task share. They have no timers, so nothing ends with one of
    them."""

    def __init__(self) -> None:
        self.clock = 0
        self.kept: list[tuple[MessageOrigin, list[Measurement]]] = []
        self.held = 0
        self.settled = Counter[bool]()

    def open(self) -> None:
        """A policy was switched to."""

    def close(self) -> None:
        """A policy was stopped."""

    def now(self) -> int:
        return self.clock

    def keep(self, origin: MessageOrigin, measurements: list[Measurement]) -> None:
        self.kept.append((origin, measurements))

    def hold(self, origin: MessageOrigin) -> None:  # noqa: ARG002
        self.held += 1

    def settle(self, origin: MessageOrigin, kept: bool) -> None:  # noqa: ARG002
        self.held -= 1
        self.settled[kept] += 1


class Policies:
    """Shows messages to the mechanism that serves their device, and carries out plans."""

    def __init__(self, registry: Registry, mine: Callable[[str], bool], memory: Mapping[str, Any]) -> None:
        """Begin with all that `changes` has given, the latest of each key. Raises UnknownMechanism if one
        that has run is not there any more."""
        self.host = PolicyHost()
        self._mine = mine
        self._registry = registry
        self._head: dict[str, Any] = memory.get("", FIRST)
        self.host.held = self._head["held"]
        self.noted: dict[str, str] = {}
        """The policies that the registry has given devices, if they were ever others than to keep
        everything."""
        self._engine = Engine("pipeline", lease=lambda _: self.host, clock=self._time)
        self._rows: RowModel = registry.create(self._engine, "pipeline", ROW_MODEL, self._head["row_model"])
        self._served: dict[str, Precompute] = {}  # devices that another one than the default serves
        self._tenants: dict[str, str] = {}  # whose variants these are, by name; those of plans are not there
        self._touched: set[str] = set()
        self._keys: dict[Precompute, set[str]] = {}  # of what each remembers
        first = kind_name(self._head["mechanisms"][0][0])
        self._group = registry.create(self._engine, "pipeline", PRECOMPUTE, first)
        self._restore(memory)

    @property
    def _default(self) -> Precompute:
        return cast("Precompute", self._group.default)

    @property
    def _all(self) -> tuple[Precompute, ...]:
        return cast("tuple[Precompute, ...]", self._group.active)

    @property
    def keep_everything(self) -> bool:
        """Whether nothing has to be shown to any mechanism."""
        return self._default.keeps_everything and len(self._all) == 1

    @property
    def batched(self) -> bool:
        """Whether rows are of the batched model."""
        return self._rows.is_batched()

    def begin(self, clock: int) -> None:
        """Begin a batch, with its time (ms)."""
        self.host.clock = clock
        self.host.kept, self.host.settled = [], Counter()

    def names(self) -> dict[str, int | None]:
        """The mechanisms that run, with parameters, and how many devices each serves; None stands for all
        that no other serves."""
        served = Counter(_described(each) for each in self._served.values())
        return {**served, _described(self._default): None}

    def note(self, device: str, policy: str) -> None:
        """Note the policy that the registry gives a device."""
        self.noted[device] = policy
        self._touched.add(device)

    def execute(self, plan: Plan, tenant: str = "") -> list[Record]:
        """Carry out a plan for the devices of this part, or the policy that a tenant's devices have. What it
        names and is not there is told by the records. Actions for connectors are left to these."""
        records: list[Record] = []
        for action in plan.actions:
            if action.proxy in self._registry.proxies("connector"):
                continue
            if action.members is not None:
                members = tuple(str(member) for member in action.members if self._mine(str(member)))
                if not members:
                    continue
                action = action.model_copy(update={"members": members})
                self._default.serve(member for member in members if member not in self._served)
            try:
                for each in aimed(action, self._all, self._registry, self._tenants, tenant):
                    if tenant and each.to is not None:
                        self._tenants[each.to] = tenant
                    records += self._do(each, plan)
            except TooManyVariants as error:
                records.append(self._failed(action, plan, error))
            if action.proxy == PRECOMPUTE and action.to and action.members is None:
                # Devices that have a policy of their own go back to it with their next message.
                self._touched.update(self.noted)
                self.noted.clear()
            if plan.on_error == "abort" and any(record.outcome == "failed" for record in records):
                break
        return records

    def take(
        self, origin: MessageOrigin, measurements: list[Measurement]
    ) -> Literal["stored", "held", "filtered"]:
        """Show a message to the mechanism that serves its device, and say what became of it."""
        before, held = len(self.host.kept), self.host.held
        settled = self.host.settled.total()
        self._served.get(origin.device, self._default).take(origin, measurements)
        if self.host.held + self.host.settled.total() - settled > held:
            return "held"  # or settled again already, which is counted by itself
        return "stored" if any(kept is origin for kept, _ in self.host.kept[before:]) else "filtered"

    def pass_time(self) -> None:
        """Let time pass up to that of the batch."""
        for each in self._all:
            each.pass_time()

    def changes(self) -> dict[str, Any]:
        """Give what the next batch must know and did not before, as plain data by key; None for a key that
        is gone."""
        found: dict[str, Any] = {}
        running = self._all
        for stopped in [each for each in self._keys if each not in running]:
            found |= dict.fromkeys(_key(stopped, key) for key in self._keys.pop(stopped))
        for each in running:
            keys = self._keys.setdefault(each, set())
            for key, data in each.changes():
                if data is not None:
                    keys.add(key)
                elif key in keys:
                    keys.remove(key)
                else:
                    continue  # it came and went within this batch
                found[_key(each, key)] = data
        for device in self._touched:
            by = self._served.get(device)
            record = [None if by is None else by.name, self.noted.get(device)]
            found[f"device\n{device}"] = record if any(record) else None
        self._touched = set()
        variants = {each.name for each in running[1:]}  # the default is everybody's
        self._tenants = {name: tenant for name, tenant in self._tenants.items() if name in variants}
        described = [[each.name, plain(each.settings())] for each in running]
        head = {
            "mechanisms": [
                [*each, self._tenants[each[0]]] if each[0] in self._tenants else each for each in described
            ],
            "row_model": self._engine.active(ROW_MODEL).name,
            "held": self.host.held,
        }
        if head != self._head:
            self._head = found[""] = head
        return found

    def _do(self, action: Action, plan: Plan) -> list[Record]:
        """Carry out one action, and note who serves whom then."""
        if action.to is not None and kind_name(action.to) != action.to:
            kind = self._registry.find("pipeline", PRECOMPUTE, kind_name(action.to))
            if not self._engine.knows(PRECOMPUTE, action.to):
                self._engine.register(PRECOMPUTE, variant(kind, action.to))
        else:
            self._registry.prepare(self._engine, "pipeline", [action])
        # Each action is a plan of its own, without an id: it is done once because a batch is.
        records = self._engine.execute(plan.model_copy(update={"id": "", "actions": (action,)}))
        if action.members is None:
            self._touched.update(self._served)
            self._served = {cast("str", member): each for each in self._all[1:] for member in each.members()}
        else:
            default, others = self._default, self._all[1:]
            for member in cast("tuple[str, ...]", action.members):
                by = next((each for each in others if member in each.members()), default)
                self._touched.add(member)
                if by is default:
                    self._served.pop(member, None)
                else:
                    self._served[member] = by
        return records

    def _failed(self, action: Action, plan: Plan, error: Exception) -> Record:
        return Record(
            plan.id, plan.plan, plan.who, plan.why, "pipeline", self._time(), action.proxy,
            target=action.to or "", outcome="failed", error=str(error),
        )  # fmt: skip

    def _restore(self, memory: Mapping[str, Any]) -> None:
        """Have the mechanisms run again that have run, with their devices and what they remember."""
        members: dict[str, list[str]] = {}
        parts: dict[str, dict[str, Any]] = {}
        for key, data in memory.items():
            sort, _, rest = key.partition("\n")
            if sort == "device":
                by, noted = data
                if noted is not None:
                    self.noted[rest] = noted
                if by is not None:
                    members.setdefault(by, []).append(rest)
            elif sort == "memory":
                by, _, inner = rest.partition("\n")
                parts.setdefault(by, {})[inner] = data
        for number, (name, settings, *tenant) in enumerate(self._head["mechanisms"]):
            if tenant:
                (self._tenants[name],) = tenant
            self._registry.find("pipeline", PRECOMPUTE, kind_name(name))
            mine = tuple(members.get(name, ())) if number else None
            if mine is not None:
                self._default.serve(mine)
            action = Action(proxy=PRECOMPUTE, to=name, set=settings, members=mine)
            self._do(action, Plan(plan="restore", actions=(action,)))
        for each in self._all:
            each.restore(parts.get(each.name, {}))
            self._keys[each] = set(parts.get(each.name, ()))
        self._touched = set()

    def _time(self) -> float:
        return self.host.clock / 1000


def _key(mechanism: Precompute, key: str) -> str:
    """The key of what a mechanism remembers among those of all."""
    return f"memory\n{mechanism.name}\n{key}"


def _described(mechanism: Precompute) -> str:
    """A mechanism with its parameters, as people read it."""
    values = [f"{name}={value}" for name, value in sorted(plain(mechanism.settings()).items())]
    return " ".join([kind_name(mechanism.name), *values])
