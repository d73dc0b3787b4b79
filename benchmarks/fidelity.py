"""Runs the built-in scenarios in full and sets their figures beside the thesis'."""

from __future__ import annotations

import math
import statistics
import sys
from typing import Any

from common import arguments, integer, print_table, write

from bypass.scenarios import Result, builtin_names, run


def show_progress(name: str, seed: int, done: float, total: float) -> None:
    """On a terminal, how far a scenario has come."""
    if sys.stderr.isatty():
        end = "\n" if done >= total else ""
        print(f"\r{name}, seed {seed}: {done:,.0f} of {total:,.0f} s", end=end, file=sys.stderr, flush=True)


def compare(results: dict[int, Result]) -> list[dict[str, Any]]:
    """Each check of one scenario: our median over the seeds, and in how many of them it holds."""
    checks = []
    for same in zip(*(result.verdicts for result in results.values()), strict=True):
        known = [verdict.value for verdict in same if not math.isnan(verdict.value)]
        verdicts = [verdict.verdict for verdict in same]
        checks.append(
            {
                **same[0].to_dict(),
                "ours": statistics.median(known) if known else None,
                "by_seed": {seed: v.to_dict()["ours"] for seed, v in zip(results, same, strict=True)},
                "verdict": verdicts[0] if len(set(verdicts)) == 1 else "differs",
                "holds": verdicts.count("holds"),
            }
        )
    return checks


def bounds(check: dict[str, Any]) -> str:
    """The range that our figure must lie in, as text."""
    low, high = check["low"], check["high"]
    if low is None:
        return f"<= {high:.4g}"
    return f">= {low:.4g}" if high is None else f"{low:.4g} to {high:.4g}"


def main() -> None:
    parser = arguments(__doc__, repetitions=None)
    integer(parser, "--seeds", 1, "seeds from 1 to so many")
    parser.add_argument("--scenarios", nargs="+", choices=builtin_names(), default=builtin_names())
    parser.add_argument("--duration", type=float, metavar="S", help="simulate so many seconds (in full)")
    parser.add_argument(
        "--clients", type=int, metavar="N", help="with so many clients (as the scenario says)"
    )
    options = parser.parse_args()
    scenarios = {}
    for name in options.scenarios:
        results = {
            seed: run(
                name,
                seed=seed,
                duration=options.duration,
                clients=options.clients,
                progress=lambda done, total, name=name, seed=seed: show_progress(name, seed, done, total),  # type: ignore[misc]
            )
            for seed in range(1, options.seeds + 1)
        }
        scenarios[name] = checks = compare(results)
        rows = [
            (
                check["name"],
                check["source"],
                check["stated"],
                "?" if check["ours"] is None else f"{check['ours']:.4g}",
                bounds(check),
                f"{check['verdict']} ({check['holds']}/{options.seeds})",
            )
            for check in checks
        ]
        print_table(name, ("figure", "source", "thesis", "ours", "expected", "verdict"), rows)
    verdicts = [check["verdict"] for checks in scenarios.values() for check in checks]
    counts = {verdict: verdicts.count(verdict) for verdict in ("holds", "differs", "unknown")}
    print("\nin all: " + ", ".join(f"{count} {verdict}" for verdict, count in counts.items()))
    write("fidelity", options.out, {"seeds": options.seeds, "verdicts": counts, "scenarios": scenarios})


if __name__ == "__main__":
    main()
