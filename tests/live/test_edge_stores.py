"""Tombstones and worlds outlive an edge, in files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from bypass.live.edge.world_store import SqliteWorldStore
from bypass.objects.sqlite_persistence import SqlitePersistence
from bypass.protocol.edge import CreateWorld
from bypass.support.database import DatabaseUnavailable
from tests.mechanisms.storage.infra.edge_world import item
from tests.mechanisms.storage.infra.service_world import ServiceWorld


def never(_: Any) -> Any:
    raise AssertionError("an edge keeps no objects")


def test_an_edge_that_was_killed_knows_its_tombstones_and_worlds(tmp_path: Path) -> None:
    world = ServiceWorld(1)
    edge = world.edges[100]
    client = edge.add_client(1)
    gone, kept = item("gone", world="", source=100), item("kept", world="", source=100)

    def begin() -> None:
        edge.crash()
        edge.world_store = SqliteWorldStore(tmp_path / "worlds.db")
        edge.persistence = SqlitePersistence(tmp_path / "store.db", never, never)
        edge.restart()

    begin()
    client.delete(gone)
    client.send(CreateWorld(client.op(), "gallery"))
    world.run(1.0)
    known = [each.world for each in edge.service.worlds()]
    assert len(known) == 2
    edge.persistence.close()
    edge.world_store.close()  # as the end of the process does
    begin()
    assert [each.world for each in edge.service.worlds()] == known
    edge.service.caches.take_provision([gone, kept])
    assert [each.key for each in client.ask()] == [kept.metadata.key]
    edge.persistence.close()
    edge.world_store.close()


def test_a_damaged_file_of_worlds_is_named(tmp_path: Path) -> None:
    path = tmp_path / "worlds.db"
    path.write_bytes(b"no database at all" * 100)
    with pytest.raises(DatabaseUnavailable, match="expected a database that can be opened"):
        SqliteWorldStore(path)
