"""Captions: the proxy whose mechanisms tell phases and runs apart, and a line in its colour for each run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from bypass.mechanisms.families import BROKER_PROXIES, CLIENT_PROXIES
from bypass.scenarios.figures.measures import Phase
from bypass.scenarios.figures.outcome import Run
from bypass.scenarios.report.plots.style import INK, MUTED, mechanism_colour

PROXIES = {
    "filter": "filter scheme",
    "direct": "dissemination",
    "gateway": "dissemination by gateways",
    "mode": "mode",
    "gateway-selection": "selection of gateways",
    "transport": "transport",
    "storage": "store",
    "routing": "routing",
}
"""The proxies in words; the first one whose mechanism differs tells phases and runs apart."""

_RUNS = (INK, "#CC6677", "#44AA99", "#999933", "#AA4499", "#88CCEE")
_DASHES: tuple[str | tuple[int, tuple[float, ...]], ...] = (
    "-",
    (0, (4, 1.5)),
    (0, (1.2, 1.2)),
    (0, (5, 1.5, 1, 1.5)),
    (0, (8, 2)),
    (0, (2.5, 1)),
)
MOST_LINES = len(_RUNS)  # more lines in one plot cannot be told apart


def used_in(phase: Phase, proxy: str) -> str:
    """The mechanism behind a proxy as a phase ends, at most clients if they differ."""
    if proxy in phase.mechanisms:
        return str(phase.mechanisms[proxy]["name"])
    return (CLIENT_PROXIES | BROKER_PROXIES)[proxy].first


def without_broker(phase: Phase) -> bool:
    """Whether most clients have nothing to do with the broker: then its filter scheme says nothing."""
    return used_in(phase, "mode") == "ad-hoc"


def uses_radios(run: Run) -> bool:
    """Whether clients of the run sent anything to devices nearby."""
    return run.local["frames"] > 0


def told_by(run: Run) -> str:
    """The proxy whose mechanism stands for a phase of the run."""
    proxies = [p for p in PROXIES if p != "filter" or not all(map(without_broker, run.phases))]
    changing = (p for p in proxies if len({used_in(phase, p) for phase in run.phases}) > 1)
    return next(changing, proxies[0])


def kept(run: Run, proxy: str) -> str | None:
    """The mechanism that a run has behind a proxy in all its phases; None if it changes."""
    names = {used_in(phase, proxy) for phase in run.phases}
    return names.pop() if len(names) == 1 else None


@dataclass(frozen=True, slots=True)
class Line:
    """How a run is drawn among others."""

    color: str
    linestyle: str | tuple[int, tuple[float, ...]]


def run_lines(runs: Sequence[Run]) -> list[Line]:
    """A line for each run: in the colours of mechanisms if those behind one proxy tell the runs apart."""
    for proxy in PROXIES:
        names = [name for run in runs if (name := kept(run, proxy)) is not None]
        if len(set(names)) == len(runs) and "nothing" not in names:  # which is hardly seen as a line
            return [Line(mechanism_colour(n), _DASHES[i % len(_DASHES)]) for i, n in enumerate(names)]
    return [Line(_RUNS[i % len(_RUNS)], _DASHES[i % len(_DASHES)]) for i in range(len(runs))]


def run_colours(runs: Sequence[Run]) -> list[str]:
    """The colours of the runs' lines; of more runs than can be told apart so, those of their mechanisms."""
    if len(runs) <= MOST_LINES:
        return [line.color for line in run_lines(runs)]
    differing = (p for p in PROXIES if len({kept(run, p) for run in runs} - {None}) > 1)
    proxy = next(differing, "filter")
    names = [kept(run, proxy) for run in runs]
    return [MUTED if name is None else mechanism_colour(name) for name in names]
