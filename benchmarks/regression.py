"""Whether two commits of this project give the same results, and how their speed compares.

Results: every built-in scenario of either commit runs with seed 1, in short: at least 2 s of each phase and
6 s of events. A small trace is made, and the local engine judges each filter scheme on it. Figures, tables
and records of transitions are compared exactly, but not what depends on the machine, the moment and the
release. All places where they differ are listed; of rows, the first that differs in a column. It ends with 1
if anything differs.

Speed (--speed): simulator, matching, evaluation and the fan-out of a live broker, in processor time, old and
new in turn, each in a new process, by functions of the commit's own benchmarks. A ratio below the goal is
shown and is no error: measure again before you believe it.

Each commit is checked out into a temporary folder and has a cache of kernels of its own. A process fails that
has imported our code from elsewhere. The first runs compile kernels, for about a minute.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path
from signal import SIGINT, SIGTERM, raise_signal, signal
from typing import Any, NamedTuple

import numpy as np
from common import arguments, integer, print_table, write
from regression_checkout import Checkout, TaskFailed, checked_out, commit_of, snapshot
from regression_difference import Difference, differences, rows

ROOT = Path(__file__).resolve().parent.parent
HERE = "files as they are"
EXAMPLES = """examples:
  python benchmarks/regression.py                        what is not committed yet, against HEAD
  python benchmarks/regression.py main my-branch
  python benchmarks/regression.py HEAD~5 --scenarios adhoc my-experiment.yaml
  python benchmarks/regression.py HEAD~20 --speed --scenarios    speed alone
"""
SCHEMES = ("radial", "ste:1.5", "grid:5", "egrid:10", "attract", "multi")
GOALS = {"simulator": 0.95, "matching": 0.95, "matching_many": 0.95, "evaluation": 0.95, "fanout": 0.9}
"""Tasks, and how many times as fast as the old one the new commit should be at least."""

Pair = tuple[Checkout, Checkout]


class Case(NamedTuple):
    """Commands that leave results in a folder, and whether each of two commits knows what they run."""

    name: str
    commands: tuple[tuple[str, ...], ...]
    known: tuple[bool, bool] = (True, True)


class Verdict(NamedTuple):
    """The outcome of a case: "same", "differs", "only in old", "only in new" or "fails", and all places
    where it differs, or why it fails."""

    name: str
    outcome: str
    rows: int
    where: list[str]


async def cases(pair: Pair, chosen: list[str] | None, folder: Path) -> list[Case]:
    """The scenarios of both commits, those alone that were chosen, and otherwise also the schemes.

    A scenario lasts as long as the one commit needs that needs more time.
    """
    if chosen == []:
        return []
    names = [str(Path(name).resolve()) if Path(name).is_file() else name for name in chosen or ()]
    asked = (each.run("scenarios", *names, cwd=folder) for each in pair)
    listed: list[dict[str, float]] = []
    for answer in await asyncio.gather(*asked, return_exceptions=True):  # all have ended then
        if isinstance(answer, BaseException):
            raise answer
        listed.append(json.loads(answer))
    old, new = listed
    for name in names:
        if name not in old | new:
            raise TaskFailed(f"{name!r} is no scenario of either commit: expected one, or a YAML file")
    found = []
    for name in names or sorted(old | new):
        duration = max(old.get(name, 0.0), new.get(name, 0.0))
        run = ("run", name, "--duration", str(duration), "--seed", "1", "--out", "out")
        found.append(Case(Path(name).stem, (run,), (name in old, name in new)))
    return found if names else found + [judged(scheme) for scheme in SCHEMES]


def judged(scheme: str) -> Case:
    """A scheme on a small trace of people in streets, under three workloads."""
    trace = "traces darmstadt --clients 60 --duration 20 --engine local --out trace"
    judge = f"evaluate trace --schemes {scheme} --workloads ar,lbs,rnd --engine local --out out"
    return Case(f"evaluate {scheme}", (tuple(trace.split()), tuple(judge.split())))


async def compare(case: Case, pair: Pair, folder: Path, free: asyncio.Semaphore) -> Verdict:
    """Run a case with both commits, where both know it, and look for differences."""
    if case.known != (True, True):
        return Verdict(case.name, "only in old" if case.known[0] else "only in new", 0, [])

    async def leave_results(checkout: Checkout, folder: Path) -> str:
        async with free:
            try:
                for command in case.commands:
                    await checkout.run("command", *command, cwd=folder)
            except TaskFailed as failure:
                return f"fails: {failure}"
        return "runs"

    folders = [folder / case.name / side for side in ("old", "new")]
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(leave_results(*each)) for each in zip(pair, folders, strict=True)]
    old, new = (task.result() for task in tasks)
    if old != new:
        return Verdict(case.name, "differs", 0, [str(Difference("it", old, new))])
    if old != "runs":
        return Verdict(case.name, "fails", 0, [old])
    found = await asyncio.to_thread(differences, *folders)
    return Verdict(case.name, "differs" if found else "same", rows(folders[0]), [str(each) for each in found])


async def compare_all(pair: Pair, chosen: list[str] | None, folder: Path, processes: int) -> list[Verdict]:
    """The verdicts on all cases; says each as soon as it is known."""
    free = asyncio.Semaphore(processes)

    async def told(case: Case) -> Verdict:
        verdict = await compare(case, pair, folder, free)
        say("\n  ".join((f"{verdict.name}: {verdict.outcome}", *verdict.where)))
        return verdict

    found = await cases(pair, chosen, folder)
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(told(case)) for case in found]
    return [task.result() for task in tasks]


async def compare_speed(pair: Pair, folder: Path, repetitions: int) -> dict[str, list[list[float]]]:
    """The rates of old and new for each task, by round. Each is done once before, to compile kernels."""
    rates: dict[str, list[list[float]]] = {task: [] for task in GOALS}
    for task, taken in rates.items():
        for i in range(repetitions + 1):
            say(f"{task}: {i} of {repetitions} rounds")
            outputs = [await checkout.run(task, cwd=folder / "speed") for checkout in pair]
            taken.append([float(output.split()[-1]) for output in outputs])
        del taken[0]
    return rates


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def options() -> argparse.Namespace:
    """The options of the command line, with commits for revisions."""
    parser = arguments(__doc__ or "", repetitions=10)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.epilog = EXAMPLES
    parser.add_argument("old", nargs="?", default="HEAD", metavar="OLD", help="a git revision (HEAD)")
    parser.add_argument("new", nargs="?", metavar="NEW", help=f"another one (the {HERE})")
    parser.add_argument("--scenarios", nargs="*", metavar="NAME", help="those, or files, alone; or none")
    parser.add_argument("--speed", action="store_true", help="compare speed, too: about ten minutes")
    integer(parser, "--processes", os.cpu_count() or 1, "runs side by side, but one where speed counts")
    chosen = parser.parse_args()
    try:
        chosen.old_commit = commit_of(ROOT, chosen.old)
        chosen.new_commit = commit_of(ROOT, chosen.new) if chosen.new else snapshot(ROOT)
    except ValueError as error:
        parser.error(str(error))
    return chosen


def measured(chosen: argparse.Namespace) -> tuple[list[Verdict], dict[str, list[list[float]]]]:
    """Check both commits out and compare what was asked for."""

    async def both(pair: Pair, folder: Path) -> tuple[list[Verdict], dict[str, list[list[float]]]]:
        verdicts = await compare_all(pair, chosen.scenarios, folder, chosen.processes)
        return verdicts, await compare_speed(pair, folder, chosen.repetitions) if chosen.speed else {}

    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        old = stack.enter_context(checked_out(ROOT, chosen.old, chosen.old_commit))
        new = stack.enter_context(checked_out(ROOT, chosen.new or HERE, chosen.new_commit))
        return asyncio.run(both((old, new), folder))


def main() -> None:
    chosen = options()
    signal(SIGTERM, lambda *_: raise_signal(SIGINT))  # processes end and checkouts are removed then, too
    try:
        verdicts, rates = measured(chosen)
    except TaskFailed as failure:
        sys.exit(str(failure))
    except KeyboardInterrupt:
        sys.exit("interrupted")
    names = [f"{chosen.old} ({chosen.old_commit[:12]})", f"{chosen.new or HERE} ({chosen.new_commit[:12]})"]
    if verdicts:
        print_table(
            f"Results of {names[1]} beside those of {names[0]}",
            ("case", "outcome", "rows", "places", "the first"),
            [(name, outcome, n, len(where), (*where, "")[0]) for name, outcome, n, where in verdicts],
        )
    quartiles = {}
    if rates:
        quartiles = {
            task: np.percentile([new / old for old, new in pairs], (25, 50, 75)).tolist()
            for task, pairs in rates.items()
        }
        print_table(
            f"Speed of {names[1]} as a multiple of that of {names[0]}, {chosen.repetitions} rounds",
            ("task", "median", "quartiles", "at least"),
            [
                (task, f"{median:.3f}", f"{low:.3f}-{high:.3f}", GOALS[task])
                for task, (low, median, high) in quartiles.items()
            ],
        )
    data: dict[str, Any] = {
        "old": {"name": chosen.old, "commit": chosen.old_commit},
        "new": {"name": chosen.new or HERE, "commit": chosen.new_commit},
        "results": [verdict._asdict() for verdict in verdicts],
        "rates": rates,
        "quartiles": quartiles,
        "goals": GOALS,
    }
    write("regression", chosen.out, data)
    if any(verdict.outcome != "same" for verdict in verdicts):
        sys.exit(1)


if __name__ == "__main__":
    main()
