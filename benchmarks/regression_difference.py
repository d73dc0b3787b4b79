"""Where the results in two folders differ: exactly, value by value and row by row, whatever the bytes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow.parquet as pq

PASSING = {"wall_s", "version", "provenance"}
"""Keys whose values are of the machine, the moment or the release."""
ABSENT = "absent"
LONGEST = 60


class Difference(NamedTuple):
    """The first place where two results differ, and what is there in both."""

    path: str
    old: str
    new: str

    def __str__(self) -> str:
        return f"{self.path}: {_shortened(self.old)} before, {_shortened(self.new)} now"


def results(folder: Path) -> dict[str, Path]:
    """The files that have results: figures, tables, records of transitions, by their paths there."""
    names = ("summary.json", "*.jsonl", "*.parquet")
    found = sorted(path for name in names for path in folder.rglob(name))
    return {path.relative_to(folder).as_posix(): path for path in found}


def rows(folder: Path) -> int:
    """How many rows the tables in a folder have."""
    paths = results(folder).values()
    return sum(pq.read_metadata(path).num_rows for path in paths if path.suffix == ".parquet")


def first_difference(old: Path, new: Path) -> Difference | None:
    """Compare all results in two folders; None if they are the same."""
    before, after = results(old), results(new)
    for name in sorted(before.keys() | after.keys()):
        if name not in before or name not in after:
            return Difference(name, *("there" if name in files else ABSENT for files in (before, after)))
        if (found := _first(name, _read(before[name]), _read(after[name]))) is not None:
            return found
    return None


def _read(path: Path) -> Any:
    if path.suffix == ".parquet":
        table = pq.ParquetFile(path).read()  # the file alone: names of folders would become columns
        types = {field.name: str(field.type) for field in table.schema}
        return {"columns": types, "rows": table.to_pylist()}
    text = path.read_text(encoding="utf-8")
    return json.loads(text) if path.suffix == ".json" else [json.loads(line) for line in text.splitlines()]


def _first(path: str, old: Any, new: Any) -> Difference | None:
    if isinstance(old, dict) and isinstance(new, dict):
        keys = [key for key in {**old, **new} if key not in PASSING]
        parts = {f"{path}, {key}": (old.get(key, ABSENT), new.get(key, ABSENT)) for key in keys}
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        parts = {f"{path}[{i}]": pair for i, pair in enumerate(zip(old, new, strict=True))}
    elif isinstance(old, list) and isinstance(new, list):
        return Difference(path, f"{len(old)} entries", f"{len(new)} entries")
    else:  # not by ==, for which 1 is True, 0.0 is -0.0, and NaN is not NaN
        return None if repr(old) == repr(new) else Difference(path, str(old), str(new))
    found = (_first(each, *pair) for each, pair in parts.items())
    return next((each for each in found if each is not None), None)


def _shortened(text: str) -> str:
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"
