"""The bodies of messages by which clients follow others; as in `bodies`."""

from __future__ import annotations

from collections.abc import Sequence

from bypass.protocol.messages import AllowFollowing, FollowedPlace
from bypass.protocol.session import LONGEST_NAME, is_name
from bypass.protocol.wire import bypass_pb2 as pb
from bypass.protocol.wire.fields import finite, required
from bypass.protocol.wire.values import ValueTypes

MOST_FOLLOWERS = 1000
"""Clients that one client lets follow it by name."""


def write_followed_place(body: pb.FollowedPlace, message: FollowedPlace, _: ValueTypes) -> None:
    body.x, body.y = finite("location", message.location, 2)
    body.vx, body.vy = message.vector
    finite("vector", (body.vx, body.vy), 2)


def read_followed_place(body: pb.FollowedPlace, _: ValueTypes) -> FollowedPlace:
    return FollowedPlace(
        finite("location", (required(body, "x"), required(body, "y")), 2),
        finite("vector", (body.vx, body.vy), 2),
    )


def write_allow_following(body: pb.AllowFollowing, message: AllowFollowing, _: ValueTypes) -> None:
    body.names.extend(_names(message.names))
    body.everybody = message.everybody


def read_allow_following(body: pb.AllowFollowing, _: ValueTypes) -> AllowFollowing:
    return AllowFollowing(_names(body.names), body.everybody)


def _names(names: Sequence[str]) -> tuple[str, ...]:
    if len(names) > MOST_FOLLOWERS:
        raise ValueError(f"{len(names)} names: expected at most {MOST_FOLLOWERS}")
    for name in names:
        if not is_name(name, least=1):
            raise ValueError(f"name of {len(name)} characters: expected 1 to {LONGEST_NAME} printable ones")
    return tuple(names)
