"""The outcome of one experiment: phases, events, traffic, transitions, and the figures made of them."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bypass.models.radio.kernels.state import S
from bypass.places.region import Region
from bypass.scenarios.experiments.schema import Scenario
from bypass.scenarios.figures.areas import by_area, stays
from bypass.scenarios.figures.figures import (
    around_transition,
    by_centre,
    by_place,
    by_time,
    correlation,
    mechanisms_between,
    most_crowded,
    present,
    recall_by_density,
    share_imperfect,
    share_inside,
    share_near_border,
    skewness,
    slowest_plan,
)
from bypass.scenarios.figures.gateway_watch import GatewayUse
from bypass.scenarios.figures.infrastructure import InfrastructureFigures
from bypass.scenarios.figures.measures import Around, EventColumn, Phase, Stats, recall
from bypass.scenarios.figures.storage import StoreFigures
from bypass.scenarios.figures.usage import (
    ClientExecution,
    Course,
    JoinOrLeave,
    StepSpread,
    courses,
    spread_of,
    time_shares,
)
from bypass.sim.cellular import Traffic
from bypass.support.arrays import Floats
from bypass.transitions import Firing

START_UP_S = 10.0

CELLULAR_COLUMNS = tuple(f"{category.name.lower()}_{way}" for way in ("up", "down") for category in Traffic)
TRAFFIC_COLUMNS = (*CELLULAR_COLUMNS, "adhoc_up", "adhoc_down")

LOCAL_PROXIES = ("transport", "direct", "gateway", "mode")
"""Proxies of clients that have to do with devices nearby."""

LOCAL_COUNTERS = {
    "frames": S.SENT,
    "called_off": S.CALLED_OFF,
    "dropped": S.DROPPED,
    "failed": S.FAILED,
    "strange": S.STRANGE,
}


def rates(up: NDArray[np.int64], down: NDArray[np.int64], client_seconds: float) -> dict[str, float]:
    """kbit/s per client, of bytes sent and received by kind of traffic and client."""

    def rate(size: int) -> float:
        return float(size * 8 / 1000 / client_seconds) if client_seconds > 0 else 0.0

    return {
        "cellular_up": rate(up[:-1].sum()),
        "cellular_down": rate(down[:-1].sum()),
        "adhoc_up": rate(up[-1].sum()),
        "adhoc_down": rate(down[-1].sum()),
        "context_up": rate(up[Traffic.CONTEXT].sum()),
        "context_down": rate(down[Traffic.CONTEXT].sum()),
        "coordination": rate(up[Traffic.COORDINATION].sum() + down[Traffic.COORDINATION].sum()),
    }


class ScriptCounts(NamedTuple):
    """Of the subscriptions that events of a script concerned, by where their owners were: how many there
    were, and of these how many were not told, and how many of all were told more than once."""

    owed: int
    lost: int
    doubled: int


@dataclass(frozen=True)
class Run:
    """The outcome of one experiment. `events` and `traffic` are columns, with one row an event or a second.

    `begun` is what clients began with, by proxy; `attendance` is empty if all took part all the time.
    """

    scenario: Scenario
    seed: int
    wall_s: float
    phases: tuple[Phase, ...]
    events: dict[str, EventColumn]
    traffic: dict[str, EventColumn]
    client_traffic: dict[str, NDArray[np.int64]]
    executions: tuple[ClientExecution, ...]
    around: tuple[Around, ...]
    region: Region
    fastest: float  # the highest speed (m/s) that a client had
    begun: dict[str, str]
    attendance: tuple[JoinOrLeave, ...]
    gateways: GatewayUse
    firings: tuple[Firing, ...]
    local: dict[str, int]
    plans_sent: int
    script: ScriptCounts | None = None
    store: StoreFigures | None = None
    infrastructure: InfrastructureFigures | None = None

    def __repr__(self) -> str:
        return (
            f"Run({self.scenario.name}: {self.scenario.clients} clients, {self.scenario.duration:g} s,"
            f" seed {self.seed}, {len(self.phases)} phases, {len(self.events['id']):,} events)"
        )

    def phase(self, name: str) -> Phase:
        """The first phase of that name. Raises KeyError."""
        for phase in self.phases:
            if phase.name == name:
                return phase
        raise KeyError(f"phase {name!r}: there are {', '.join(phase.name for phase in self.phases)}")

    def summary(self) -> dict[str, Any]:
        """The figures of the run, as the summary file has them."""
        return {
            "scenario": self.scenario.name,
            "seed": self.seed,
            "clients": self.scenario.clients,
            "duration_s": self.scenario.duration,
            "wall_s": self.wall_s,
            "phases": [phase.summary() for phase in self.phases],
            "extra": self._extra(),
        }

    def courses(self, proxy: str) -> list[Course]:
        """Which mechanism each client used when behind a proxy."""
        first = self.begun.get(proxy, "nothing")
        return courses(proxy, first, self.scenario.clients, self.executions, self.attendance)

    def spreads(self) -> list[StepSpread]:
        """How each step of the timeline reached clients."""
        return [
            spread_of(step, phase.name, phase.end_s, self.scenario.clients, self.executions)
            for step, phase in zip(self.scenario.timeline, self.phases[1:], strict=True)
        ]

    def _extra(self) -> dict[str, Any]:
        places, duration = self.region.places, self.scenario.duration
        # A client notices at its next fix that it crossed a border; the plan comes a round trip later.
        on_the_way = (
            self.fastest * (self.scenario.location.interval + 2 * self.scenario.network.latency) + 5.0
        )
        return {
            "transitions": [
                around.summary()
                | around_transition(self.events, self.traffic, around.at_s)
                | self._lows(around)
                for around in self.around
            ],
            "recall": Stats.of(recall(self.events)).mean,
            "traffic": self._rates(),
            "executions": len(self.executions),
            "near_border": share_near_border(*self._where("filter"), places, on_the_way),
            "joined_inside": share_inside(*self._where("filter", joining=True), places, on_the_way),
            "gateways_inside": share_inside(*self._where("gateway"), places, 0.0),
            "by_place": by_place(self.events, places),
            "by_time": by_time(self.events, duration),
            "by_centre": by_centre(self.events, self.scenario.world.width, self.scenario.world.height),
            "recall_by_density": recall_by_density(self.events),
            "imperfect": share_imperfect(self.events),
            "context_share_up": self._context_share("up"),
            "context_share_down": self._context_share("down"),
            "download_skewness": skewness(self.client_traffic["down"]),
            "coordination_share": self._coordination_share(),
            "coordination_most": int(self._coordination().max()),
            "plans_sent": self.plans_sent,
            "slowest_plan_s": slowest_plan(self.executions),
            "spread": [spread.summary() for spread in self.spreads()],
            "usage": {
                proxy: dict.fromkeys(self._mechanisms(proxy), 0.0)
                | time_shares(self.courses(proxy), duration)
                for proxy in LOCAL_PROXIES
            },
            "usage_crowded": self._usage(*most_crowded(self.attendance, self.scenario.clients, duration)),
            "usage_last": self._usage(0.96 * duration, duration),
            "switches": dict.fromkeys((*LOCAL_PROXIES, "filter"), 0)
            | Counter(
                each.record.proxy for each in self.executions if each.client is not None and each.switched
            ),
            "local": self.local,
            "gateways": self.gateways.summary()
            | {"with_clients": self._gateways_with_clients(), "served_inside": self._served_inside()},
            "areas": self._areas("gateway"),
            "rules": dict(Counter(firing.rule for firing in self.firings)),
        } | self._of_kind()

    def _of_kind(self) -> dict[str, Any]:
        """The figures that experiments with a script, a store or infrastructure have besides."""
        script = {} if self.script is None else {"script": self.script._asdict()}
        edges = {} if self.infrastructure is None else {"infrastructure": self.infrastructure.summary()}
        return script | ({} if self.store is None else self.store.summary()) | edges

    def _where(self, proxy: str, joining: bool = False) -> tuple[Floats, Floats]:
        """Where clients switched a proxy to something, right after they came or at any later time."""
        came = {each.client: each.at for each in self.attendance if each.joins}
        places = [
            (each.x, each.y)
            for each in self.executions
            if each.client is not None
            and each.record.proxy == proxy
            and each.record.target != "nothing"
            and (each.record.at <= came.get(each.client, 0.0) + START_UP_S) == joining
        ]
        x, y = np.array(places).reshape(-1, 2).T
        return x, y

    def _lows(self, around: Around) -> dict[str, float]:
        """The lowest bins of stretches like that around a transition, 5 s before it and 10 s after it: where
        chance alone takes recall."""
        times = {"recall_lowest_before": around.at_s - 5.0, "recall_lowest_later": around.at_s + 10.0}
        return {
            name: Around.of(self.events, at, around.phase).summary()["recall_lowest"]
            for name, at in times.items()
        }

    def _rates(self) -> dict[str, float]:
        """kbit/s per client over the whole run, by the columns of traffic."""
        client_seconds = self.scenario.clients * self.scenario.duration
        rate = {name: 0.008 * float(column.sum()) / client_seconds for name, column in self.traffic.items()}
        for way in ("up", "down"):
            rate[f"cellular_{way}"] = sum(rate[name] for name in CELLULAR_COLUMNS if name.endswith(way))
        return rate

    def _served_inside(self) -> float:
        """Share of the events by gateways whose place is in the channel of an attraction point, which reaches
        beyond its border by the radius of interest."""
        events = self.gateways.events
        return share_inside(
            events["x"], events["y"], self.region.places, self.scenario.workload.build().radius
        )

    def _areas(self, proxy: str) -> dict[str, Any]:
        places = self.region.places
        found = stays(proxy, self.executions, self.attendance, places, self.scenario.duration)
        return by_area(places, found, self._mechanisms(proxy))

    def _mechanisms(self, proxy: str) -> list[str]:
        """The mechanisms that clients may have behind a proxy; of what is installed, those that they had."""
        known = self.scenario.registry().catalogue("client")[proxy]
        had = {each.record.target for each in self.executions if each.record.proxy == proxy and each.switched}
        return [*known, *sorted(had - known.keys())]

    def _usage(self, start: float, end: float) -> dict[str, dict[str, float]]:
        return {
            proxy: dict.fromkeys(self._mechanisms(proxy), 0.0)
            | mechanisms_between(self.courses(proxy), start, end)
            for proxy in LOCAL_PROXIES
        }

    def _gateways_with_clients(self) -> float:
        """Correlation of gateways per event with the number of clients, over tenths of a minute."""
        at, gateways = self.gateways.events["at_us"] / 1e6, self.gateways.events["gateways"]
        number = (at // 6.0).astype(np.int64)
        events = np.bincount(number)
        some = np.flatnonzero(events)
        means = np.bincount(number, gateways)[some] / events[some]
        return correlation(means, present(self.attendance, self.scenario.clients, 6.0 * some + 3.0))

    def _coordination(self) -> EventColumn:
        """Bytes of plans and outcomes in each second."""
        both: EventColumn = self.traffic["coordination_up"] + self.traffic["coordination_down"]
        return both

    def _coordination_share(self) -> float:
        total = sum(int(self.traffic[name].sum()) for name in CELLULAR_COLUMNS)
        return float(self._coordination().sum() / total) if total else 0.0

    def _context_share(self, way: str) -> float:
        total = sum(int(self.traffic[name].sum()) for name in CELLULAR_COLUMNS if name.endswith(way))
        return float(self.traffic[f"context_{way}"].sum() / total) if total else 0.0
