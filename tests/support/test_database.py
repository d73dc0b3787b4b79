"""Small databases of an installation: opening one that exists writes nothing, and errors are one line."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from bypass.support.database import DatabaseUnavailable, open_database

SCHEMA = "CREATE TABLE IF NOT EXISTS things (name TEXT)"


def test_opening_what_exists_writes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "folder" / "things.db"
    with closing(open_database(path, SCHEMA)) as first, first:
        first.execute("INSERT INTO things VALUES ('a')")
    with closing(open_database(path, SCHEMA)) as watched:
        before = watched.execute("PRAGMA data_version").fetchone()
        with closing(open_database(path, SCHEMA)) as again:
            assert again.execute("SELECT name FROM things").fetchall() == [("a",)]
            assert again.total_changes == 0
        assert watched.execute("PRAGMA data_version").fetchone() == before


def test_a_schema_that_has_grown_is_made(tmp_path: Path) -> None:
    path = tmp_path / "things.db"
    open_database(path, SCHEMA).close()
    grown = f"{SCHEMA}; CREATE TABLE IF NOT EXISTS others (name TEXT)"
    with closing(open_database(path, grown)) as database:
        assert database.execute("SELECT count(*) FROM others").fetchone() == (0,)


def test_a_file_that_is_none_is_said_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "things.db").write_bytes(b"no database" * 1000)
    with pytest.raises(DatabaseUnavailable, match=r"things\.db: .*: expected a database that can be opened"):
        open_database(tmp_path / "things.db", SCHEMA)
    with pytest.raises(sqlite3.Error):
        open_database(tmp_path / "things.db", SCHEMA)
