"""The bodies of messages about a live connection; as in `bodies`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import inf
from typing import Any

from bypass.errors import shown
from bypass.protocol.messages import Message
from bypass.protocol.session import (
    LONGEST_NAME,
    Ack,
    Bye,
    Control,
    Hello,
    Kept,
    Missed,
    Ping,
    Refused,
    Reply,
    Welcome,
    is_name,
)
from bypass.protocol.wire import bypass_pb2 as pb
from bypass.protocol.wire.fields import extend, finite, rectangle, required
from bypass.protocol.wire.subscriptions import read_subscribe, write_subscribe
from bypass.protocol.wire.values import ValueTypes

MOST_CAPABILITIES = 64
"""Capabilities that one side of a connection may name."""

MOST_SCHEMES = 64
"""Filter schemes besides the built-in ones that one side may have."""

MOST_REASONS = 64
"""Reasons for which events may be missed."""

MAX_REASON = 500
"""Characters in what is said about a refusal; more are cut off."""


def _name(what: str, text: str, least: int) -> str:
    if not is_name(text, least):
        raise ValueError(
            f"{what} of {len(text)} characters: expected {least} to {LONGEST_NAME} printable ones"
        )
    return text


def _reason(text: str) -> str:
    """On one line: it ends up in somebody else's log."""
    return " ".join(text[:MAX_REASON].split())


def _heartbeat(seconds: float) -> float:
    if not 0 < seconds < inf:
        raise ValueError(f"heartbeat {shown(seconds)}: expected finite seconds above 0")
    return seconds


def _retry(seconds: float) -> float:
    if not 0 <= seconds < inf:
        raise ValueError(f"retry {shown(seconds)}: expected finite seconds from 0")
    return seconds


def _area(bounds: Sequence[float]) -> tuple[Any, ...]:
    return rectangle("area", finite("area", bounds, 4))


def _capabilities(names: Sequence[str]) -> tuple[str, ...]:
    if len(names) > MOST_CAPABILITIES:
        raise ValueError(f"{len(names)} capabilities: expected at most {MOST_CAPABILITIES}")
    return tuple(_name("capability", name, 1) for name in names)


def _schemes(names: Sequence[str]) -> tuple[str, ...]:
    if len(names) > MOST_SCHEMES:
        raise ValueError(f"{len(names)} schemes: expected at most {MOST_SCHEMES}")
    return tuple(_name("scheme", name, 1) for name in names)


def _read_schemes(numbered: Sequence[pb.SchemeNumber]) -> dict[str, int]:
    names = _schemes([each.name for each in numbered])
    return {name: each.number for name, each in zip(names, numbered, strict=True)}


def _write_hello(body: pb.Hello, message: Hello, _: ValueTypes) -> None:
    body.name = _name("name", message.name, 0)
    body.life = message.life
    extend("handles", body.handles, message.handles)
    body.durable = message.durable
    body.capabilities.extend(_capabilities(message.capabilities))
    body.schemes.extend(_schemes(message.schemes))


def _read_hello(body: pb.Hello, _: ValueTypes) -> Hello:
    return Hello(
        _name("name", body.name, 0),
        required(body, "life"),
        tuple(body.handles),
        body.durable,
        _capabilities(body.capabilities),
        _schemes(body.schemes),
    )


def _write_welcome(body: pb.Welcome, message: Welcome, values: ValueTypes) -> None:
    body.published = message.published
    body.heartbeat = _heartbeat(message.heartbeat)
    body.area.extend(_area(message.area))
    if message.origin is not None:
        body.origin.extend(finite("origin", message.origin, 2))
    for each in message.kept:
        write_subscribe(body.kept.add(), each, values)
    body.missed = message.missed
    body.settings = message.settings
    body.capabilities.extend(_capabilities(message.capabilities))
    body.kept_parts = message.kept_parts
    if len(message.missed_by) > MOST_REASONS:
        raise ValueError(f"{len(message.missed_by)} reasons: expected at most {MOST_REASONS}")
    for missed in message.missed_by:
        _write_missed(body.missed_by.add(), missed, values)
    for name in _schemes([*message.schemes]):
        body.schemes.add(name=name, number=message.schemes[name])


def _read_welcome(body: pb.Welcome, values: ValueTypes) -> Welcome:
    return Welcome(
        required(body, "published"),
        _heartbeat(body.heartbeat),
        _area(body.area),
        finite("origin", body.origin, 2) if body.origin else None,
        tuple([read_subscribe(each, values) for each in body.kept]),
        body.missed,
        body.settings,
        _capabilities(body.capabilities),
        body.kept_parts,
        tuple([_read_missed(each, values) for each in body.missed_by[:MOST_REASONS]]),
        _read_schemes(body.schemes),
    )


def _write_missed(body: pb.Missed, message: Missed, _: ValueTypes) -> None:
    body.reason = _name("reason", message.reason, 1)
    body.count = message.count


def _read_missed(body: pb.Missed, _: ValueTypes) -> Missed:
    return Missed(_name("reason", body.reason, 1), body.count)


def _write_kept(body: pb.Kept, message: Kept, values: ValueTypes) -> None:
    body.SetInParent()
    for each in message.kept:
        write_subscribe(body.kept.add(), each, values)


def _read_kept(body: pb.Kept, values: ValueTypes) -> Kept:
    return Kept(tuple([read_subscribe(each, values) for each in body.kept]))


def _write_ack(body: pb.Ack, message: Ack, _: ValueTypes) -> None:
    body.SetInParent()  # one without numbers is one, too
    extend("ids", body.ids, message.ids)
    extend("handles", body.handles, message.handles)


def _read_ack(body: pb.Ack, _: ValueTypes) -> Ack:
    return Ack(tuple(body.ids[:]), tuple(body.handles[:]))  # iterating would take twice as long


def _write_refused(body: pb.Refused, message: Refused, _: ValueTypes) -> None:
    body.reason = _reason(message.reason)
    if message.id is not None and message.handle is not None:
        raise ValueError(f"id {message.id} and handle {message.handle}: expected one of them at most")
    if message.id is not None:
        body.id = message.id
    elif message.handle is not None:
        body.handle = message.handle
    else:
        body.connection = True
    body.retry = _retry(message.retry)


def _read_refused(body: pb.Refused, _: ValueTypes) -> Refused:
    what = body.WhichOneof("what")
    if what is None:
        raise ValueError("what is refused is missing")
    return Refused(
        _reason(body.reason),
        body.id if what == "id" else None,
        body.handle if what == "handle" else None,
        _retry(body.retry),
    )


def _write_ping(body: pb.Ping, message: Ping, _: ValueTypes) -> None:
    body.SetInParent()
    body.asks = message.asks


def _read_ping(body: pb.Ping, _: ValueTypes) -> Ping:
    return Ping(body.asks)


def _write_bye(body: pb.Bye, message: Bye, _: ValueTypes) -> None:
    body.SetInParent()
    body.forget = message.forget


def _read_bye(body: pb.Bye, _: ValueTypes) -> Bye:
    return Bye(body.forget)


def _write_control(body: pb.Control, message: Control, _: ValueTypes) -> None:
    body.request = message.request
    body.command = _name("command", message.command, 1)
    body.content = message.content


def _read_control(body: pb.Control, _: ValueTypes) -> Control:
    return Control(required(body, "request"), _name("command", body.command, 1), body.content)


def _write_reply(body: pb.Reply, message: Reply, _: ValueTypes) -> None:
    body.request = message.request
    body.ok = message.ok
    body.content = message.content


def _read_reply(body: pb.Reply, _: ValueTypes) -> Reply:
    return Reply(required(body, "request"), body.ok, body.content)


SESSION_WRITERS: dict[type[Message], tuple[str, Callable[[Any, Any, ValueTypes], None]]] = {
    Hello: ("hello", _write_hello),
    Welcome: ("welcome", _write_welcome),
    Kept: ("kept", _write_kept),
    Missed: ("missed", _write_missed),
    Ack: ("ack", _write_ack),
    Refused: ("refused", _write_refused),
    Ping: ("ping", _write_ping),
    Bye: ("bye", _write_bye),
    Control: ("control", _write_control),
    Reply: ("reply", _write_reply),
}

SESSION_READERS: dict[str, Callable[[Any, ValueTypes], Message]] = {
    "hello": _read_hello,
    "welcome": _read_welcome,
    "kept": _read_kept,
    "missed": _read_missed,
    "ack": _read_ack,
    "refused": _read_refused,
    "ping": _read_ping,
    "bye": _read_bye,
    "control": _read_control,
    "reply": _read_reply,
}
