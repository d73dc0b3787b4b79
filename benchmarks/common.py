"""Helpers of the benchmarks: arguments, the machine they ran on, times, tables and files."""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from importlib.metadata import version
from multiprocessing import get_context
from pathlib import Path
from typing import Any

OUT = Path(__file__).resolve().parent.parent / "out" / "benchmarks"


def arguments(description: str, repetitions: int | None = 5) -> argparse.ArgumentParser:
    """A parser with what every benchmark can be told; without repetitions if there is nothing to repeat."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--out", type=Path, default=OUT, metavar="DIR", help="where the JSON file goes")
    if repetitions is not None:
        integer(parser, "--repetitions", repetitions, "medians are of so many")
    return parser


def integer(parser: argparse.ArgumentParser, option: str, default: int, about: str) -> None:
    """Let `parser` take a number."""
    parser.add_argument(option, type=int, default=default, metavar="N", help=f"{about} ({default:,})")


def pin() -> None:
    """Stay on one core, where the system lets a process choose."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})


def one_by_one(module: str) -> ProcessPoolExecutor:
    """A process for each task, one after the other: memory that others have used before is slower.

    Processes are forked from one that has imported `module` and done nothing else.
    """
    context = get_context("forkserver")
    context.set_forkserver_preload([module])
    return ProcessPoolExecutor(1, mp_context=context, max_tasks_per_child=1)


def machine() -> dict[str, str]:
    """The properties of the machine that the figures depend on."""
    return {
        "cpu": _cpu(),
        "cores": str(os.cpu_count()),
        "system": platform.platform(),
        "python": platform.python_version(),
        **{name: version(name) for name in ("numpy", "numba")},
    }


def _cpu() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.processor() or platform.machine())


def seconds(action: Callable[[], object], clock: Callable[[], float] = time.process_time) -> float:
    """How long `action` takes, once."""
    began = clock()
    action()
    return clock() - began


def rounds(
    actions: dict[str, Callable[[], object]],
    repetitions: int,
    clock: Callable[[], float] = time.process_time,
) -> dict[str, list[float]]:
    """Seconds of each action, one of each in turn: what disturbs the machine then disturbs all of them.

    Each is done once before, so that compiling and loading do not count.
    """
    for action in actions.values():
        action()
    taken: dict[str, list[float]] = {name: [] for name in actions}
    for _ in range(repetitions):
        for name, action in actions.items():
            taken[name].append(seconds(action, clock))
    return taken


def ratio(slow: Sequence[float], quick: Sequence[float]) -> float:
    """How many times as long the one takes as the other: the median over the rounds."""
    return statistics.median(a / b for a, b in zip(slow, quick, strict=True))


def print_table(title: str, header: Sequence[str], rows: Sequence[Sequence[str | float]]) -> None:
    """Numbers to the right, words to the left."""
    texts = [list(header), *([_text(value) for value in row] for row in rows)]
    widths = [max(map(len, column)) for column in zip(*texts, strict=True)]
    numeric = [not isinstance(value, str) for value in rows[0]]
    print(f"\n{title}\n")
    for i, row in enumerate(texts):
        cells = zip(row, widths, numeric, strict=True)
        print("  " + "  ".join(f"{t:>{w}}" if right else f"{t:<{w}}" for t, w, right in cells).rstrip())
        if i == 0:
            print("  " + "  ".join("-" * width for width in widths))


def _text(value: str | float) -> str:
    if isinstance(value, str):
        return value
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"


def write(name: str, directory: Path, result: dict[str, Any]) -> None:
    """Write what was measured, with the machine it was measured on, to NAME.json."""
    directory.mkdir(parents=True, exist_ok=True)
    path = directory / f"{name}.json"
    data = {"benchmark": name, "machine": machine(), **result}
    path.write_text(json.dumps(data, indent=1) + "\n", encoding="utf-8")
    print(f"\n{', '.join(f'{name} {text}' for name, text in data['machine'].items())}")
    print(f"written to {os.path.relpath(path)}")
