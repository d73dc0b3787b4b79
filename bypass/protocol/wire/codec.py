"""Messages to bytes and back, one `Envelope` of `bypass.proto` each."""

from __future__ import annotations

from numbers import Integral
from types import MappingProxyType
from typing import Any, NamedTuple

from google.protobuf.message import Error as ProtobufError

from bypass.errors import BypassError, shown
from bypass.protocol.messages import ContextMessage, Frame, Message, Notify, Publish, Subscribe
from bypass.protocol.scheme_context import SchemeContext
from bypass.protocol.session import Kept, Welcome
from bypass.protocol.wire import bypass_pb2 as pb
from bypass.protocol.wire.bodies import (
    READERS,
    SCHEME_CONTEXT,
    Contexts,
    all_writers,
    read_scheme_context,
    stamp,
    writer_of,
)
from bypass.protocol.wire.fields import varint
from bypass.protocol.wire.values import VALUE_TYPES, ValueTypes

PROTOCOL_VERSION = 1
MAX_MESSAGE_BYTES = 1 << 20
MAX_PUBLISH_BYTES = MAX_MESSAGE_BYTES // 2
"""Of a publication: in a notification there are the handles of a client beside it."""


class MalformedMessage(BypassError):
    """Bytes that are no message, or a message that no bytes can express.

    `id` is that of the publication that such bytes are about, `handle` that of the subscription, as far as
    they say: who sent them may wait for an answer.
    """

    def __init__(self, complaint: str, id: int | None = None, handle: int | None = None) -> None:  # noqa: A002
        super().__init__(complaint)
        self.id = id
        self.handle = handle


NO_CONTEXTS: Contexts = MappingProxyType({})
"""Of a system whose schemes are all built in."""


class UnknownVersion(MalformedMessage):
    """A message of a protocol version that is not spoken here."""


REFUSALS = (BypassError, KeyError, TypeError, ValueError, OverflowError, ProtobufError)
"""Writing a message raises these if it cannot travel; KeyError for its class, the others for its content."""


class Codec:
    """Messages to bytes and back; `values` are the types of values that they carry in one system."""

    def __init__(self, values: ValueTypes) -> None:
        self.values = values

    def encode(self, message: Message) -> bytes:
        """Give `message` as bytes.

        A context message that rides on another has its sender: its own client, scheme, epoch and address do
        not travel. Nor does the address of a publication in a notification or frame, what rides on one in a
        frame, its publisher's name anywhere but in a notification, or anything of a kept subscription but
        itself. A vector and a frame's place are rounded to single precision, the reason of a refusal becomes
        one line and may be cut.

        Raises MalformedMessage for numbers out of range or not finite, values that cannot travel, a class
        that is no message of `bypass.protocol`, a frame with more than MOST_TOGETHER publications, more than
        MOST_IDS ids, or publications and ids, a scheme's context of no scheme, and more than
        MAX_MESSAGE_BYTES, or MAX_PUBLISH_BYTES of a publication.
        """
        # A new envelope each time: one that is cleared and used again keeps all memory it ever had.
        envelope = pb.Envelope()
        try:
            envelope.version = PROTOCOL_VERSION
            envelope.client = message.client
            envelope.scheme = message.scheme
            envelope.epoch = message.epoch
            riding = _riding_on(message)
            own = isinstance(riding, SchemeContext)
            if riding is not None and not own:
                _write_riding(envelope, riding)
            field, write = writer_of(message)
            write(getattr(envelope, field), message, self.values)
            data = envelope.SerializeToString()
            if message.address != 0 or own:
                data = _leading(message.address, riding if own else None) + data
        except REFUSALS as error:
            raise _unencodable(message, error) from error
        most = MAX_PUBLISH_BYTES if field == "publish" else MAX_MESSAGE_BYTES
        if len(data) > most:
            raise MalformedMessage(f"{type(message).__name__} of {len(data)} bytes: expected at most {most}")
        return data

    def decode(self, data: bytes, contexts: Contexts = NO_CONTEXTS) -> Message:
        """The message of which `encode` made these bytes; fields that are not known here are skipped.

        `contexts` are those of the system's schemes that are not built in. Raises MalformedMessage, and
        nothing else, for bytes that are no message of this protocol version.
        """
        message, _ = self._decode(data, contexts)
        return message

    def decode_raw(self, data: bytes, contexts: Contexts = NO_CONTEXTS) -> tuple[Message, bytes]:
        """As `decode`; and of a publication its body as it came, with the fields that are not known here.

        Those may be nested so deeply that a notification, which encloses them once more, could not be read:
        such a publication raises MalformedMessage as well.
        """
        message, body = self._decode(data, contexts)
        if not isinstance(body, pb.Publish):
            return message, b""
        raw = body.SerializeToString()
        enclosed = b"\x0a" + varint(len(raw)) + raw
        try:
            pb.Envelope.FromString(b"\x4a" + varint(len(enclosed)) + enclosed)  # a notification's publication
        except ProtobufError as error:
            raise MalformedMessage(f"publish message that cannot be passed on: {error}", body.id) from error
        return message, raw

    def _decode(self, data: bytes, contexts: Contexts) -> tuple[Message, Any]:
        envelope, field = _envelope(data)
        if field == "publish" and len(data) > MAX_PUBLISH_BYTES:
            raise MalformedMessage(
                f"publish message of {len(data)} bytes: expected at most {MAX_PUBLISH_BYTES}",
                *_about(envelope.publish),
            )
        body = getattr(envelope, field)
        try:
            message = (
                read_scheme_context(body, contexts)
                if field == SCHEME_CONTEXT
                else READERS[field](body, self.values)
            )
            stamp(message, envelope.client, envelope.scheme, envelope.epoch, envelope.address)
            riding = envelope.WhichOneof("piggyback")
            if riding is not None:
                _read_riding(envelope, riding, message, contexts)
        except (BypassError, TypeError, ValueError) as error:
            reason = " ".join(str(error).split())  # a sender that it quotes must not write lines in our log
            raise MalformedMessage(f"{field} message: {reason}", *_about(body)) from error
        return message, body


class Outline(NamedTuple):
    """The name of a message's body, the publication, or the subscription, that it is about, if any, and
    whether a context message `rides` on it."""

    body: str
    id: int | None
    handle: int | None
    rides: bool


def outline(data: bytes) -> Outline:
    """Say what a message is about; that costs the same whatever else it says. Raises as `decode` does for
    bytes that cannot be read so far."""
    envelope, field = _envelope(data)
    return Outline(field, *_about(getattr(envelope, field)), envelope.WhichOneof("piggyback") is not None)


def _envelope(data: bytes) -> tuple[pb.Envelope, str]:
    """An envelope, and the name of its body."""
    if len(data) > MAX_MESSAGE_BYTES:
        raise MalformedMessage(f"message of {len(data)} bytes: expected at most {MAX_MESSAGE_BYTES}")
    try:
        envelope = pb.Envelope.FromString(data)
    except ProtobufError as error:
        raise MalformedMessage(f"message {shown(data)}: {error}") from error
    if envelope.version != PROTOCOL_VERSION:
        raise UnknownVersion(f"message of protocol version {envelope.version}: expected {PROTOCOL_VERSION}")
    field = envelope.WhichOneof("body")
    if field is None:
        raise MalformedMessage(f"message {shown(data)} without a body: expected one of {', '.join(READERS)}")
    return envelope, field


def _about(body: Any) -> tuple[int | None, int | None]:
    """The publication, and the subscription, that a body is about, whatever else is wrong with it."""
    if isinstance(body, pb.Notify):
        body = body.publication
    if isinstance(body, pb.Publish) and body.HasField("id"):
        return body.id, None
    if isinstance(body, pb.Subscribe | pb.Unsubscribe) and body.HasField("handle"):
        return None, body.handle
    return None, None


def piggyback_size(message: Message) -> int:
    """How many of the message's bytes are there because of what rides on it. Raises as `encode` does."""
    riding = _riding_on(message)
    if riding is None:
        return 0
    envelope = pb.Envelope()
    try:
        _write_riding(envelope, riding)
        return envelope.ByteSize()  # fields of an envelope share no bytes
    except REFUSALS as error:
        raise _unencodable(message, error) from error


def _leading(address: int, riding: ContextMessage | None) -> bytes:
    """Write what is for the beginning of a message: in the order of numbers it would follow the body.

    There a message could lose it and still look whole.
    """
    envelope = pb.Envelope()
    if address != 0:
        envelope.address = address
    if riding is not None:
        _write_riding(envelope, riding)
    return envelope.SerializeToString()


def _riding_on(message: Message) -> ContextMessage | None:
    carrier = message.publication if isinstance(message, Notify) else message
    return carrier.piggyback if isinstance(carrier, (Publish, Subscribe)) else None


def _write_riding(envelope: pb.Envelope, riding: ContextMessage) -> None:
    field, write = writer_of(riding)
    write(getattr(envelope, f"riding_{field}"), riding, VALUE_TYPES)  # context has no attribute values


def _read_riding(envelope: pb.Envelope, field: str, message: Message, contexts: Contexts) -> None:
    carrier = message.publication if isinstance(message, Notify) else message
    if not isinstance(carrier, (Publish, Subscribe)):
        raise ValueError(f"{field}: expected only publications and subscriptions to carry something")
    body, kind = getattr(envelope, field), field.removeprefix("riding_")
    riding = (
        read_scheme_context(body, contexts) if kind == SCHEME_CONTEXT else READERS[kind](body, VALUE_TYPES)
    )
    assert isinstance(riding, ContextMessage)
    stamp(riding, carrier.client, carrier.scheme, carrier.epoch, carrier.address)
    carrier.piggyback = riding


_BITS = {
    "client": 32,
    "scheme": 32,
    "epoch": 32,
    "address": 64,
    "handle": 32,
    "radius": 32,
    "generation": 32,
    "port": 32,
    "scope": 32,
    "id": 64,
    "at_us": 64,
    "lifetime": 64,
    "life": 64,
    "published": 32,
    "missed": 64,
    "kept_parts": 32,
    "request": 32,
}
"""The numbers in messages that protobuf limits: it names the value in its errors, but not the field."""


def _unencodable(message: Message, error: Exception) -> MalformedMessage:
    inside: tuple[Message, ...] = ()
    if isinstance(message, Notify):
        inside = (message.publication,)
    elif isinstance(message, Frame):
        inside = message.publications
    elif isinstance(message, Welcome | Kept):
        inside = message.kept
    for part in filter(None, (message, *inside, _riding_on(message))):
        name = type(part).__name__
        if type(part) not in all_writers() and not isinstance(part, SchemeContext):
            expected = ", ".join(cls.__name__ for cls in all_writers())
            return MalformedMessage(f"message of class {name}: expected one of {expected}")
        for field, bits in _BITS.items():
            value = getattr(part, field, 0)
            limit = (1 << bits) - 1
            if value is not None and not (isinstance(value, Integral) and 0 <= int(value) <= limit):
                return MalformedMessage(
                    f"{name}.{field} {shown(value)}: expected an integer from 0 to {limit}"
                )
    return MalformedMessage(f"{type(message).__name__}: {error}")


CODEC = Codec(VALUE_TYPES)
"""The codec of systems that are not given another one."""

encode = CODEC.encode
decode = CODEC.decode
decode_raw = CODEC.decode_raw
