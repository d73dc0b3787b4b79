"""The peer of `ingest.py`: plain Python consumers of the same log into a partitioned table of PostgreSQL."""

from __future__ import annotations

import json
import os
import pwd
import shutil
import subprocess
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from importlib.util import find_spec
from multiprocessing import get_context
from pathlib import Path
from typing import Any, NamedTuple

from ingest_service import cpu_of

from bypass.ingest.log.segments import LogPosition, find_end, read

PARTS = 16
UNBOUNDED = 1 << 60
TABLE = """
CREATE TABLE measurements (
    device text NOT NULL, metric text NOT NULL, type text NOT NULL, uom text, time bigint NOT NULL,
    long bigint, double double precision, label text, received bigint NOT NULL, sequence bigint NOT NULL
) PARTITION BY HASH (device);
CREATE TABLE positions (consumer int PRIMARY KEY, sequence bigint NOT NULL);
"""
INTO = "device, metric, type, uom, time, long, double, label, received, sequence"
COLUMN = {"Long": 0, "Double": 1, "String": 2}


class PeerRate(NamedTuple):
    """Messages a second, and processor time of consumers and database for one (µs)."""

    rate: float
    cpu_us: float


def program(name: str) -> str | None:
    """The place of a program of PostgreSQL's, which Debian keeps out of the path."""
    places = sorted(map(str, Path("/usr/lib/postgresql").glob("*/bin")), reverse=True)
    return shutil.which(name) or next(
        filter(None, (shutil.which(name, path=place) for place in places)), None
    )


def available() -> bool:
    """Whether the database and its driver are installed."""
    return program("initdb") is not None and find_spec("psycopg") is not None


@contextmanager
def database(folder: Path) -> Iterator[tuple[str, int]]:
    """A database of its own with the table, on a socket in its folder; gives how to connect, and the number
    of its process. It keeps what it has committed, as it does by default."""
    folder.mkdir()
    user: dict[str, Any] = {}
    if os.geteuid() == 0:  # it refuses to run as root
        other = pwd.getpwnam("nobody")
        os.chown(folder, other.pw_uid, other.pw_gid)
        user = {"user": other.pw_uid, "group": other.pw_gid, "extra_groups": []}
    data = folder / "data"
    subprocess.run(
        [str(program("initdb")), "-D", str(data), "-U", "bench", "-A", "trust", "--locale=C", "-E", "UTF8"],
        check=True, stdout=subprocess.DEVNULL, cwd=folder, **user,
    )  # fmt: skip
    settings = {"unix_socket_directories": folder, "listen_addresses": "", "max_wal_size": "4GB"}
    command = [str(program("postgres")), "-D", str(data)]
    for name, value in settings.items():
        command += ["-c", f"{name}={value}"]
    with (folder / "log").open("wb") as log:
        server = subprocess.Popen(command, stdout=log, stderr=log, cwd=folder, **user)
    try:
        where = f"host={folder} user=bench dbname=postgres"
        _prepare(where, server)
        yield where, server.pid
    finally:
        server.terminate()
        server.wait(60)


def _prepare(where: str, server: subprocess.Popen[bytes]) -> None:
    import psycopg

    end = time.monotonic() + 60
    while True:
        try:
            connection = psycopg.connect(where)
            break
        except psycopg.OperationalError:
            if time.monotonic() > end or server.poll() is not None:
                raise
            time.sleep(0.1)
    with connection:
        connection.execute(TABLE)
        for number in range(PARTS):
            connection.execute(
                f"CREATE TABLE part{number} PARTITION OF measurements "
                f"FOR VALUES WITH (MODULUS {PARTS}, REMAINDER {number})"
            )
    connection.close()


def consume(where: str, log: Path, first: int, number: int, consumers: int) -> tuple[int, float]:
    """Read every `consumers`th block of a log, from sequence `first` on; each is a transaction, with its
    position. Gives how many messages there were, and the processor time they took here."""
    import psycopg

    count, began = 0, time.process_time()
    end = find_end(log, LogPosition(), UNBOUNDED, UNBOUNDED)
    with psycopg.connect(where) as connection:
        for index, block in enumerate(read(log, LogPosition(), end)):
            if index % consumers != number or block.column("sequence")[0].as_py() < first:
                continue
            rows = [row for record in block.to_pylist() for row in _rows(record)]
            with connection.cursor() as cursor:
                with cursor.copy(f"COPY measurements ({INTO}) FROM STDIN") as copy:
                    for row in rows:
                        copy.write_row(row)
                cursor.execute(
                    "INSERT INTO positions VALUES (%s, %s) ON CONFLICT (consumer) DO UPDATE SET sequence = "
                    "excluded.sequence",
                    (number, block.column("sequence")[-1].as_py()),
                )
            connection.commit()
            count += block.num_rows
    return count, time.process_time() - began


def _rows(record: dict[str, Any]) -> Iterator[Sequence[Any]]:
    message = json.loads(record["payload"])
    if message["id"] != record["device"]:
        raise ValueError(f"{message['id']}: expected {record['device']}")
    for each in message["telemetries"]:
        values: list[Any] = [None, None, None]
        values[COLUMN[each["type"]]] = each["value"]
        what = message["id"], each["metric"], each["type"], each.get("uom")
        yield (*what, message["timestamp"], *values, record["received"], record["sequence"])


def measure(where: str, server: int, log: Path, first: int, consumers: int) -> PeerRate:
    """Have so many processes consume a log from a sequence on, side by side."""
    before = cpu_of(server)
    with ProcessPoolExecutor(consumers, mp_context=get_context("spawn")) as pool:
        list(pool.map(abs, range(consumers)))  # they run
        began = time.monotonic()
        work = [pool.submit(consume, where, log, first, number, consumers) for number in range(consumers)]
        done = [each.result() for each in work]
        seconds = time.monotonic() - began
    count = sum(messages for messages, _ in done)
    cpu = sum(taken for _, taken in done) + cpu_of(server) - before
    return PeerRate(count / seconds, cpu / count * 1e6)
