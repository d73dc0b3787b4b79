"""The tables of a report: figures beside the thesis', and what happened phase by phase or run by run."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from bypass.scenarios.checks import Verdict, figure
from bypass.scenarios.experiment import Run
from bypass.scenarios.measures import Phase, Stats, precision, recall
from bypass.scenarios.page import Cell, Column, Html, fixed, html_of, number, table
from bypass.scenarios.plots.style import scheme_colour
from bypass.scenarios.result import Result
from bypass.scenarios.schema import Check

SYMBOLS = {"differs": "✗ differs", "unknown": "? not measured", "holds": "✓ holds"}

TRAFFIC = {
    "cellular_up": "up",
    "cellular_down": "down",
    "adhoc_up": "ad hoc up",
    "adhoc_down": "ad hoc down",
    "context_up": "context up",
    "context_down": "context down",
    "coordination": "coordination",
}
_NOT_EVERYWHERE = ("adhoc_up", "adhoc_down")  # columns that are left out where they are 0


def verdict_table(result: Result) -> str:
    """What differs comes first, then what is not known, then what holds."""
    summary = result.summary()
    columns = [Column(name) for name in ("figure", "source", "thesis", "ours", "expected", "verdict")]
    order = list(SYMBOLS)
    rows = [
        (
            _named(verdict.check),
            _unbroken(verdict.check.source),
            verdict.check.stated,
            _unbroken(_ours(verdict, summary)),
            _unbroken(_range(verdict.check.low, verdict.check.high)),
            Html(f'<span class="{verdict.verdict}">{SYMBOLS[verdict.verdict]}</span>'),
        )
        for verdict in sorted(result.verdicts, key=lambda verdict: order.index(verdict.verdict))
    ]
    return table(columns, rows, "cards")


def _named(check: Check) -> Html:
    note = f'<div class="note">{html_of(check.note)}</div>' if check.note else ""
    return Html(html_of(check.name) + note)


def _ours(verdict: Verdict, summary: dict[str, Any]) -> str:
    """Our figure, and what it is the difference or the ratio of."""
    check, text = verdict.check, number(verdict.value)
    if verdict.verdict == "unknown" or (check.minus is None and check.over is None):
        return text
    try:
        parts = number(figure(summary, check.value))
        if check.minus is not None:
            parts += f" − {number(figure(summary, check.minus))}"
        if check.over is not None:
            parts = f"({parts})" if check.minus is not None else parts
            parts += f" / {number(figure(summary, check.over))}"
    except KeyError:  # the summary has no infinite figures
        return text
    return f"{text} = {parts}"


def _unbroken(text: str) -> Html:
    return Html(f'<span class="label">{html_of(text)}</span>')


def _range(low: float, high: float) -> str:
    if low == high:
        return f"exactly {number(low)}"
    if math.isinf(low) and math.isinf(high):
        return "any"
    if math.isinf(high):
        return f"at least {number(low)}"
    if math.isinf(low):
        return f"at most {number(high)}"
    return f"{number(low)} to {number(high)}"


def run_table(runs: Mapping[str, Run]) -> str:
    """What `phase_table` shows, one row a run."""
    labels = [
        Html(f"{len(run.phases)} phases") if len(run.phases) > 1 else scheme_label(run.phases[0].mechanisms)
        for run in runs.values()
    ]
    return _table("run", [whole(name, run) for name, run in runs.items()], labels)


def phase_table(phases: Sequence[Phase]) -> str:
    """Recall, precision, delay, deliveries and traffic, one row a phase."""
    return _table("phase", phases, [scheme_label(phase.mechanisms) for phase in phases])


def _table(first: str, phases: Sequence[Phase], labels: Sequence[Html]) -> str:
    traffic = {
        key: name
        for key, name in TRAFFIC.items()
        if key not in _NOT_EVERYWHERE or any(phase.traffic[key] for phase in phases)
    }
    columns = [
        Column(first),
        Column("scheme"),
        Column("time (s)", number=True),
        Column("recall", number=True),
        Column("precision", number=True),
        *(Column(name, number=True, group="delay (ms)") for name in ("mean", "p50", "p95")),
        Column("events", number=True),
        Column("deliveries", number=True),
        *(Column(name, number=True, group="traffic (kbit/s per client)") for name in traffic.values()),
    ]
    return table(columns, [_row(*each, list(traffic)) for each in zip(phases, labels, strict=True)])


def _row(phase: Phase, label: Html, traffic: Sequence[str]) -> list[Cell]:
    return [
        phase.name,
        label,
        f"{phase.start_s:g}–{phase.end_s:g}",
        fixed(phase.recall.mean, 3),
        fixed(phase.precision.mean, 3),
        fixed(phase.delay_ms.mean, 1),
        fixed(phase.delay_ms.percentile(50), 1),
        fixed(phase.delay_ms.percentile(95), 1),
        grouped(phase.events),
        grouped(phase.deliveries),
        *(fixed(phase.traffic[key], 2 if key.startswith("cellular") else 3) for key in traffic),
    ]


def grouped(count: int) -> str:
    """A whole number, its thousands set apart by narrow spaces."""
    return f"{count:,}".replace(",", "\u202f")


def scheme_label(mechanisms: Mapping[str, Any]) -> Html:
    """The filter scheme with its colour and its numbers, such as the factor of a grid."""
    scheme = mechanisms["filter"]
    numbers = [
        f"{name} {value:g}"
        for name, value in scheme["parameters"].items()
        if isinstance(value, int | float) and not isinstance(value, bool)
    ]
    words = html_of(f" ({', '.join(numbers)})" if numbers else "")
    return Html(f'<span class="label">{chip(scheme["name"]).text}{words}</span>')


def chip(scheme: str) -> Html:
    """A scheme's name behind a spot in its colour."""
    spot = f'<span class="chip" style="background: {scheme_colour(scheme)}"></span>'
    return Html(f'<span class="label">{spot}{html_of(scheme)}</span>')


def whole(name: str, run: Run) -> Phase:
    """A run as one phase, under the run's name."""
    duration = run.scenario.duration
    return Phase(
        name=name,
        start_s=0.0,
        end_s=duration,
        mechanisms=run.phases[0].mechanisms,
        recall=Stats.of(recall(run.events)),
        precision=Stats.of(precision(run.events)),
        delay_ms=Stats.of(run.events["delay_us"] / 1000.0),
        events=len(run.events["id"]),
        deliveries=int(run.events["notified"].sum()),
        traffic={
            key: sum(phase.traffic[key] * (phase.end_s - phase.start_s) for phase in run.phases) / duration
            for key in TRAFFIC
        },
    )
