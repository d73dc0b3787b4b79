"""The chain of stages of devices that are configured alike: integrity, peer, decipher, decompress, parse.

A chain is compiled once for a configuration, and is pure: bytes in, measurements out, no clock and no files.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, Protocol

from bypass.errors import BypassError, shown
from bypass.ingest.compression import decompress_gzip, decompress_zstd
from bypass.ingest.devices.record import DeviceRecord
from bypass.ingest.parsers.parser import make_parser
from bypass.ingest.rejection import Rejected, Stage
from bypass.ingest.security.key_set import KeySet
from bypass.ingest.security.peer import Jwt, PeerCheck, Signature, check_operation
from bypass.ingest.security.standard import find_standard
from bypass.ingest.security.suite import check_keys, find_suite
from bypass.ports.measurements import Measurement

SEQUENCE_LENGTH = 8
UNUSABLE = "unusable configuration"
"""The reason of messages whose device is configured so that none of them can be read."""


class Keys(Protocol):
    """Finds key sets by name: see `KeyStore`."""

    def find(self, name: str) -> Sequence[KeySet]:
        """Give the key sets that are valid now, the newest first. Raises BypassError if there are none."""


class Decoded(NamedTuple):
    """A message that has passed all stages; `sequence` is None if the device's messages have none."""

    sequence: int | None
    measurements: list[Measurement]


Open = Callable[[bytes, int], tuple[int | None, bytes]]


class StageChain:
    """Decodes the messages of one device, and if it `is_shared` of all that are configured as it is. It may
    be called from one thread at a time."""

    __slots__ = ("_decompress", "_largest", "_open", "_parse", "_prefix", "_received_counts", "device")

    def __init__(self, device: DeviceRecord, keys: Keys) -> None:
        """Compile a configuration. Raises Rejected with the stage "registry" if its keys, its suite or its
        parser cannot be used here: then all messages of the device are to be refused so."""
        self.device = device
        try:
            self._open = _opener(device, keys)
            self._parse = make_parser(device.parser, device.parser_schema).parse
        except (BypassError, ValueError, KeyError) as error:
            raise Rejected("registry", UNUSABLE, f"{device.id}: {error}") from None
        self._decompress = {"none": None, "gzip": decompress_gzip, "zstd": decompress_zstd}[
            device.compression
        ]
        self._largest = device.largest
        self._prefix = f"{device.application}:"
        self._received_counts = device.clock == "received"

    @property
    def is_shared(self) -> bool:
        """Whether other devices of the same configuration may use it: a token names its device."""
        return self.device.peer is None or self.device.peer.kind != "jwt"

    def __call__(self, payload: bytes, received_ms: int, sender: str | None = None) -> Decoded:
        """Decode a message that came at `received_ms`, in milliseconds since the epoch, from another device
        than the chain was compiled for if `sender` says so.

        Raises Rejected with the stage that refuses it and why, and nothing else.
        """
        stage: Stage = "integrity"
        try:
            sequence = None
            if self._open is not None:
                sequence, payload = self._open(payload, received_ms)
            stage = "decompress"
            if self._decompress is not None:
                payload = self._decompress(payload, self._largest)
            stage = "parse"
            claimed, measurements = self._parse(payload, received_ms)
        except Rejected:
            raise
        except Exception as error:  # the code of others may raise anything, and one message must not stop all
            raise Rejected(stage, "failed", f"{type(error).__name__}: {error}") from error
        if claimed is not None:
            device = self.device.id if sender is None else sender
            if claimed != device and claimed != device.removeprefix(self._prefix):
                raise Rejected("parse", "another device", f"{shown(claimed)}: expected {shown(device)}")
        if self._received_counts:
            measurements = [each._replace(time=received_ms) for each in measurements]
        return Decoded(sequence, measurements)


def _opener(device: DeviceRecord, keys: Keys) -> Open | None:
    """Compile integrity, peer and decipher into one function; None if there is nothing to do."""
    if device.standard is not None:
        return _standard_opener(device, keys)
    kind = find_suite(device.suite)
    suite = kind(_keys(keys, device.keys, kind.roles))
    peer = _peer(device, keys)
    operations = () if device.peer is None else device.peer.operations
    code = kind.code_length
    token = code + (SEQUENCE_LENGTH if device.sequenced else 0)
    if token == 0 and peer is None and device.suite == "NULL_NULL":
        return None

    def open_frame(frame: bytes, received: int) -> tuple[int | None, bytes]:
        start = token if peer is None else peer.token_end(frame, token)
        if len(frame) < start:
            raise Rejected("integrity", "short frame", f"{len(frame)} bytes: expected at least {start}")
        verified = suite.verify(frame, start)
        if peer is not None:
            peer.check(frame, code, token, start, received)
            check_operation(operations)
        sequence = int.from_bytes(frame[code:token], "big") if token > code else None
        return sequence, suite.decipher(frame, start, verified)

    return open_frame


def _standard_opener(device: DeviceRecord, keys: Keys) -> Open:
    kind = find_standard(device.standard or "")
    standard = kind(_keys(keys, device.keys, kind.roles))
    sequenced = device.sequenced

    def open_frame(frame: bytes, received: int) -> tuple[int | None, bytes]:
        plain = standard.open(frame, received)
        if not sequenced:
            return None, plain
        if len(plain) < SEQUENCE_LENGTH:
            raise Rejected("integrity", "short frame", f"{len(plain)} bytes: expected a sequence")
        return int.from_bytes(plain[:SEQUENCE_LENGTH], "big"), plain[SEQUENCE_LENGTH:]

    return open_frame


def _peer(device: DeviceRecord, keys: Keys) -> PeerCheck | None:
    if device.peer is None:
        return None
    found = _keys(keys, device.peer.keys, {"public": 0})
    return Signature(found) if device.peer.kind == "signature" else Jwt(found, device.id)


def _keys(keys: Keys, name: str | None, roles: Mapping[str, int]) -> Sequence[KeySet]:
    if not roles:
        return ()
    if name is None:
        raise ValueError(f"keys is None: expected a key set with {', '.join(roles)}")
    found = keys.find(name)
    check_keys(roles, found)
    return found
