"""Messages to bytes and back, one `Envelope` of `bypass.proto` each."""

from __future__ import annotations

from functools import lru_cache
from numbers import Integral

from google.protobuf.message import Error as ProtobufError

from bypass.errors import BypassError, shown
from bypass.events import Event
from bypass.messages import ContextMessage, Kind, Message, Notify, Publish, Subscribe
from bypass.wire import bypass_pb2 as pb
from bypass.wire.bodies import READERS, WRITERS, stamp

PROTOCOL_VERSION = 1
MAX_MESSAGE_BYTES = 1 << 20


class MalformedMessage(BypassError):
    """Bytes that are no message, or a message that no bytes can express."""


_REFUSALS = (KeyError, TypeError, ValueError, OverflowError, ProtobufError)
"""What writing a message raises if it cannot travel; KeyError for its class, the others for its content."""


def encode(message: Message) -> bytes:
    """`message` as bytes.

    What rides on a message has the sender of that message: its own client, scheme and epoch do not travel.
    A vector is rounded to single precision. Raises MalformedMessage for numbers out of range or not finite,
    values that cannot travel, a class that is not in `bypass.messages`, and more than MAX_MESSAGE_BYTES.
    """
    # A new envelope each time: one that is cleared and used again keeps all memory it ever had.
    envelope = pb.Envelope()
    try:
        envelope.version = PROTOCOL_VERSION
        envelope.client = message.client
        envelope.scheme = message.scheme
        envelope.epoch = message.epoch
        riding = _riding_on(message)
        if riding is not None:
            _write_riding(envelope, riding)
        field, write = WRITERS[type(message)]
        write(getattr(envelope, field), message)
        data = envelope.SerializeToString()
    except _REFUSALS as error:
        raise _unencodable(message, error) from error
    if len(data) > MAX_MESSAGE_BYTES:
        raise MalformedMessage(
            f"{type(message).__name__} of {len(data)} bytes: expected at most {MAX_MESSAGE_BYTES}"
        )
    return data


def decode(data: bytes) -> Message:
    """The message of which `encode` made these bytes; fields that are not known here are skipped.

    Raises MalformedMessage, and nothing else, for bytes that are no message of this protocol version.
    """
    if len(data) > MAX_MESSAGE_BYTES:
        raise MalformedMessage(f"message of {len(data)} bytes: expected at most {MAX_MESSAGE_BYTES}")
    try:
        envelope = pb.Envelope.FromString(data)
    except ProtobufError as error:
        raise MalformedMessage(f"message {shown(data)}: {error}") from error
    if envelope.version != PROTOCOL_VERSION:
        raise MalformedMessage(f"message of protocol version {envelope.version}: expected {PROTOCOL_VERSION}")
    field = envelope.WhichOneof("body")
    if field is None:
        raise MalformedMessage(f"message {shown(data)} without a body: expected one of {', '.join(READERS)}")
    try:
        message = READERS[field](getattr(envelope, field))
        stamp(message, envelope.client, envelope.scheme, envelope.epoch)
        riding = envelope.WhichOneof("piggyback")
        if riding is not None:
            _read_riding(envelope, riding, message)
    except (BypassError, TypeError, ValueError) as error:
        reason = " ".join(str(error).split())  # it may quote the sender, who must not write lines in our log
        raise MalformedMessage(f"{field} message: {reason}") from error
    return message


def encoded_size(message: Message) -> int:
    """How many bytes `encode` makes of the message. Raises as `encode` does."""
    if type(message) is Publish and (shape := _shape(message)) is not None:
        return _publish_size(*shape)
    return len(encode(message))


def notify_size(publication: Publish, handles: int, unfiltered: bool) -> int:
    """The size of every notification of `publication` for so many handles, whichever client it is for.

    One look at the publication serves all its notifications: clients, handles and epochs do not make a
    difference, nor do scheme flags below 128. Raises as `encode` does.
    """
    shape = _shape(publication)
    if shape is None:
        return len(encode(Notify(publication, (0,) * handles, unfiltered)))
    return _notify_size(*shape, publication.epoch == 0, handles, unfiltered)


Shape = tuple[Event, tuple[type, ...], Kind, bool, str | None, int]
_PLAIN_TYPES = frozenset((int, float, str))


def _shape(publication: Publish) -> Shape | None:
    """All that the size of a publication depends on: everything else has a fixed width.

    None if the size is not worth remembering. Types, because 1 and 1.0 are equal but not equally long.
    """
    event = publication.event
    types = tuple([type(value) for _, value in event.attributes])
    if publication.piggyback is not None or not _PLAIN_TYPES.issuperset(types):
        return None
    return (
        event,
        types,
        publication.kind,
        publication.location is None,
        publication.channel,
        publication.scheme,
    )


# Applications publish few shapes of events very often: each is encoded once.
@lru_cache(maxsize=1024)
def _publish_size(
    event: Event,
    types: tuple[type, ...],  # noqa: ARG001 - tells equal events apart
    kind: Kind,
    placeless: bool,
    channel: str | None,
    scheme: int,
) -> int:
    return len(encode(_of_shape(event, kind, placeless, channel, scheme, 1)))


@lru_cache(maxsize=1024)
def _notify_size(
    event: Event,
    types: tuple[type, ...],  # noqa: ARG001
    kind: Kind,
    placeless: bool,
    channel: str | None,
    scheme: int,
    first_epoch: bool,
    handles: int,
    unfiltered: bool,
) -> int:
    publication = _of_shape(event, kind, placeless, channel, scheme, 0 if first_epoch else 1)
    return len(encode(Notify(publication, (0,) * handles, unfiltered)))


def _of_shape(
    event: Event, kind: Kind, placeless: bool, channel: str | None, scheme: int, epoch: int
) -> Publish:
    location = None if placeless else (0.0, 0.0)
    return Publish(0, event, kind, 0, location, channel, scheme=scheme, epoch=epoch)


def piggyback_size(message: Message) -> int:
    """How many of the message's bytes are there because of what rides on it. Raises as `encode` does."""
    riding = _riding_on(message)
    if riding is None:
        return 0
    envelope = pb.Envelope()
    try:
        _write_riding(envelope, riding)
        return envelope.ByteSize()  # fields of an envelope share no bytes
    except _REFUSALS as error:
        raise _unencodable(message, error) from error


def _riding_on(message: Message) -> ContextMessage | None:
    carrier = message.publication if isinstance(message, Notify) else message
    return carrier.piggyback if isinstance(carrier, (Publish, Subscribe)) else None


def _write_riding(envelope: pb.Envelope, riding: ContextMessage) -> None:
    field, write = WRITERS[type(riding)]
    write(getattr(envelope, f"riding_{field}"), riding)


def _read_riding(envelope: pb.Envelope, field: str, message: Message) -> None:
    carrier = message.publication if isinstance(message, Notify) else message
    if not isinstance(carrier, (Publish, Subscribe)):
        raise ValueError(f"{field}: expected only publications and subscriptions to carry something")
    riding = READERS[field.removeprefix("riding_")](getattr(envelope, field))
    assert isinstance(riding, ContextMessage)
    stamp(riding, carrier.client, carrier.scheme, carrier.epoch)
    carrier.piggyback = riding


_BITS = {
    "client": 32,
    "scheme": 32,
    "epoch": 32,
    "handle": 32,
    "radius": 32,
    "generation": 32,
    "id": 64,
    "at_us": 64,
}
"""The numbers in messages that protobuf limits: it names the value in its errors, but not the field."""


def _unencodable(message: Message, error: Exception) -> MalformedMessage:
    publication = message.publication if isinstance(message, Notify) else None
    for part in filter(None, (message, publication, _riding_on(message))):
        name = type(part).__name__
        if type(part) not in WRITERS:
            expected = ", ".join(cls.__name__ for cls in WRITERS)
            return MalformedMessage(f"message of class {name}: expected one of {expected}")
        for field, bits in _BITS.items():
            value = getattr(part, field, 0)
            limit = (1 << bits) - 1
            if value is not None and not (isinstance(value, Integral) and 0 <= int(value) <= limit):
                return MalformedMessage(
                    f"{name}.{field} {shown(value)}: expected an integer from 0 to {limit}"
                )
    return MalformedMessage(f"{type(message).__name__}: {error}")
