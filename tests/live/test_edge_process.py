"""`bypass edge` as a process: how it begins, how it ends, and what outlives it."""

from __future__ import annotations

import asyncio
import shutil
import signal
import subprocess
import sys
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from bypass.live.edge.config_file import load_edge_config
from bypass.live.edge.keys import create_edge_keys
from bypass.live.edge.process import TOMBSTONES_FILE, LiveEdge
from bypass.live.edge.world_store import SqliteWorldStore
from bypass.mechanisms.storage.infra.edge.service import InfraService
from bypass.objects.sqlite_persistence import SqlitePersistence
from bypass.places.logical_cells import cell_of_node
from bypass.transitions import Action, Plan
from bypass.transitions.yaml_text import dump_yaml
from tests.command import COMMAND, bypass, refusal
from tests.live.edge_site import LIMIT, EdgeSite, edge_of, until

pytestmark = pytest.mark.slow

BYPASS = "from bypass.cli import main; main()"


def written(site: EdgeSite, folder: Path, name: str, **changes: Any) -> Path:
    """The configuration of an edge as a file."""
    settings = site.config(name).model_dump(mode="json", exclude_unset=True) | changes
    path = folder / f"{name}.yaml"
    path.write_text(dump_yaml(settings))
    return path


async def started(path: Path) -> tuple[asyncio.subprocess.Process, str]:
    """The process of an edge, and its first line."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", BYPASS, "edge", "--config", str(path),
        stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
    )  # fmt: skip
    assert process.stdout is not None
    return process, (await process.stdout.readline()).decode()


def test_what_was_acknowledged_outlives_a_killed_edge(tmp_path: Path) -> None:
    async def scenario() -> None:
        site = EdgeSite(tmp_path, "hall")
        path = written(site, tmp_path, "hall")
        number = site.neighbours(0, 0).number_of("hall")
        process, line = await started(path)
        assert line.startswith(f"bypass edge hall, number {number}, serves clients at 127.0.1.1/8 port ")
        me = await site.client(0, 1).open()
        await until(lambda: edge_of(me) == number)
        for n in range(3):
            key = await me.insert(b"x", {"a"}, name=f"x{n}")
            await me.delete(key)
        await me.close()
        process.send_signal(signal.SIGKILL)
        await process.wait()
        kept = SqlitePersistence(tmp_path / "hall" / TOMBSTONES_FILE, _never, _never)
        assert [each.key.name for each in kept.load()[1]] == ["x0", "x1", "x2"]
        kept.close()

        process, line = await started(path)
        assert line
        process.send_signal(signal.SIGTERM)
        assert await process.wait() == 0

    async def limited() -> None:
        async with asyncio.timeout(LIMIT):
            await scenario()

    asyncio.run(limited())


def test_a_damaged_store_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    site = EdgeSite(tmp_path, "hall")
    (tmp_path / "hall").mkdir()
    SqliteWorldStore(tmp_path / "hall" / "worlds.db").close()
    (tmp_path / "hall" / "worlds.db").write_bytes(b"no database" * 1000)
    problem = refusal(capsys, "edge", "--config", str(written(site, tmp_path, "hall")))
    assert problem.startswith(f"{tmp_path / 'hall' / 'worlds.db'}: ")


def test_commands_store_and_find_by_an_edge(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    site = EdgeSite(tmp_path, "hall")
    # Commands ask in the usual group: the edge is named by its address instead.
    known = site.known("hall")
    known.write_text(f"{known.read_text()}address: 127.0.1.1\n")
    port = site.config("hall").client_port

    def options(address: str, name: str) -> list[str]:
        return [
            "--neighbours", f"{address}/8", "--port", str(port), "--storage", "infra", "--at", "50", "50",
            "--edges", str(known), "--node", name, "--store", f"{name}.db",
        ]  # fmt: skip

    def said(*arguments: str) -> str:
        capsys.readouterr()
        assert bypass("objects", *arguments) == 0
        return capsys.readouterr().out.strip()

    (tmp_path / "note").write_text("hello")
    edge = [*COMMAND, "edge", "--config", str(written(site, tmp_path, "hall"))]
    serve = [*COMMAND, "objects", "serve", *options("127.0.1.11", "client-1")]
    with (
        subprocess.Popen(edge, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as hall,
        subprocess.Popen(serve, stderr=subprocess.PIPE, text=True) as served,
    ):
        try:
            assert hall.stdout is not None
            assert served.stderr is not None
            assert "serves clients" in hall.stdout.readline()
            assert "serves" in served.stderr.readline()
            asyncio.run(_until_member(site, "client-1"))
            # The object stays with those in the cell of who has inserted it.
            near = site.neighbours(0, 0)
            cell = cell_of_node(near.number_of("client-1"), 9)
            names = (f"me-{n}" for n in count())
            name = next(each for each in names if cell_of_node(near.number_of(each), 9) == cell)
            me, other = options("127.0.1.12", name), options("127.0.1.13", "client-3")
            key = said("insert", "note", "--tag", "a", *me)
            assert said("query", "a", *other).split()[2:5] == [key, "5", "bytes"]
            said("retrieve", key, "--query", "a", "--out", "copy", *other)
            assert (tmp_path / "copy").read_text() == "hello"
            said("delete", key, *me)
            assert said("query", "a", *other) == ""
        finally:
            hall.kill()
            served.kill()


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"beacon_s": 0}, "hall.yaml: beacon_s is 0: "),
        ({"keys": "none.key"}, "none.key: No such file or directory: expected a key file"),
        ({"edges": [{"host": "10.0.0.1", "port": 1}]}, "edges.0.key is missing: expected the .pub file of"),
        ({"edges": [{"host": "10.0.0.1", "port": 1, "key": "keys/edges/hall.pub"}]}, "that of another edge"),
        (
            {"edges": [{"host": f"10.0.0.{n}", "port": 1, "key": "keys/edges/yard.pub"} for n in (1, 2)]},
            "keys/edges/yard.pub: expected that of another edge than edges.0",
        ),
        ({"host": "203.0.113.9"}, "203.0.113.9 port "),
        ({"interfaces": ["hall"]}, "interface 'hall': expected an IPv4 address with the length of its"),
        ({"eviction": "none"}, "none"),
    ],
)
def test_what_cannot_be_right_is_said_in_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], changes: dict[str, Any], problem: str
) -> None:
    site = EdgeSite(tmp_path, "hall")
    create_edge_keys(site.keys, "yard")
    assert problem in refusal(capsys, "edge", "--config", str(written(site, tmp_path, "hall", **changes)))


async def _until_member(site: EdgeSite, name: str) -> None:
    """Wait until somebody else is in the area, too."""
    number = site.neighbours(0, 0).number_of(name)
    async with site.client(0, 5) as me:
        routing = me._exchange.usable().node.routing
        await until(lambda: number in [each.node for each in routing.neighbours()])


def _never(_: Any) -> Any:
    raise AssertionError("an edge keeps no objects")


def test_an_edge_runs_a_mechanism_that_its_configuration_names(tmp_path: Path) -> None:
    site = EdgeSite(tmp_path, "hall")
    shutil.copy(Path(__file__).parents[2] / "examples" / "second_chance.py", tmp_path)
    own = {"mechanisms": "second_chance.py:SecondChance", "eviction": "second-chance"}
    path = written(site, tmp_path, "hall", **own)

    async def run() -> None:
        async with LiveEdge(load_edge_config(path)) as edge:
            service = edge.node.service
            assert isinstance(service, InfraService)
            to_lru = Plan(plan="to lru", actions=(Action(proxy="cache", to="lru"),))
            assert {each.source for each in service.execute(to_lru)} == {"second-chance"}

    asyncio.run(run())
