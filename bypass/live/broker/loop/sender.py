"""The sender of a packet, as the socket tells."""

from __future__ import annotations

from typing import NamedTuple


class Sender(NamedTuple):
    """Where something came from: by which route, with which key (if any), and from which address."""

    route: bytes
    user: str
    address: str


NOBODY = Sender(b"", "", "")
