"""The figures that were measured last: a file beside this one, and what docs/thesis.md shows of it."""

from __future__ import annotations

import json
import math
import statistics
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from bypass.scenarios.experiments.checks import Check, CheckVerdict, judge
from bypass.scenarios.runs.loader import builtin_names, load

RECORD = Path(__file__).with_suffix(".json")
PAGE = Path(__file__).parent.parent / "docs" / "thesis.md"
BEGIN, END = "<!-- figures: begin -->", "<!-- figures: end -->"
ORDER = ("differs", "unknown", "explained", "holds")  # the worst first
WORDS = {"differs": "**differs**", "unknown": "not measured", "explained": "explained", "holds": "holds"}


@dataclass(frozen=True)
class Measured:
    """The figures of one scenario with one seed, by path, and what they were measured with."""

    commits: list[str]
    machines: list[str]
    wall_s: float
    figures: dict[str, float | None]

    def look(self, path: str) -> float:
        """A figure. Raises KeyError if it was not measured, or is none."""
        value = self.figures[path]
        if value is None:
            raise KeyError(path)
        return value


@dataclass(frozen=True)
class Compared:
    """A check with the verdict for each seed: what holds with one and not with another does not hold."""

    check: Check
    by_seed: Mapping[int, CheckVerdict]

    @property
    def name(self) -> str:
        return self.check.name

    @property
    def verdict(self) -> str:
        """The worst of all seeds."""
        return min((verdict.verdict for verdict in self.by_seed.values()), key=ORDER.index)

    @property
    def settled(self) -> bool:
        """Whether a difference is explained that no seed has any more."""
        return all(verdict.settled for verdict in self.by_seed.values())

    @property
    def ours(self) -> float:
        """The median over the seeds; NaN if there is none."""
        known = [verdict.value for verdict in self.by_seed.values() if not math.isnan(verdict.value)]
        return statistics.median(known) if known else math.nan

    @property
    def shown(self) -> str:
        """Our figure in words."""
        return "–" if math.isnan(self.ours) else f"{self.ours:.4g}"

    @property
    def row(self) -> tuple[str, ...]:
        """The row of the comparison in a table."""
        holding = sum(verdict.verdict == "holds" for verdict in self.by_seed.values())
        verdict = f"{self.verdict} ({holding}/{len(self.by_seed)})"
        return (
            self.name,
            self.check.source,
            self.check.stated,
            self.shown,
            self.check.expected,
            verdict,
        )

    def to_dict(self) -> dict[str, Any]:
        """The comparison as data for JSON."""
        values = {seed: verdict.to_dict() for seed, verdict in self.by_seed.items()}
        return {
            **next(iter(values.values())),
            "ours": None if math.isnan(self.ours) else self.ours,
            "by_seed": {seed: value["ours"] for seed, value in values.items()},
            "verdict": self.verdict,
        }


def compare(checks: Iterable[Check], found: Mapping[int, Measured]) -> list[Compared]:
    """Each check with the figures of all seeds."""
    checks = list(checks)
    by_seed = {seed: judge(checks, each.look) for seed, each in found.items()}
    return [
        Compared(check, {seed: verdicts[i] for seed, verdicts in by_seed.items()})
        for i, check in enumerate(checks)
    ]


def totals(compared: Iterable[Compared]) -> dict[str, int]:
    """How many there are of each verdict."""
    verdicts = [each.verdict for each in compared]
    return {verdict: verdicts.count(verdict) for verdict in reversed(ORDER)}


def recorded() -> dict[str, dict[int, Measured]]:
    """Read the record, by scenario and seed."""
    if not RECORD.exists():
        return {}
    data = json.loads(RECORD.read_text(encoding="utf-8"))
    return {
        name: {int(seed): Measured(**own) for seed, own in seeds.items()}
        for name, seeds in data["scenarios"].items()
    }


def enter(name: str, found: Mapping[int, Measured]) -> None:
    """Put the figures of a scenario into the record; seeds that it has besides stay if they have the same
    figures."""
    record = recorded()
    paths = next(iter(found.values())).figures.keys()
    kept = {seed: own for seed, own in record.get(name, {}).items() if own.figures.keys() == paths}
    record[name] = kept | dict(found)
    data = {
        scenario: {str(seed): asdict(own) for seed, own in sorted(seeds.items())}
        for scenario, seeds in sorted(record.items())
    }
    RECORD.write_text(json.dumps({"scenarios": data}, indent=1) + "\n", encoding="utf-8")


def section() -> str:
    """The tables of docs/thesis.md, as the record and the checks have them now."""
    record = recorded()
    compared = {name: compare(load(name).checks, record[name]) for name in builtin_names() if name in record}
    missing = [name for name in builtin_names() if name not in record]
    counts = totals(check for checks in compared.values() for check in checks)
    commits = sorted({commit for own in _all(record) for commit in own.commits})
    machines = sorted({machine for own in _all(record) for machine in own.machines})
    seconds = sum(own.wall_s for own in _all(record))
    lines = [
        f"{sum(counts.values())} figures: {counts['holds']} hold, {counts['explained']} differ and are"
        f" explained, {counts['differs']} differ without an explanation, {counts['unknown']} are missing.",
        "",
        f"Measured with {', '.join(commits) or 'nothing'} on {', '.join(machines) or 'no machine'}, in"
        f" {seconds / 60:.0f} minutes of one core beside other work.",
        f"Not measured yet: {', '.join(missing)}." if missing else "All scenarios were measured.",
    ]
    for name, checks in compared.items():
        seeds = ", ".join(map(str, sorted(record[name])))
        lines += ["", f"### {name}", "", f"{load(name).about}. Seeds: {seeds}.", ""]
        lines += ["| figure | source | thesis | ours | expected | verdict |", "|---|---|---|---|---|---|"]
        for each in checks:
            cells = (*each.row[:-1], WORDS[each.verdict])
            lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
        lines += _reasons(checks)
    return "\n".join(lines) + "\n"


def _all(record: Mapping[str, Mapping[int, Measured]]) -> list[Measured]:
    return [own for seeds in record.values() for own in seeds.values()]


def _reasons(checks: Iterable[Compared]) -> list[str]:
    """Why figures differ, each reason once with the names of its figures."""
    names: dict[str, list[str]] = {}
    for each in checks:
        known = each.check.explained
        if known is not None:
            words = f"{each.name} ({known.low:.4g} to {known.high:.4g})" + (
                ", which holds again" if each.settled else ""
            )
            names.setdefault(known.reason, []).append(words)
    if not names:
        return []
    return ["", "Explained:", "", *(f"- {'; '.join(own)}: {reason}" for reason, own in names.items())]


def write_page() -> None:
    """Put the tables into docs/thesis.md."""
    text = PAGE.read_text(encoding="utf-8")
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    PAGE.write_text(f"{before}{BEGIN}\n{section()}{END}{after}", encoding="utf-8")


if __name__ == "__main__":
    write_page()
