"""The key files of edges: a pair for the wires between edges (CURVE), and one by which clients know what an
edge says (Ed25519). `hall.key` (name, public, secret, signing) is the edge's own, `hall.pub` (name, public,
verifying and, if it is not found by multicast, address) is for other edges and for clients. All keys are in
Z85."""

from __future__ import annotations

from dataclasses import dataclass, field
from ipaddress import AddressValueError, IPv4Address
from pathlib import Path
from typing import TYPE_CHECKING, Any

import zmq
from zmq.utils import z85

from bypass.errors import MissingExtra, shown
from bypass.live.keys import (
    InvalidKeys,
    check_fields,
    check_free,
    check_name,
    curve_pair,
    key_bytes,
    read_key_file,
    write_new_key_file,
)

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

EDGES_FOLDER = "edges"


@dataclass(frozen=True, slots=True)
class EdgeKeys:
    """An edge's name, its pair for other edges in Z85, and the key by which it signs."""

    name: str
    public: bytes
    secret: bytes = field(repr=False)
    signing: Ed25519PrivateKey = field(repr=False)


@dataclass(frozen=True, slots=True)
class KnownEdge:
    """An edge as others know it: its name, its public keys, and the host where it is asked for, beside the
    multicast group; None if that is enough."""

    name: str
    public: bytes
    verifying: Ed25519PublicKey
    address: IPv4Address | None = None


def create_edge_keys(folder: str | Path, name: str) -> tuple[Path, Path]:
    """Make the keys of an edge in a folder; gives its own file, and the one for others.

    Raises InvalidKeys if the name is no name or taken, MissingExtra, OSError if the folder cannot be written
    to.
    """
    folder = Path(folder)
    check_name("edge", name)
    check_free("edge", name)
    (folder / EDGES_FOLDER).mkdir(mode=0o700, parents=True, exist_ok=True)
    public, secret = (key.decode() for key in zmq.curve_keypair())
    signing = _ed25519().Ed25519PrivateKey.generate()
    verifying = z85.encode(signing.public_key().public_bytes_raw()).decode()
    own, told = folder / f"{name}.key", folder / EDGES_FOLDER / f"{name}.pub"
    own_data = {"name": name, "public": public, "secret": secret}
    write_new_key_file(own, own_data | {"signing": z85.encode(signing.private_bytes_raw()).decode()}, 0o600)
    try:
        write_new_key_file(told, {"name": name, "public": public, "verifying": verifying}, 0o644)
    except BaseException:
        own.unlink()  # nobody would ever believe it
        raise
    return own, told


def load_edge_keys(path: str | Path) -> EdgeKeys:
    """Give the keys in an edge's own file. Raises InvalidKeys, also if others may read the file, and
    MissingExtra."""
    path = Path(path)
    data = read_key_file(path, private=True)
    check_fields(path, data, ("name", "public", "secret", "signing"))
    public, secret = curve_pair(path, data)
    signing = _ed25519().Ed25519PrivateKey.from_private_bytes(key_bytes(path, data, "signing"))
    return EdgeKeys(check_name(f"{path}: name", data["name"]), public, secret, signing)


def load_known_edge(path: str | Path) -> KnownEdge:
    """Give the keys in an edge's file for others. Raises InvalidKeys and MissingExtra."""
    try:
        path = Path(path)
    except TypeError:
        raise InvalidKeys(f"edge {shown(path)}: expected the path of an edge's .pub file") from None
    data = read_key_file(path, private=False)
    check_fields(path, data, ("name", "public", "verifying"), "address")
    name = check_name(f"{path}: name", data["name"])
    public = z85.encode(key_bytes(path, data, "public"))
    try:
        verifying = _ed25519().Ed25519PublicKey.from_public_bytes(key_bytes(path, data, "verifying"))
    except ValueError:
        raise InvalidKeys(f"{path}: verifying: {shown(data['verifying'])}: expected a public key") from None
    return KnownEdge(name, public, verifying, _address(path, data.get("address")))


def _address(path: Path, text: Any) -> IPv4Address | None:
    try:
        return None if text is None else IPv4Address(text)
    except AddressValueError:
        raise InvalidKeys(f"{path}: address: {shown(text)}: expected an IPv4 address") from None


def _ed25519() -> Any:
    try:
        from cryptography.hazmat.primitives.asymmetric import ed25519
    except ImportError:
        raise MissingExtra("cryptography", "edge") from None
    return ed25519
