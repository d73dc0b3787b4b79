"""Answers: what is wrong with a request, in one line, with the status that it has."""

from __future__ import annotations

from typing import Any

import msgspec
from starlette.responses import Response

from bypass.ingest.devices.device import InvalidDevice
from bypass.ingest.devices.registry import DeviceConflict
from bypass.ingest.exposure.tenant_limits import TooManyCalls
from bypass.ingest.exposure.tokens import InvalidToken, OperationNotAllowed
from bypass.ingest.queries.invalid import CursorExpired, InvalidCursor, InvalidSelection, QueryTooLong
from bypass.root_error import BypassError

JSON = "application/json"
_RETRY = {"Retry-After": "1"}


class InvalidCall(BypassError):
    """A request with a parameter or a body that is not understood."""


class RequestTooLarge(BypassError):
    """A request with more bytes than it may have."""


class ServerBusy(BypassError):
    """So many queries run or wait that no more can."""


class SlowSubscriber(BypassError):
    """A subscriber that does not take what it is sent in time."""


_STATUS: dict[type[BypassError], tuple[int, dict[str, str]]] = {
    InvalidCall: (400, {}),
    InvalidSelection: (400, {}),
    InvalidCursor: (400, {}),
    InvalidDevice: (400, {}),
    InvalidToken: (401, {"WWW-Authenticate": "Bearer"}),
    OperationNotAllowed: (403, {}),
    SlowSubscriber: (408, {}),
    DeviceConflict: (409, {}),
    CursorExpired: (410, {}),
    RequestTooLarge: (413, {"Connection": "close"}),
    TooManyCalls: (429, _RETRY),
    ServerBusy: (503, _RETRY),
    QueryTooLong: (503, {}),
}


def answer(content: Any, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    """Plain data as an answer in JSON."""
    return Response(
        msgspec.json.encode(content), status, {"Cache-Control": "no-store", **(headers or {})}, JSON
    )


def refusal(error: BypassError) -> Response:
    """The answer to a request that is refused; an error that is none of the request's says nothing more."""
    status = status_of(error)
    return answer({"error": said(error)}, status, _STATUS[type(error)][1] if type(error) in _STATUS else {})


def status_of(error: BypassError) -> int:
    """The status of a refusal; 500 for an error that is none of the request's."""
    return _STATUS.get(type(error), (500, {}))[0]


def said(error: BypassError) -> str:
    """The line that a peer may read of an error."""
    return " ".join(str(error).split()) if type(error) in _STATUS else "internal error"
