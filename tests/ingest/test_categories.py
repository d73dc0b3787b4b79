"""Categories of devices, and the nodes that are responsible for them."""

from __future__ import annotations

import random
import uuid
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bypass.ingest.categories import Node, assign, category_of, java_hash, partition_of, topic_of
from bypass.ingest.connectors.filters import ApplicationFilters
from bypass.ingest.log.segments import LogPosition, find_end, read
from bypass.testing.worlds.reception import reception

KNOWN = {
    "device1": (99, "63"),
    "device2": (100, "64"),
    "device3": (101, "65"),
    "sensor-001": (111, "6f"),
    "550e8400-e29b-41d4-a716-446655440000": (158, "9e"),
    "": (0, "00"),
}


@pytest.mark.parametrize("device", KNOWN)
def test_known_devices_have_their_known_categories(device: str) -> None:
    assert (partition_of(device), category_of(device)) == KNOWN[device]


def test_the_hash_is_that_of_java() -> None:
    assert java_hash("device1") == 0x5CF8AC9B == 1559800987
    assert partition_of("device1", 16) == 3
    assert java_hash("😀") == 0xD83D * 31 + 0xDE00  # two units


@given(st.text(st.characters(exclude_categories=["Cs"])), st.integers(1, 5000))
def test_a_category_is_a_number_of_fixed_width(device: str, categories: int) -> None:
    value = 0
    data = device.encode("utf-16-be")
    for at in range(0, len(data), 2):
        value = (31 * value + int.from_bytes(data[at : at + 2], "big")) & 0xFFFFFFFF
    assert java_hash(device) == value
    assert 0 <= partition_of(device, categories) < categories
    text = category_of(device, categories)
    assert int(text, 16) == partition_of(device, categories)
    assert len(text) == len(f"{categories - 1:x}")
    assert text == text.lower()
    assert topic_of("app", device, categories) == f"app/{text}/{device}"


def test_random_ids_spread_evenly() -> None:
    raw = np.random.default_rng(1).integers(0, 16, (1 << 20, 32), dtype=np.uint8)
    digits = np.frombuffer(b"0123456789abcdef", np.uint8)[raw]
    columns = np.split(digits, (8, 12, 16, 20), axis=1)
    hyphens = np.full((1 << 20, 1), ord("-"), np.uint8)
    ids = np.hstack([part for column in columns for part in (column, hyphens)][:-1])
    value = np.zeros(1 << 20, np.uint32)
    for unit in range(36):
        value = value * np.uint32(31) + ids[:, unit]
    for row in range(100):  # the fast way is the same as ours
        text = ids[row].tobytes().decode()
        assert str(uuid.UUID(text)) == text
        assert java_hash(text) == value[row]
    counts = np.bincount((value ^ value >> np.uint32(16)) & np.uint32(255), minlength=256)
    assert counts.min() > 0
    assert counts.std() / counts.mean() < 0.02


def nodes_of(*hosts: int) -> list[Node]:
    return [Node(f"node{number}", f"host{host}") for number, host in enumerate(hosts)]


hosts = st.lists(st.integers(0, 4), min_size=1, max_size=8)


@given(hosts, st.integers(0, 3))
def test_categories_move_only_to_who_joins_and_from_who_leaves(hosts: list[int], backups: int) -> None:
    before = nodes_of(*hosts)
    after = [*before, Node("newcomer", "host9")]
    old, new = assign(64, before, backups), assign(64, after[::-1], backups)
    assert len(old) == len(new) == 64
    for was, now in zip(old, new, strict=True):
        assert now.primary in (was.primary, after[-1])
        for owners, nodes in ((was, before), (now, after)):
            everybody = [owners.primary, *owners.backups]
            assert len(set(everybody)) == len(everybody) == min(len(nodes), backups + 1)
            enough = len({node.host for node in nodes})
            assert len({node.host for node in everybody}) == min(enough, len(everybody))


def test_a_new_node_takes_its_share() -> None:
    """Over 1,000 sets of 2 to 9 nodes, the latest has one n-th of the categories on average."""
    shares = []
    for number in range(1000):
        nodes = [Node(f"{number}-{each}", f"host{each}") for each in range(2 + number % 8)]
        mine = Counter(owners.primary for owners in assign(256, nodes))[nodes[-1]]
        shares.append(mine / 256 * len(nodes))
    assert np.mean(shares) == pytest.approx(1, rel=0.01)


@given(st.lists(st.integers(0, 7), min_size=1, max_size=8))
def test_after_every_join_and_leave_each_category_has_one_node_and_no_other_moves(names: list[int]) -> None:
    """A name that is there leaves, one that is not joins."""
    present, before = {Node("first", "h")}, dict.fromkeys(range(64), "first")
    for number in names:
        changed = Node(f"node{number}", f"host{number}")
        present ^= {changed}
        owned = [
            (category, node.name)
            for node in present
            for category, owners in enumerate(assign(64, present))
            if owners.primary == node
        ]
        after = dict(owned)
        assert len(owned) == len(after) == 64  # all of them, and none twice
        for category in range(64):
            if after[category] != before[category]:
                assert changed.name in (after[category], before[category])
        before = after


@given(st.lists(st.integers(0, 3), min_size=1, max_size=8), st.integers(1, 4))
def test_backups_never_share_a_host_while_there_are_enough_hosts(hosts: list[int], backups: int) -> None:
    for owners in assign(32, nodes_of(*hosts), min(backups, len(set(hosts)) - 1)):
        everybody = [owners.primary.host, *(node.host for node in owners.backups)]
        assert len(everybody) == min(backups + 1, len(set(hosts)))
        assert len(set(everybody)) == len(everybody)


def test_a_device_has_the_same_category_in_its_topic_in_the_log_and_in_the_stream(tmp_path: Path) -> None:
    draw = random.Random(11)
    devices = [
        "".join(draw.choices("abc/é😀-0123456789", k=draw.randrange(1, 30))).strip("/") or "x"
        for _ in range(300)
    ]
    filters = ApplicationFilters("App")
    with reception(tmp_path) as at:
        for device in devices:
            topic = topic_of("App", device)
            assert filters.device(topic) == device
            assert topic.startswith(filters.of(partition_of(device)).removesuffix("#"))
            at.intake.submit(device, b"").result(20)
    path = tmp_path / "log" / "1"
    end = find_end(path, LogPosition(), 1 << 60, 1 << 60)
    rows = [row for block in read(path, LogPosition(), end) for row in block.to_pylist()]
    assert [row["device"] for row in rows] == devices
    for row in rows:  # the stream divides by this column, and plans by the id
        assert row["category"] == partition_of(row["device"]) == int(category_of(row["device"]), 16)


def test_nodes_that_cannot_be_told_apart_are_refused() -> None:
    with pytest.raises(ValueError, match="nodes is empty: expected at least one"):
        assign(4, [])
    with pytest.raises(ValueError, match="expected names that differ"):
        assign(4, [Node("a", "x"), Node("a", "y")])
