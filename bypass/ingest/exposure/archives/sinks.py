"""Sinks of archives: the base of all, and folders of files by day."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from pathlib import Path

import msgspec
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from bypass.errors import shown
from bypass.ingest.queries.plain_rows import plain_rows
from bypass.root_error import BypassError
from bypass.support.durable_files import replacing
from bypass.support.extensions import load


class InvalidArchive(BypassError):
    """An archive that cannot be: its name, its sink, or where it was."""


class ArchiveSink(ABC):
    """Takes measurements of all tenants, in rows of the standard model."""

    @abstractmethod
    def store(self, page: str, rows: pa.Table) -> None:
        """Keep a page; it is safe when this returns. A page that comes again, under the same name, has the
        same rows, and must not be kept twice. Names come in their order. Whatever is raised, the same page
        comes again."""


class DailyFiles(ArchiveSink):
    """A folder for each day of receipt, with a file for each page: files are written whole or not at all, and
    a page that comes again replaces its own."""

    suffix: str

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def store(self, page: str, rows: pa.Table) -> None:
        for day in sorted(pc.unique(rows["day"]).to_pylist()):
            folder = self._folder / day
            folder.mkdir(parents=True, exist_ok=True)
            with replacing(folder / f"{page}{self.suffix}", synced=True) as unfinished:
                self._write(unfinished, rows.filter(pc.equal(rows["day"], day)))

    @abstractmethod
    def _write(self, path: Path, rows: pa.Table) -> None: ...


class ParquetFiles(DailyFiles):
    """Files of Parquet."""

    suffix = ".parquet"

    def _write(self, path: Path, rows: pa.Table) -> None:
        pq.write_table(rows, path, compression="zstd")


class JsonlFiles(DailyFiles):
    """Files with a measurement a line, as JSON."""

    suffix = ".jsonl"

    def _write(self, path: Path, rows: pa.Table) -> None:
        tenants = rows["tenant"].to_pylist()
        lines = (
            msgspec.json.encode({"tenant": tenant, **row}) + b"\n"
            for tenant, row in zip(tenants, plain_rows(rows), strict=True)
        )
        path.write_bytes(b"".join(lines))


_BUILT_IN: dict[str, Callable[[Path], ArchiveSink]] = {"parquet": ParquetFiles, "jsonl": JsonlFiles}


def find_sink(text: str) -> ArchiveSink:
    """The sink that a text names: parquet:FOLDER, jsonl:FOLDER, or a class without arguments, `module:Class`
    or `file.py:Class`. Raises InvalidArchive."""
    kind, _, where = text.partition(":")
    if kind in _BUILT_IN and where:
        return _BUILT_IN[kind](Path(where))
    if not where:
        raise InvalidArchive(f"archive {shown(text)}: expected parquet:FOLDER, jsonl:FOLDER or module:Class")
    try:
        found = load(text)
    except Exception as error:  # the code is somebody else's
        raise InvalidArchive(f"archive {shown(text)}: {' '.join(str(error).split())}") from None
    if not (isinstance(found, type) and issubclass(found, ArchiveSink)):
        raise InvalidArchive(f"archive {shown(text)}: is no ArchiveSink: expected a class derived from it")
    return found()
