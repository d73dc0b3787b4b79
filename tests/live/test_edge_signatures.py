"""Keys of edges, and what a client takes of what edges say."""

from __future__ import annotations

import stat
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bypass.errors import MissingExtra
from bypass.live import InvalidArgument, InvalidKeys, Neighbours, connect
from bypass.live.adhoc.datagrams import Refusal
from bypass.live.edge.keys import EdgeKeys, KnownEdge, create_edge_keys, load_edge_keys, load_known_edge
from bypass.live.edge.signatures import EdgeSigner, EdgeVerifier
from bypass.protocol.datagrams import (
    AreaHello,
    Datagram,
    DatagramScope,
    EdgeAnswer,
    EdgeBeacon,
    NodeAddress,
    WorldMap,
)
from bypass.protocol.wire import CODEC, MalformedMessage
from tests.command import bypass, refusal

HALL, YARD = 7, 8
COMMON = WorldMap("", "", 9, 1)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("keys")
    for name in ("hall", "yard"):
        create_edge_keys(made, name)
    return made


@pytest.fixture(scope="module")
def keys(folder: Path) -> EdgeKeys:
    return load_edge_keys(folder / "hall.key")


@pytest.fixture(scope="module")
def known(folder: Path) -> dict[int, KnownEdge]:
    return {
        HALL: load_known_edge(folder / "edges/hall.pub"),
        YARD: load_known_edge(folder / "edges/yard.pub"),
    }


def said(body: EdgeAnswer | EdgeBeacon | AreaHello, edge: int = HALL) -> Datagram:
    """A datagram that says something in the domain of an edge, where decision (3, 9, 5) holds."""
    made = Datagram(edge << 32 | 77, NodeAddress(edge), (), DatagramScope.HOP, body, initiator=5)
    made.client, made.scheme, made.epoch, made.namespace = edge, 9, 3, f"@{edge}"
    return made


def travelled(datagram: Datagram) -> Datagram:
    arrived = CODEC.decode(CODEC.encode(datagram))
    assert isinstance(arrived, Datagram)
    return arrived


def believed(datagram: Datagram) -> tuple[object, ...]:
    return datagram.body, datagram.namespace, datagram.client, datagram.decision, datagram.scope


def beacon(sequence: int) -> Datagram:
    return said(EdgeBeacon(HALL, sequence, COMMON, (1, 2, 3)))


def test_signed_answers_and_beacons_are_taken(keys: EdgeKeys, known: dict[int, KnownEdge]) -> None:
    verifier, signer = EdgeVerifier(known), EdgeSigner(keys)
    for each in (said(EdgeAnswer(5, HALL, (COMMON,))), beacon(1), beacon(2)):
        assert verifier.refusal(travelled(signer.outgoing(each))) is None
    hello = said(AreaHello(""))
    assert signer.outgoing(hello) is hello
    assert verifier.refusal(hello) is None


def test_who_has_not_the_key_is_not_believed(
    folder: Path, keys: EdgeKeys, known: dict[int, KnownEdge]
) -> None:
    verifier = EdgeVerifier(known)
    assert verifier.refusal(beacon(1)) is Refusal.UNSIGNED
    other = EdgeSigner(load_edge_keys(folder / "yard.key"))
    assert verifier.refusal(travelled(other.outgoing(beacon(1)))) is Refusal.FORGED
    stranger = EdgeVerifier({YARD: known[YARD]})
    genuine = travelled(EdgeSigner(keys).outgoing(beacon(1)))
    assert stranger.refusal(genuine) is Refusal.UNSIGNED
    assert verifier.refusal(replace(genuine, client=YARD)) is Refusal.UNSIGNED


def test_beacons_are_taken_once_and_in_order_in_each_domain(
    keys: EdgeKeys, known: dict[int, KnownEdge]
) -> None:
    verifier, signer = EdgeVerifier(known), EdgeSigner(keys)
    first, second = (travelled(signer.outgoing(beacon(n))) for n in (1, 2))
    other = travelled(signer.outgoing(replace(beacon(1), namespace=f"other@{HALL}")))
    assert [verifier.refusal(each) for each in (second, first, second, other)] == [
        None, Refusal.REPLAYED, Refusal.REPLAYED, None,
    ]  # fmt: skip
    forged = said(EdgeBeacon(HALL, 9, COMMON, (), bytes(64)))
    assert verifier.refusal(forged) is Refusal.FORGED
    assert verifier.refusal(travelled(signer.outgoing(beacon(3)))) is None  # 9 was not believed


@given(place=st.integers(0, 10**6), bit=st.integers(0, 7))
def test_no_bit_can_be_changed(keys: EdgeKeys, known: dict[int, KnownEdge], place: int, bit: int) -> None:
    """But for the number of the datagram and its hops, of which nothing is believed."""
    genuine = EdgeSigner(keys).outgoing(beacon(1))
    data = bytearray(CODEC.encode(genuine))
    data[place % len(data)] ^= 1 << bit
    try:
        changed = CODEC.decode(bytes(data))
    except MalformedMessage:
        return
    if isinstance(changed, Datagram) and isinstance(changed.body, EdgeBeacon):
        taken = EdgeVerifier(known).refusal(changed) is None
        assert taken == (believed(changed) == believed(genuine))


def test_the_files_of_an_edge(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert bypass("keygen", "hall", "--edge") == 0
    assert capsys.readouterr().out.splitlines() == [
        "hall's keys, for its own machine: keys/hall.key",
        "for other edges and for clients: keys/edges/hall.pub",
    ]
    assert stat.S_IMODE(Path("keys/hall.key").stat().st_mode) == 0o600
    own, told = load_edge_keys("keys/hall.key"), Path("keys/edges/hall.pub")
    assert own.secret.decode() not in told.read_text()
    known = load_known_edge(told)
    assert (known.name, known.public, known.address) == ("hall", own.public, None)
    told.write_text(told.read_text() + "address: 192.168.1.67\n")
    assert str(load_known_edge(told).address) == "192.168.1.67"
    assert refusal(capsys, "keygen", "hall", "--edge") == (
        "keys/hall.key: exists: expected a new file: keys are not overwritten"
    )
    assert "expected the name of an edge" in refusal(capsys, "keygen", "--edge")


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("address: hall.example", "address: 'hall.example': expected an IPv4 address"),
        ("port: 1", "'port': unknown: expected name, public, verifying, address"),
    ],
)
def test_a_file_of_an_edge_that_cannot_be_used_is_named(
    folder: Path, tmp_path: Path, line: str, problem: str
) -> None:
    path = tmp_path / "hall.pub"
    path.write_text(f"{(folder / 'edges/hall.pub').read_text()}{line}\n")
    with pytest.raises(InvalidKeys) as caught:
        load_known_edge(path)
    assert str(caught.value) == f"{path}: {problem}"


def test_edges_are_checked_before_anything_is_opened(folder: Path) -> None:
    near, hall = Neighbours(b"a group of sixteen", ("127.0.0.1/8",)), folder / "edges/hall.pub"
    for edges, problem in [
        (hall, "expected a list of .pub files"),
        ([hall, hall], "edges: 'hall' is there twice: expected each once"),
    ]:
        with pytest.raises(InvalidArgument, match=problem):
            connect(None, name="x", neighbours=near, edges=edges)  # type: ignore[arg-type]
    with pytest.raises(InvalidKeys, match="expected a key file"):
        connect(None, name="x", neighbours=near, edges=[folder / "none.pub"])
    with pytest.raises(InvalidArgument, match="expected neighbours, too"):
        connect("tcp://127.0.0.1:1", open=True, name="x", edges=[hall])


def test_a_missing_extra_is_named(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cryptography.hazmat.primitives.asymmetric", None)
    with pytest.raises(MissingExtra, match=r"cryptography is not installed: needs the extra edge"):
        load_known_edge(folder / "edges/hall.pub")
