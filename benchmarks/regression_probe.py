"""Does one task with the code of a checkout, and fails if other code had a part in it.

`regression.py` starts it in a process of its own, with the checkout and its benchmarks first on the path: all
that is imported here is of that commit. Rates are for a second of processor time.
"""

from __future__ import annotations

import json
import runpy
import sys
import tempfile
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bypass.scenarios.experiments.schema import Scenario

PHASE_S, EVENTS_S = 2.0, 6.0
"""How short a scenario becomes: its shortest phase, and the time in which there are events.

A client learns its place every 5 s."""


def command(*arguments: str) -> None:
    """Run the command line."""
    from bypass.cli import main

    main(arguments)


def scenarios(*names: str) -> None:
    """Print how long scenarios last in short (s): all that are built in, or those of these that are known."""
    from bypass.scenarios import builtin_names, load

    built_in = builtin_names()
    known = [name for name in names if name in built_in or Path(name).is_file()]
    print(json.dumps({name: short(load(name)) for name in (known if names else built_in)}))


def short(scenario: Scenario) -> float:
    """The seconds in which every phase is there and something is published, but no more than in full."""
    times = [0.0, *(step.at for step in scenario.timeline), scenario.duration]
    share = min(end - start for start, end in pairwise(times)) / scenario.duration
    phases = PHASE_S / share if scenario.timeline else 0.0
    return min(round(max(phases, scenario.workload.start + EVENTS_S), 1), scenario.duration)


def simulator() -> None:
    """Print how many seconds are simulated in a second."""
    from simulator import measure

    print(measure("radial", "rwp", 297, 60, 1)["rate"])


def matching() -> None:
    """Print how many events are matched in a second, one at a time."""
    from common import pin, rounds
    from matching import Town

    pin()
    town = Town(10_000, 5_000)
    index = town.index()
    (taken,) = rounds({"": lambda: [index.match(event) for event in town.events]}, 100).values()
    print(100 * len(town.events) / sum(taken))


def matching_many() -> None:
    """Print how many events are matched in a second, all at once."""
    from common import pin, rounds
    from matching import Town

    pin()
    town = Town(10_000, 20_000)
    index = town.index()
    # Commits before 0.2.0 call it by its first name.
    match = getattr(index, "match_places" if hasattr(index, "match_places") else "match_many")
    (taken,) = rounds({"": lambda: match(town.px, town.py)}, 60).values()
    print(60 * len(town.events) / sum(taken))


def evaluation() -> None:
    """Print how many events the local kernels judge in a second: RADIAL, STE, GRID and EGRID together."""
    from common import pin, rounds
    from evaluation import bare, make

    pin()
    with tempfile.TemporaryDirectory() as folder:
        path = make("uniform", 3_000, 10, Path(folder))
        (taken,) = rounds({"": lambda: bare(path, 0, 10)}, 20).values()
        _, events, _ = bare(path, 0, 10)
    print(20 * events / sum(taken))


def fanout() -> None:
    """Print how many deliveries a live broker makes in a second: open, `sync: normal`, 12 for an event."""
    numbers = {"subscribers": 300, "recipients": 12, "events": 1000, "window": 100, "seconds": 2}
    options = (f"--{name}={number}" for name, number in numbers.items())
    sys.argv = ["fanout", *options, "--systems", "open, normal", "--out", "."]
    runpy.run_module("fanout", run_name="__main__")
    measured = json.loads(Path("fanout.json").read_text(encoding="utf-8"))["recipients"]["12"]["systems"]
    print(measured["bypass, open, normal"]["per_cpu_second"])


TASKS: dict[str, Callable[..., None]] = {
    task.__name__: task
    for task in (command, scenarios, simulator, matching, matching_many, evaluation, fanout)
}


def check_origin(root: Path) -> None:
    """Exit with a message if the library, or a benchmark, was not imported from `root`."""
    own = {"bypass", *(path.stem for path in (root / "benchmarks").glob("*.py"))}
    for name, module in list(sys.modules.items()):
        file = getattr(module, "__file__", None)
        if name.partition(".")[0] in own and not (file and Path(file).is_relative_to(root)):
            sys.exit(f"{name} comes from {file}: expected from {root}")


if __name__ == "__main__" and len(sys.argv) > 2:
    _, root, name, *arguments = sys.argv
    try:
        TASKS[name](*arguments)
    finally:
        check_origin(Path(root))
