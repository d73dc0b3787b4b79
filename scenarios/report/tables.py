"""The tables of a report: checked figures, and what happened by phase, run, gateway and rule."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from markupsafe import Markup

from bypass.scenarios.experiments.checks import Check, CheckVerdict, figure
from bypass.scenarios.figures.measures import Phase, Stats, precision, recall
from bypass.scenarios.figures.outcome import Run
from bypass.scenarios.report.labels import mechanism_columns
from bypass.scenarios.report.page import Column, fixed, number, table
from bypass.scenarios.report.result import Result
from bypass.transitions import Firing

SYMBOLS = {
    "differs": "✗ differs",
    "unknown": "? not measured",
    "explained": "≠ differs, explained",
    "holds": "✓ holds",
}

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
_SMALL = ("context_up", "context_down", "coordination")  # columns that need more digits


def verdict_table(result: Result) -> Markup:
    """The verdicts: first figures that differ, then unknown ones, those with a known reason, and those that
    hold."""
    summary = result.summary()
    columns = [Column(name) for name in ("figure", "source", "stated", "ours", "expected", "verdict")]
    order = list(SYMBOLS)
    rows = [
        (
            _named(verdict.check),
            _unbroken(verdict.check.source),
            verdict.check.stated,
            _unbroken(_ours(verdict, summary)),
            _unbroken(verdict.check.expected.replace("-", "−")),
            Markup('<span class="{}">{}</span>').format(verdict.verdict, SYMBOLS[verdict.verdict]),
        )
        for verdict in sorted(result.verdicts, key=lambda verdict: order.index(verdict.verdict))
    ]
    return table(columns, rows, "cards")


def _named(check: Check) -> Markup:
    notes = [check.note] if check.note else []
    if check.missing:
        notes.append(f"not measured: {check.missing}")
    if check.explained is not None:
        known = check.explained
        notes.append(f"{number(known.low)} to {number(known.high)} is explained: {known.reason}")
    return Markup("").join(
        [check.name, *(Markup('<div class="note">{}</div>').format(note) for note in notes)]
    )


def _ours(verdict: CheckVerdict, summary: dict[str, Any]) -> str:
    """Our figure, and what it is the difference, the ratio or the range of."""
    check, text = verdict.check, number(verdict.value)
    if verdict.verdict == "unknown" or len(check.paths) == 1:
        return text
    try:
        shown = {path: number(figure(summary, path)) for path in check.paths}
    except KeyError:  # the summary has no infinite figures
        return text
    if check.among:
        return f"{text} over {', '.join(shown.values())}"
    parts = shown[check.value]
    if check.minus is not None and check.over is not None and check.minus_over is not None:
        return f"{text} = {parts} / {shown[check.over]} − {shown[check.minus]} / {shown[check.minus_over]}"
    if check.minus is not None:
        parts += f" − {shown[check.minus]}"
    if check.over is not None:
        parts = f"({parts})" if check.minus is not None else parts
        parts += f" / {shown[check.over]}"
    return f"{text} = {parts}"


def _unbroken(text: str) -> Markup:
    return Markup('<span class="label">{}</span>').format(text)


def run_table(runs: Mapping[str, Run]) -> Markup:
    """The columns of `phase_table`, one row a run. Mechanisms of a run with several phases are in their own
    table."""
    wholes = [whole(name, run) for name, run in runs.items()]
    columns, cells = mechanism_columns(wholes)
    for run, own in zip(runs.values(), cells, strict=True):
        if len(run.phases) > 1:
            own[:] = [f"{len(run.phases)} phases", *[""] * (len(own) - 1)]
    return _table("run", wholes, columns, cells)


def phase_table(phases: Sequence[Phase]) -> Markup:
    """Mechanisms, recall, precision, delay, deliveries and traffic, one row a phase."""
    return _table("phase", phases, *mechanism_columns(phases))


def _table(
    first: str, phases: Sequence[Phase], mechanisms: Sequence[Column], cells: Sequence[Sequence[str]]
) -> Markup:
    traffic = {
        key: name
        for key, name in TRAFFIC.items()
        if key not in _NOT_EVERYWHERE or any(phase.traffic[key] for phase in phases)
    }
    columns = [
        Column(first),
        *mechanisms,
        Column("time (s)", number=True),
        Column("recall", number=True),
        Column("precision", number=True),
        *(Column(name, number=True, group="delay (ms)") for name in ("mean", "p50", "p95")),
        Column("events", number=True),
        Column("deliveries", number=True),
        *(Column(name, number=True, group="traffic (kbit/s per client)") for name in traffic.values()),
    ]
    return table(columns, [_row(*each, list(traffic)) for each in zip(phases, cells, strict=True)])


def _row(phase: Phase, mechanisms: Sequence[str], traffic: Sequence[str]) -> list[str]:
    return [
        phase.name,
        *mechanisms,
        f"{phase.start_s:g}–{phase.end_s:g}",
        fixed(phase.recall.mean, 3),
        fixed(phase.precision.mean, 3),
        fixed(phase.delay_ms.mean, 1),
        fixed(phase.delay_ms.percentile(50), 1),
        fixed(phase.delay_ms.percentile(95), 1),
        grouped(phase.events),
        grouped(phase.deliveries),
        *(fixed(phase.traffic[key], 3 if key in _SMALL else 2) for key in traffic),
    ]


def grouped(count: int) -> str:
    """A whole number, its thousands set apart by narrow spaces."""
    return f"{count:,}".replace(",", "\u202f")


def gateway_table(result: Result) -> Markup:
    """Figures of gateways, one row a run that has any, and what the run saved and lost beside the
    baseline."""
    rows = {name: run.gateways.summary() for name, run in result.runs.items()}
    compared: dict[str, Any] = {}
    if result.scenario.baseline:
        compared = {name: run["extra"] for name, run in result.summary()["runs"].items()}
    columns = [
        Column("run"),
        Column("events", number=True),
        *(Column(name, number=True, group="gateways an event") for name in ("number", "share")),
        *(Column(name, number=True, group="copies a client") for name in ("mean", "p97.5")),
        Column("fairness", number=True),
    ]
    if compared:
        columns += [Column("saved", number=True, group="cellular download")]
        columns += [Column("lost", number=True, group="recall")]
    return table(
        columns,
        [
            [
                name,
                grouped(figures["events"]),
                _known(figures["per_event"], 2),
                _known(figures["share"], 2),
                _known(figures["attempts"], 2),
                _known(figures["most_attempts"], 1),
                _known(figures["fairness"], 2),
                *(
                    [
                        _percent(compared[name]["cellular_download_saved"]),
                        fixed(compared[name]["recall_lost"], 3),
                    ]
                    if compared
                    else []
                ),
            ]
            for name, figures in rows.items()
            if figures["events"]
        ],
    )


def _known(value: float | None, digits: int) -> str:
    return fixed(float("nan") if value is None else value, digits)


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %".replace("-", "−")


def rule_table(firings: Sequence[Firing]) -> Markup:
    """The rules that fired, by the first time: how often, about how many, and why the last time."""
    found: dict[str, list[Firing]] = {}
    for firing in firings:
        found.setdefault(firing.rule, []).append(firing)
    columns = [
        Column("rule"),
        Column("observed"),
        *(Column(name, number=True) for name in ("times", "subjects", "failures", "last (s)")),
        Column("last reason"),
    ]
    return table(
        columns,
        [
            [
                rule,
                own[-1].topic,
                grouped(len(own)),
                grouped(len({firing.subject for firing in own})),
                grouped(sum(bool(firing.error) or "failed" in firing.outcomes for firing in own)),
                f"{own[-1].at:.1f}",
                own[-1].error or own[-1].why,
            ]
            for rule, own in found.items()
        ],
    )


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
