"""Devices with keys, and what they send, for tests of the stages."""

from __future__ import annotations

import base64
import csv
import io
import json
from collections.abc import Mapping, Sequence
from typing import Any

import cbor2
import jwt
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519
from cwt import COSEKey
from hypothesis import strategies as st

from bypass.errors import BypassError
from bypass.ingest.compression import Compression
from bypass.ingest.devices.device import Device, make_device
from bypass.ingest.parsers.telemetry_pb2 import DeviceMessage, Telemetry
from bypass.ingest.sealing import Sealer
from bypass.ingest.security.key_set import KeySet
from bypass.ingest.security.suite import SUITES, find_suite
from bypass.ingest.stages.chain import StageChain
from bypass.ports.measurements import LAST_TIME, Measurement, ValueType

NOW = 1_531_993_320_118
"""When messages come, in milliseconds."""

FIGURE = b"""{ "id": "device1", "timestamp": 1531993320118,
  "telemetries": [
    {"metric": "temperature",   "uom": "K",   "value": 500.00,   "type": "Double"},
    {"metric": "rotationSpeed", "uom": "RPM", "value": 5600,     "type": "Long"},
    {"metric": "status",                      "value": "Active", "type": "String"} ] }"""

MEASURED = [
    Measurement(NOW, "temperature", "Double", 500.0, "K"),
    Measurement(NOW, "rotationSpeed", "Long", 5600, "RPM"),
    Measurement(NOW, "status", "String", "Active", None),
]


class MissingKeys(BypassError):
    """A key set that nobody has."""


class Keys(dict[str, Sequence[KeySet]]):
    """Key sets in memory, by name."""

    def find(self, name: str) -> Sequence[KeySet]:
        if name not in self:
            raise MissingKeys(f"key set {name}: missing")
        return self[name]


def key_set(roles: Mapping[str, int], seed: int = 1) -> KeySet:
    """Keys that follow from a number, so that failures can be repeated."""
    return KeySet(
        {role: bytes([seed + number]) * length for number, (role, length) in enumerate(roles.items())}
    )


def pair(kind: str) -> tuple[bytes, bytes]:
    """A private and a public key in PEM: "ES256" or "EdDSA"."""
    key: Any = (
        ec.derive_private_key(77, ec.SECP256R1())
        if kind == "ES256"
        else ed25519.Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
    )
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    public = key.public_key().public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    return private, public


PAIRS = {kind: pair(kind) for kind in ("ES256", "EdDSA")}


def token(kind: str = "ES256", **claims: Any) -> str:
    """A JWT of the token service, valid for device1 a minute from NOW on."""
    content = {"sub": "device1", "exp": NOW // 1000 + 60, "operations": ["publish"], **claims}
    return jwt.encode(content, PAIRS[kind][0], algorithm=kind)


def cose_keys(own: Any, other: Any) -> tuple[KeySet, KeySet]:
    return KeySet({"cose": cbor2.dumps(own.to_dict())}), KeySet({"cose": cbor2.dumps(other.to_dict())})


_MAC = COSEKey.from_symmetric_key(bytes(32), alg="HS256")
_AEAD = COSEKey.from_symmetric_key(bytes(32), alg="A256GCM")
_PRIVATE, _PUBLIC = (COSEKey.from_pem(each.decode(), alg="ES256") for each in PAIRS["ES256"])
COSE_KEYS = {
    "mac": cose_keys(_MAC, _MAC),
    "encryption": cose_keys(_AEAD, _AEAD),
    "signature": cose_keys(_PRIVATE, _PUBLIC),
}
"""Keys of the device and of the other side."""


class Sender:
    """A device with its keys: `seal` is its side, `chain` the other one."""

    def __init__(
        self,
        *,
        suite: str = "NULL_NULL",
        compression: Compression = "none",
        proof: str | None = None,
        cose: str | None = None,
        sequenced: bool = False,
        token: str | None = None,
        **fields: Any,
    ) -> None:
        roles = find_suite(suite).roles
        own, known = COSE_KEYS[cose] if cose else (key_set(roles), key_set(roles))
        self.keys = Keys(own=[known])
        peer = None
        if proof is not None:
            kind = "jwt" if token is not None else "signature"
            self.keys["issuer"] = [KeySet({"public": PAIRS[proof][1]})]
            peer = {"kind": kind, "keys": "issuer", **fields.pop("peer", {})}
        self.sealer = Sealer(
            suite=suite,
            standard="COSE" if cose else None,
            keys=own,
            compression=compression,
            token=token,
            private_key=PAIRS[proof][0] if proof is not None and token is None else None,
        )
        self.device: Device = make_device(
            {
                "id": "device1",
                "suite": suite,
                "standard": "COSE" if cose else None,
                "keys": "own" if own else None,
                "compression": compression,
                "sequenced": sequenced,
                "peer": peer,
                **fields,
            }
        )
        self.sequence = 7 if sequenced else None

    @property
    def chain(self) -> StageChain:
        return StageChain(self.device.record(), self.keys)

    def seal(self, message: bytes = FIGURE) -> bytes:
        return self.sealer.seal(message, self.sequence)


CONFIGURATIONS: dict[str, dict[str, Any]] = {
    **{suite: {"suite": suite} for suite in SUITES},
    **{f"{suite} sequenced": {"suite": suite, "sequenced": True} for suite in SUITES},
    **{f"COSE {kind}": {"cose": kind, "sequenced": True} for kind in COSE_KEYS},
    "signature": {"suite": "AES256-CBC_HMAC-SHA512", "proof": "ES256", "sequenced": True},
    "signature alone": {"proof": "EdDSA"},
    "signature in GCM": {"suite": "AES256-GCM", "proof": "EdDSA"},
    "jwt": {"suite": "AES256-GCM", "proof": "ES256", "token": token(), "sequenced": True},
    "jwt alone": {"proof": "EdDSA", "token": token("EdDSA")},
}
"""All ways to protect a message."""

PROTECTED = [
    name
    for name, each in CONFIGURATIONS.items()
    if each.get("cose") or "proof" in each or find_suite(each["suite"]).authenticates
]
"""Those that nobody else can forge; a token alone says who sends, not what."""
PROTECTED.remove("jwt alone")


# -- the same content in all forms ------------------------------------------------------------------------

labels = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=20)
units = st.none() | labels
longs = st.integers(-(1 << 63), (1 << 63) - 1)
doubles = st.floats(allow_nan=False, allow_infinity=False)
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=50)
times = st.integers(0, LAST_TIME)


def measurements(label: st.SearchStrategy[str] = labels, text: st.SearchStrategy[str] = texts) -> Any:
    """Lists of measurements of all types."""
    kinds: dict[ValueType, Any] = {
        "Long": longs,
        "Double": doubles,
        "String": text,
        "Bytes": st.binary(max_size=50),
    }
    one = [st.builds(Measurement, times, label, st.just(kind), each, units) for kind, each in kinds.items()]
    return st.lists(st.one_of(*one), max_size=5)


def plain(value: Any) -> Any:
    """A value as forms have it that know no bytes."""
    return base64.b64encode(value).decode() if isinstance(value, bytes) else value


def as_json(content: Sequence[Measurement]) -> bytes:
    telemetries = [
        {"metric": m.metric, "value": plain(m.value), "type": m.type, "timestamp": m.time}
        | ({"uom": m.uom} if m.uom else {})
        for m in content
    ]
    return json.dumps({"id": "device1", "telemetries": telemetries}, ensure_ascii=False).encode()


def as_cbor(content: Sequence[Measurement]) -> bytes:
    telemetries = [{"metric": m.metric, "value": m.value, "timestamp": m.time, "uom": m.uom} for m in content]
    return cbor2.dumps({"id": "device1", "telemetries": telemetries})


def as_protobuf(content: Sequence[Measurement]) -> bytes:
    telemetries = [
        Telemetry(
            metric=m.metric,
            uom=m.uom,
            timestamp=m.time,
            **{f"{m.type.lower()}_value": m.value},  # type: ignore[arg-type]
        )
        for m in content
    ]
    return DeviceMessage(id="device1", telemetries=telemetries).SerializeToString()


def as_csv(content: Sequence[Measurement]) -> bytes:
    file = io.StringIO(newline="")
    for m in content:
        value = repr(m.value) if isinstance(m.value, float) else plain(m.value)
        csv.writer(file, quoting=csv.QUOTE_ALL).writerow([m.time, m.metric, value, m.type, m.uom or ""])
    return file.getvalue().encode()


FORMS = {"json": as_json, "cbor": as_cbor, "protobuf": as_protobuf, "csv": as_csv}
"""Forms that say everything about a measurement."""
