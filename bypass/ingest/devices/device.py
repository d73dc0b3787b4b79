"""The configuration of a device, which says all about the way of its messages."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    ValidationError,
    field_validator,
    model_validator,
)

from bypass.errors import BypassError, shown
from bypass.ingest.compression import Compression
from bypass.ingest.devices.policy import KEEP_EVERYTHING, DevicePolicy, parse_policy, policy_action
from bypass.ingest.devices.record import DeviceRecord, PeerRecord
from bypass.ingest.names import check_name
from bypass.ingest.parsers.parser import find_parser
from bypass.ingest.parsers.schema import ParserSchema
from bypass.ingest.security.standard import find_standard
from bypass.ingest.security.suite import find_suite
from bypass.support.extensions import absolute
from bypass.support.validation import Misfit, first_misfit
from bypass.transitions import TransitionError
from bypass.transitions.validation import KeyPath
from bypass.transitions.yaml_text import load_yaml

Name = Annotated[str, Field(min_length=1, max_length=256)]
PathName = Annotated[str, AfterValidator(check_name)]


class InvalidDevice(BypassError):
    """A configuration that no device can have. The message names key, value and expectation."""


class PeerProof(BaseModel):
    """The proof that a device gives in each message: a signature of its own, or a JWT of a token service.

    `keys` names the key set with the public key, in the key store. The device may do `operations`, and with a
    JWT only those that the token names as well.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    kind: Literal["signature", "jwt"]
    keys: PathName
    operations: tuple[str, ...] = ("publish",)


class Device(BaseModel):
    """A device: who it is, how its messages are protected and written, and what becomes of them.

    `id` is its Application ID. `keys` names a key set in the key store; keys themselves are never here.
    `sequenced` messages have a number in their authenticated part, which gives them an identity and protects
    them against replay. `largest` bounds the bytes that come out of decompression. With the clock "received"
    measurements have the time at which the message came, whatever the device says. `region` is the class of
    data that retention goes by, and a folder of the table; `policy` is the mechanism of pre-computation that
    the device begins with: its name, or a mapping with parameters, as `{to: every-nth, set: {n: 10}}`.

    Suite, standard and parser may be references to code (`module:Class`): take configurations from people who
    may run code here, or refuse references first.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    id: Name
    application: Name = "app"
    tenant: Name = "default"
    region: PathName = "default"
    suite: str = "NULL_NULL"
    standard: str | None = None
    keys: PathName | None = None
    peer: PeerProof | None = None
    sequenced: bool = False
    compression: Compression = "none"
    largest: Annotated[int, Field(gt=0, le=1 << 26)] = 1 << 20
    parser: str = "json"
    parser_schema: ParserSchema = ParserSchema()
    policy: Name | DevicePolicy = KEEP_EVERYTHING
    qos: Literal[0, 1, 2] = 0
    clock: Literal["device", "received"] = "device"
    metadata: dict[str, str] = {}

    @field_validator("id")
    @classmethod
    def _sayable(cls, value: str) -> str:
        if not value.isprintable():
            raise Misfit((), f"is {shown(value)}: expected characters that can be printed")
        return value

    @field_validator("policy", mode="before")
    @classmethod
    def _policy(cls, value: Any) -> Any:
        """Refuse what is none here, because pydantic would name each type that it may have."""
        try:
            if isinstance(value, dict):
                return DevicePolicy.model_validate(value)
            if isinstance(value, DevicePolicy) or (isinstance(value, str) and not value.startswith("{")):
                return value
        except ValidationError:
            pass
        raise Misfit((), f"is {shown(value)}: expected a mechanism, or {{to: MECHANISM, set: PARAMETERS}}")

    @model_validator(mode="after")
    def _usable(self) -> Device:
        """Refuse what would fail with the first message: suites, parsers and what they need."""
        try:
            suite = find_suite(self.suite)
        except (ValueError, BypassError) as error:
            raise Misfit(("suite",), str(error)) from None
        roles = suite.roles
        if self.standard is not None:
            try:
                roles = find_standard(self.standard).roles
            except (ValueError, BypassError) as error:
                raise Misfit(("standard",), str(error)) from None
            if self.suite != "NULL_NULL":
                raise Misfit(("suite",), f"is {shown(self.suite)}: expected none beside a standard")
            if self.peer is not None:
                raise Misfit(("peer",), f"is {shown(self.peer.kind)}: expected none beside a standard")
        if roles and self.keys is None:
            raise Misfit(("keys",), f"is None: expected a key set with {', '.join(roles)}")
        try:
            parser = find_parser(self.parser)
        except (ValueError, BypassError) as error:
            raise Misfit(("parser",), str(error)) from None
        try:
            parser(self.parser_schema)
        except ValueError as error:
            raise Misfit(("parser_schema",), str(error)) from None
        try:
            policy_action(str(self.policy))
        except (ValueError, TransitionError) as error:
            raise Misfit(("policy",), str(error)) from None
        return self

    def record(self) -> DeviceRecord:
        """Give the device as executors have it."""
        fields: dict[str, Any] = {name: getattr(self, name) for name in type(self).model_fields}
        peer = self.peer
        fields["peer"] = None if peer is None else PeerRecord(peer.kind, peer.keys, peer.operations)
        fields["parser_schema"] = self.parser_schema.model_dump_json(exclude_defaults=True)
        fields["policy"] = str(self.policy)
        return DeviceRecord(**fields)

    @classmethod
    def of_record(cls, record: DeviceRecord) -> Device:
        """Give the device of a record, which was checked when it was made."""
        fields = msgspec.structs.asdict(record)
        peer = record.peer
        fields["peer"] = None if peer is None else PeerProof.model_construct(**msgspec.structs.asdict(peer))
        fields["parser_schema"] = ParserSchema.model_validate_json(record.parser_schema)
        fields["policy"] = parse_policy(record.policy)
        return cls.model_construct(**fields)


def make_device(fields: dict[str, Any]) -> Device:
    """Make a device of what a file or a request says. Raises InvalidDevice."""
    try:
        return Device.model_validate(fields)
    except ValidationError as error:
        raise InvalidDevice(f"device {shown(fields.get('id'))}: {first_misfit(error, _keys)}") from None


def read_devices(path: Path) -> list[Device]:
    """Read the devices of a YAML or JSON file: a list, or one. Files of code that they name by a relative
    path are looked for from the folder of the file. Raises InvalidDevice, and OSError."""
    content: Any = load_yaml(str(path), path.read_text(encoding="utf-8"), InvalidDevice)
    listed = content if isinstance(content, list) else [content]
    for fields in listed:
        if not isinstance(fields, dict):
            raise InvalidDevice(f"{path}: {shown(fields)}: expected the keys of a device")
    return [make_device(fields | _references(fields, path.parent)) for fields in listed]


def _references(fields: dict[str, Any], folder: Path) -> dict[str, str]:
    """The references to code that a device has, with absolute paths."""
    named = {name: fields.get(name) for name in ("suite", "standard", "parser")}
    return {name: absolute(value, folder) for name, value in named.items() if isinstance(value, str)}


def _keys(path: KeyPath) -> list[str]:
    groups: dict[KeyPath, type[BaseModel]] = {
        ("peer",): PeerProof,
        ("parser_schema",): ParserSchema,
    }
    return list(groups.get(path, Device).model_fields)
