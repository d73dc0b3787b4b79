"""Parameters of requests: each is checked, and one that is not known is refused."""

from __future__ import annotations

from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Collection
from typing import Any

import msgspec
from starlette.requests import HTTPConnection

from bypass.errors import shown
from bypass.ingest.devices.key_store import KeyStore
from bypass.ingest.exposure.answers import InvalidCall
from bypass.ingest.exposure.tokens import Grant, InvalidToken, check_token
from bypass.ingest.queries.invalid import InvalidCursor
from bypass.ingest.queries.selection import Selection, parse_time

ROWS = 1000
"""Rows of an answer unless the request says otherwise."""

PROTOCOL = "bypass"
"""The subprotocol of WebSockets of clients that cannot set headers, as pages in browsers cannot."""

_TRUTHS = {"yes": True, "no": False}
_BEARER = "bearer."


def token_of(request: HTTPConnection) -> str:
    """The token of a request. A WebSocket may have it among its subprotocols instead, beside `PROTOCOL`.
    Raises InvalidToken."""
    kind, _, token = request.headers.get("Authorization", "").partition(" ")
    if kind.lower() == "bearer" and token.strip():
        return token.strip()
    offered: list[str] = request.scope.get("subprotocols", [])
    tokens = [each.removeprefix(_BEARER) for each in offered if each.startswith(_BEARER)]
    if PROTOCOL in offered and len(tokens) == 1:
        return tokens[0]
    raise InvalidToken("header Authorization: has no token: expected Bearer TOKEN")


def protocol_of(request: HTTPConnection) -> str | None:
    """The subprotocol of a WebSocket that is accepted, never the one with the token; None if none is
    offered."""
    return PROTOCOL if PROTOCOL in request.scope.get("subprotocols", ()) else None


def granted(request: HTTPConnection, keys: KeyStore, operation: str) -> Grant:
    """The rights of a request that wants to do an operation. Raises InvalidToken and OperationNotAllowed."""
    grant = check_token(keys, token_of(request))
    grant.need(operation)
    return grant


def parameters_of(request: HTTPConnection, known: Collection[str]) -> dict[str, str]:
    """The parameters, each once. Raises InvalidCall for one that is not known."""
    found: dict[str, str] = {}
    for name, value in request.query_params.multi_items():
        if name not in known:
            raise InvalidCall(f"parameter {shown(name)}: expected one of {', '.join(known)}")
        if name in found:
            raise InvalidCall(f"parameter {name}: is there twice: expected it once")
        found[name] = value
    return found


def selection_of(parameters: dict[str, str], tenant: str) -> Selection:
    """The selection of a request; its tenant comes from the token alone. Raises InvalidSelection."""
    return Selection(
        tenant,
        parameters.get("devices", ""),
        parameters.get("where", ""),
        parse_time(parameters["since"]) if "since" in parameters else None,
        parse_time(parameters["until"]) if "until" in parameters else None,
    )


def limit_of(parameters: dict[str, str], most: int) -> int:
    """The number of rows that a request wants. Raises InvalidCall."""
    text = parameters.get("limit", str(min(ROWS, most)))
    if not (text.isascii() and text.isdecimal() and len(text) < 10 and 1 <= int(text) <= most):
        raise InvalidCall(f"parameter limit: is {shown(text)}: expected 1 to {most}")
    return int(text)


def truth_of(parameters: dict[str, str], name: str, default: bool) -> bool:
    """A parameter that is yes or no. Raises InvalidCall."""
    if name not in parameters:
        return default
    if parameters[name] not in _TRUTHS:
        raise InvalidCall(f"parameter {name}: is {shown(parameters[name])}: expected yes or no")
    return _TRUTHS[parameters[name]]


def write_place(*place: str) -> str:
    """A place in an ordered list, as a cursor."""
    return urlsafe_b64encode(msgspec.json.encode(place)).decode().rstrip("=")


def read_place(parameters: dict[str, str], parts: int) -> Any:
    """The place that `write_place` has written, a tuple of texts; None if there is none. Raises
    InvalidCursor."""
    text = parameters.get("cursor")
    if text is None:
        return None
    try:
        place = msgspec.json.decode(urlsafe_b64decode(text + "=" * (-len(text) % 4)), type=tuple[str, ...])
    except (ValueError, RecursionError):
        place = ()
    if len(place) != parts:
        raise InvalidCursor(f"cursor {shown(text)}: expected one that an answer had")
    return place
