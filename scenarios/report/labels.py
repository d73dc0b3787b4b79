"""Labels of mechanisms in reports: a spot in their colour, a name, and parameters that tell equal ones
apart."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from markupsafe import Markup

from bypass.scenarios.figures.measures import Phase
from bypass.scenarios.figures.outcome import Run
from bypass.scenarios.report.page import Column
from bypass.scenarios.report.plots.captions import PROXIES, used_in, without_broker
from bypass.scenarios.report.plots.style import mechanism_colour

COLUMNS = {
    "scheme": ("filter",),
    "nearby": ("direct", "mode", "transport"),
    "gateways": ("gateway-selection", "gateway"),
}
"""Columns of tables, and the proxies whose mechanisms they name: the first, and others if they differ."""


def chip(mechanism: str) -> Markup:
    """A mechanism's name behind a spot in its colour."""
    spot = Markup('<span class="chip" style="background: {}"></span>').format(mechanism_colour(mechanism))
    return Markup('<span class="label">{}{}</span>').format(spot, mechanism)


def in_order(run: Run) -> list[tuple[str, Markup, str]]:
    """Facts: for each proxy that is in use its name in words, and the mechanisms behind it in their order."""
    found = []
    for proxy, words in PROXIES.items():
        if proxy == "filter" and all(map(without_broker, run.phases)):
            continue
        names = [used_in(phase, proxy) for phase in run.phases]
        if set(names) - {"nothing", "cloud"}:
            changed = [name for i, name in enumerate(names) if i == 0 or name != names[i - 1]]
            kind = "wide" if len(changed) > 1 else ""
            found.append((words, Markup(" → ").join(map(chip, changed)), kind))
    return found


def mechanism_columns(phases: Sequence[Phase]) -> tuple[list[Column], list[list[str]]]:
    """Columns that say what is in use, and their cells, a row for each phase; what nobody uses is left out.

    Of a filter scheme all numbers are shown, of others what differs from row to row.
    """
    shown: dict[str, list[str]] = {}
    for column, proxies in COLUMNS.items():
        if column == "scheme" and all(map(without_broker, phases)):
            continue
        names = {proxy: {used_in(phase, proxy) for phase in phases} for proxy in proxies}
        told = [p for i, p in enumerate(proxies) if names[p] != {"nothing"} and (i == 0 or len(names[p]) > 1)]
        if told:
            shown[column] = told
    rows: list[list[str]] = [
        [Markup("<br>").join(_label(phase, proxy, phases) for proxy in proxies) for proxies in shown.values()]
        for phase in phases
    ]
    return [Column(name) for name in shown], rows


def _label(phase: Phase, proxy: str, phases: Iterable[Phase]) -> Markup:
    mechanism = phase.mechanisms.get(proxy, {"name": used_in(phase, proxy), "parameters": {}})
    values = mechanism["parameters"]
    if proxy == "filter":
        told = _numbers(values)
    else:
        others = [other["parameters"] for other in _same(mechanism, proxy, phases)]
        told = {n: v for n, v in values.items() if any(other.get(n) != v for other in others)}
    words = ", ".join(f"{name} {_value(value)}" for name, value in told.items())
    text = f" ({words})" if words else ""
    return Markup('<span class="label">{}{}</span>').format(chip(mechanism["name"]), text)


def _same(mechanism: Mapping[str, Any], proxy: str, phases: Iterable[Phase]) -> list[Mapping[str, Any]]:
    """The mechanisms of that name behind a proxy."""
    known = (phase.mechanisms.get(proxy) for phase in phases)
    return [each for each in known if each is not None and each["name"] == mechanism["name"]]


def _numbers(values: Mapping[str, Any]) -> dict[str, Any]:
    return {n: v for n, v in values.items() if isinstance(v, int | float) and not isinstance(v, bool)}


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return "on" if value else "off"
    return f"{value:g}" if isinstance(value, int | float) else str(value)
