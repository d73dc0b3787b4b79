"""Where the results in two folders differ: exactly, value by value and row by row, whatever the bytes."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow.parquet as pq

PASSING = {"wall_s", "version", "provenance"}
"""Keys whose values are of the machine, the moment or the release."""
ABSENT = "absent"
LONGEST = 60


class Difference(NamedTuple):
    """A place where two results differ, what is there in both, and in how many more entries of the same lists
    they differ there."""

    path: str
    old: str
    new: str
    more: int = 0

    def __str__(self) -> str:
        more = f" ({self.more} more)" if self.more else ""
        return f"{self.path}: {_shortened(self.old)} before, {_shortened(self.new)} now{more}"


def results(folder: Path) -> dict[str, Path]:
    """The files that have results: figures, tables, records of transitions, by their paths there."""
    names = ("summary.json", "*.jsonl", "*.parquet")
    found = sorted(path for name in names for path in folder.rglob(name))
    return {path.relative_to(folder).as_posix(): path for path in found}


def rows(folder: Path) -> int:
    """How many rows the tables in a folder have."""
    paths = results(folder).values()
    return sum(pq.read_metadata(path).num_rows for path in paths if path.suffix == ".parquet")


def differences(old: Path, new: Path) -> list[Difference]:
    """Compare all results in two folders. Of entries of a list, such as rows, the first that differs in a
    value is named, and the others are counted."""
    before, after = results(old), results(new)
    found: dict[str, Difference] = {}
    for name in sorted(before.keys() | after.keys()):
        if name not in before or name not in after:
            there = ["there" if name in files else ABSENT for files in (before, after)]
            found[name] = Difference(name, there[0], there[1])
            continue
        for each in _differences(name, _read(before[name]), _read(after[name])):
            place = re.sub(r"\[\d+\]", "[]", each.path)
            first = found.get(place)
            found[place] = each if first is None else first._replace(more=first.more + 1)
    return list(found.values())


def _read(path: Path) -> Any:
    if path.suffix == ".parquet":
        table = pq.ParquetFile(path).read()  # the file alone: names of folders would become columns
        types = {field.name: str(field.type) for field in table.schema}
        return {"columns": types, "rows": table.to_pylist()}
    text = path.read_text(encoding="utf-8")
    return json.loads(text) if path.suffix == ".json" else [json.loads(line) for line in text.splitlines()]


def _differences(path: str, old: Any, new: Any) -> Iterator[Difference]:
    if isinstance(old, dict) and isinstance(new, dict):
        for key in {**old, **new}:
            if key not in PASSING:
                yield from _differences(f"{path}, {key}", old.get(key, ABSENT), new.get(key, ABSENT))
    elif isinstance(old, list) and isinstance(new, list):
        if len(old) != len(new):
            yield Difference(path, f"{len(old)} entries", f"{len(new)} entries")
        for i, pair in enumerate(zip(old, new, strict=False)):
            yield from _differences(f"{path}[{i}]", *pair)
    elif repr(old) != repr(new):  # not by ==, for which 1 is True, 0.0 is -0.0, and NaN is not NaN
        yield Difference(path, str(old), str(new))


def _shortened(text: str) -> str:
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"
