"""Objects at brokers that are killed, and on disks that are full: nothing acknowledged is lost, each match
comes once, and all goes on."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from bypass import connect
from bypass.errors import QuotaExceeded
from bypass.live.client.connection import Connection
from bypass.live.operator import Operator, OperatorFailed
from tests.command import refusal
from tests.live.crash_faults import mounted_disk, no_room
from tests.live.crash_operations import STARTING
from tests.live.crash_processes import ROOT, Child

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

CONFIG = """
listen: ipc://{folder}/broker.sock
open: true
store: {store}
sync: normal
limits: {{client_rate: 0, client_byte_rate: 0}}
"""


@contextmanager
def broker(folder: Path, store: Path | None = None) -> Iterator[Child]:
    """A broker in a process of its own."""
    config = folder / "broker.yaml"
    config.write_text(CONFIG.format(folder=folder, store=store or folder / "bypass.db"))
    command = [sys.executable, "-c", "from bypass.cli import main; main()", "broker", "--config", str(config)]
    child = Child("broker", "broker", folder, lambda _: command)
    child.start()
    try:
        yield child
    finally:
        child.end()


def client(folder: Path, name: str) -> Connection:
    return connect(f"ipc://{folder}/broker.sock", open=True, name=name, patience=60.0)


def test_no_acknowledged_object_is_lost_and_each_match_comes_once(tmp_path: Path) -> None:
    """The last hour in pages, then what comes, while the broker is killed again and again, and clients go
    from one filter scheme to another."""

    async def publish(me: Connection, prefix: str, count: int, acknowledged: list[str]) -> None:
        for number in range(count):
            name = f"{prefix}-{number:04}"
            await me.insert(name.encode(), {"photo", prefix}, name=name)
            acknowledged.append(name)

    def transition(to: str) -> None:
        plan = {"plan": f"to {to}", "actions": [{"proxy": "filter", "to": to}]}
        while True:
            try:
                with Operator(f"ipc://{tmp_path}/broker.sock", None) as operator:
                    operator.ask("execute", plan=plan)
            except OperatorFailed as failure:
                if not any(word in str(failure) for word in STARTING):
                    raise
            else:
                return

    async def disturb(child: Child) -> None:
        for scheme in ("ste", "radial", "grid"):
            await asyncio.to_thread(transition, scheme)
            await asyncio.sleep(0.5)  # somewhere in the middle
            child.kill()
            child.start()

    async def run(child: Child) -> None:
        async with client(tmp_path, "one") as one, client(tmp_path, "two") as two:
            acknowledged: list[str] = []
            await publish(one, "past", 300, acknowledged)
            heard: Counter[str] = Counter()
            async with two.query("photo", since="-1h") as found, asyncio.timeout(120):

                async def listen() -> None:
                    async for match in found:
                        heard[match.key.name] += 1
                        if match.key.name == "last-0000":
                            return

                listening = asyncio.create_task(listen())
                disturbing = asyncio.create_task(disturb(child))
                number = 0
                while not disturbing.done():
                    await publish(one, f"live{number}", 20, acknowledged)
                    number += 1
                await disturbing
                await publish(one, "last", 1, acknowledged)
                await listening
                while found.more_past:
                    heard[(await anext(found)).key.name] += 1
            assert {*acknowledged} <= heard.keys()
            assert {*heard.values()} == {1}
            assert one.mechanisms["filter"] == two.mechanisms["filter"] == "grid"
            async with two.query("photo", until="now") as again:
                stored = [match.key.name async for match in again]
            assert len({*stored}) == len(stored)
            assert {*acknowledged} <= {*stored}

    with broker(tmp_path) as child:
        asyncio.run(run(child))


def test_a_large_object_survives_a_kill_on_its_way(tmp_path: Path) -> None:
    data = bytes(range(256)) * 32_768  # 8 MiB

    async def run(child: Child) -> None:
        async with client(tmp_path, "one") as one:
            inserting = asyncio.create_task(one.insert(data, {"large"}, name="large"))
            await asyncio.sleep(0.05)  # somewhere in the middle
            child.kill()
            child.start()
            async with asyncio.timeout(120):
                key = await inserting
                assert await one.retrieve(key) == data

    with broker(tmp_path) as child:
        asyncio.run(run(child))


def test_a_full_disk_refuses_and_keeps_what_was_acknowledged(tmp_path: Path) -> None:
    async def fill(me: Connection) -> None:
        for _ in range(2000):
            await me.insert(bytes(20_000), {"t"})

    async def run(disk: Path) -> None:
        async with client(tmp_path, "one") as one:
            await one.insert(bytes(20_000), {"t"}, name="before")
            with no_room(disk):
                with pytest.raises(QuotaExceeded, match="no room to write"):
                    await fill(one)
                async with one.query("t", until="now") as found:
                    names = [match.key.name async for match in found]
            assert "before" in names
            async with asyncio.timeout(60):
                await one.insert(bytes(20_000), {"t"}, name="after")

    with mounted_disk(tmp_path / "disk", "64m") as disk:
        if disk is None:
            pytest.skip("needs the right to mount a file system")
        with broker(tmp_path, disk / "bypass.db"):
            asyncio.run(run(disk))


def test_the_command_line(tmp_path: Path) -> None:
    photo = tmp_path / "photo.txt"
    photo.write_bytes(b"pixels")

    def bypass(*args: str) -> subprocess.CompletedProcess[bytes]:
        where = ("--open", "--broker", f"ipc://{tmp_path}/broker.sock")
        command = [sys.executable, "-c", "from bypass.cli import main; main()", "objects", *args, *where]
        return subprocess.run(command, capture_output=True, cwd=ROOT, check=False)

    async def serving() -> None:
        async with client(tmp_path, "first"):
            pass

    with broker(tmp_path):
        asyncio.run(serving())
        inserted = bypass("insert", str(photo), "--tag", "beach", "--summary", "evening")
        assert inserted.stderr == b""
        key = inserted.stdout.decode().strip()
        assert key.endswith("/photo.txt")
        found = bypass("query", "beach & ~rain", "--since", "-1h").stdout.decode()
        assert found.endswith(f"{key}  6 bytes  [beach]  evening\n")
        assert b'"tags": ["beach"]' in bypass("query", "beach", "--json").stdout
        assert bypass("retrieve", key).stdout == b"pixels"
        wrong = bypass("query", "beach &")
        assert wrong.returncode == 2
        assert b"column 8: beach &^" in wrong.stderr
        assert bypass("delete", key).returncode == 0
        gone = bypass("delete", key.replace("photo", "other"))
        assert b"expected one that is here" in gone.stderr
        assert bypass("query", "beach").stdout == b""
        described = ("--place", "1", "2", "--attribute", "level=4", "--attribute", "kind=a sign")
        inserted = bypass("insert", str(photo), "--tag", "beach", "--name", "sign", *described)
        assert inserted.returncode == 0, inserted.stderr
        for condition, count in (
            ("level > 3", 1),
            ("level>4", 0),
            ("kind prefix a", 1),
            ("level in [4, 5]", 1),
        ):
            found = bypass("query", "beach", "--where", condition).stdout.decode()
            assert found.count("sign") == count, condition
        both = bypass(
            "query", "beach", "--where", "level=4", "--where", "kind != a sign", "--near", "0", "0", "9"
        )
        assert (both.stdout, both.stderr) == (b"", b"")
        bad = bypass("delete", "photo")
        assert b"expected OWNER/NAME" in bad.stderr


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (("query", "a", "--where", "level"), "--where 'level': expected a condition, such as 'level > 3'"),
        (("query", "a", "--where", "level > [1]"), "> "),
        (("query", "a", "--where", "level > ["), "--where 'level=[' is not YAML"),
        (
            ("insert", __file__, "--tag", "a", "--attribute", "level"),
            "--attribute 'level': expected KEY=VALUE",
        ),
        (("insert", __file__, "--tag", "a", "--attribute", "level="), "level"),
    ],
)
def test_attributes_that_cannot_be_are_refused_before_anything_is_sent(
    arguments: tuple[str, ...], why: str, capsys: pytest.CaptureFixture[str]
) -> None:
    line = refusal(capsys, "objects", *arguments, "--open", "--broker", "ipc://nobody.sock")
    assert why in line
