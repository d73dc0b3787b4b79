"""The policies of a task: which mechanism serves which device, exchanged by plans between batches."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any, Literal, cast

from bypass.mechanisms.precompute.base import Precompute
from bypass.mechanisms.registry import Registry
from bypass.mechanisms.row_models import RowModel
from bypass.ports.measurements import Measurement, MessageOrigin
from bypass.transitions import Action, Engine, Plan, Record

PRECOMPUTE = "precompute"
ROW_MODEL = "row-model"


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

    def __init__(
        self, registry: Registry, mine: Callable[[str], bool], state: dict[str, Any] | None = None
    ) -> None:
        """Begin with what `export` has given, or with keeping everything in rows of the standard model."""
        self.host = PolicyHost()
        self._mine = mine
        self._registry = registry
        state = state or {"mechanisms": [], "row_model": "standard", "held": 0, "noted": {}}
        self.host.held = state["held"]
        self.noted: dict[str, str] = state["noted"]
        """The policies that the registry has given devices, if they were ever others than to keep
        everything."""
        self._engine = Engine("pipeline", lease=lambda _: self.host, clock=self._time)
        running: list[dict[str, Any]] = state["mechanisms"]
        first = (
            running[0]
            if running
            else {"name": "keep-everything", "settings": {}, "members": [], "memory": None}
        )
        self._group = registry.create(
            self._engine, "pipeline", PRECOMPUTE, first["name"], set=first["settings"]
        )
        self._rows: RowModel = registry.create(self._engine, "pipeline", ROW_MODEL, state["row_model"])
        self._default.serve(first["members"])
        self._default.load(first["memory"])
        for each in running[1:]:
            self._restore(each)
        self._served: dict[str, Precompute] = {}
        self._note_served()

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

    def names(self) -> dict[str, int]:
        """The mechanisms that run, with the number of devices that each serves by name."""
        return {each.name: len(each.members()) for each in self._all}

    def execute(self, plan: Plan) -> list[Record]:
        """Carry out a plan for the devices of this task. What it names and is not there is told by the
        records."""
        actions = []
        for action in plan.actions:
            if action.members is None:
                actions.append(action)
                continue
            members = tuple(str(member) for member in action.members if self._mine(str(member)))
            if members:
                self._default.serve(member for member in members if member not in self._served)
                self._note_served()
                actions.append(action.model_copy(update={"members": members}))
        if not actions:
            return []
        self._registry.prepare(self._engine, "pipeline", actions)
        records = self._engine.execute(plan.model_copy(update={"actions": tuple(actions)}))
        if any(action.proxy == PRECOMPUTE and action.to and action.members is None for action in actions):
            self.noted.clear()  # devices that have a policy of their own go back to it with the next message
        self._note_served()
        return records

    def assign(self, policy: str, devices: Iterable[str]) -> list[Record]:
        """Have a mechanism serve devices, as the registry says."""
        plan = Plan(plan="registry", actions=(Action(proxy=PRECOMPUTE, to=policy, members=tuple(devices)),))
        return self.execute(plan)

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

    def pass_time(self, clock: int) -> None:
        """Let time pass up to that of a batch."""
        self.host.clock = clock
        for each in self._all:
            each.pass_time()

    def export(self) -> dict[str, Any]:
        """Everything that the next batch must know, as plain data."""
        return {
            "mechanisms": [
                {
                    "name": each.name,
                    "settings": _plain(each.settings()),
                    "members": sorted(cast("Iterable[str]", each.members())),
                    "memory": each.export(),
                }
                for each in self._all
            ],
            "row_model": self._engine.active(ROW_MODEL).name,
            "held": self.host.held,
            "noted": self.noted,
        }

    def _restore(self, state: dict[str, Any]) -> None:
        """Have a mechanism run again beside the default."""
        members = tuple(state["members"])
        self._default.serve(members)
        action = Action(proxy=PRECOMPUTE, to=state["name"], set=state["settings"], members=members)
        self._registry.prepare(self._engine, "pipeline", [action])
        self._engine.execute(Plan(plan="restore", actions=(action,)))
        restored = self._group.get(state["name"])
        if restored is not None:
            cast("Precompute", restored).load(state["memory"])

    def _note_served(self) -> None:
        self._served = {cast("str", member): each for each in self._all for member in each.members()}

    def _time(self) -> float:
        return self.host.clock / 1000


def _plain(settings: dict[str, Any]) -> dict[str, Any]:
    """Parameters as they can be in a plan."""
    return {
        name: sorted(value) if isinstance(value, frozenset) else value for name, value in settings.items()
    }
