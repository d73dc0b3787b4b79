"""Addresses: where brokers listen and clients reach them, and where pages are served."""

from __future__ import annotations

import ipaddress
import re
import socket

LARGEST_PORT = 65_535
_LONGEST_IPC = 107  # bytes; more do not fit into the address of a Unix socket
_LONGEST_HOST = 253
_IPV6 = r"[0-9A-Fa-f:.]+"
_HOST = rf"(?:[^\s:/\[\]]+|\[{_IPV6}\])"
_LISTENING = re.compile(rf"tcp://{_HOST}:([0-9]{{1,5}}|\*)")
_WEB = re.compile(rf"{_HOST}:([0-9]{{1,5}})")
_NAMED = r"[A-Za-z0-9][A-Za-z0-9._-]*"
_REACHED = re.compile(rf"tcp://({_NAMED}|\[{_IPV6}(?:%{_NAMED})?\]):([0-9]{{1,5}})")


def can_listen(address: str) -> bool:
    """Whether a broker can be told to listen there: at tcp://HOST:PORT, where both may be *, or
    ipc://PATH."""
    tcp = _LISTENING.fullmatch(address)
    return tcp[1] == "*" or int(tcp[1]) <= LARGEST_PORT if tcp else _is_path(address)


def can_reach(address: str) -> bool:
    """Whether a broker can be there for a client: at tcp://HOST:PORT or ipc://PATH."""
    tcp = _REACHED.fullmatch(address)
    if tcp is None:
        return _is_path(address)
    return len(tcp[1]) <= _LONGEST_HOST and 1 <= int(tcp[2]) <= LARGEST_PORT


def can_serve(address: str) -> bool:
    """Whether pages can be served there: at HOST:PORT."""
    http = _WEB.fullmatch(address)
    return http is not None and int(http[1]) <= LARGEST_PORT


def is_loopback(host: str) -> bool:
    """Whether a host, by name or number, stands for addresses that no other machine reaches. Raises OSError
    if nobody knows the name."""
    found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    return all(ipaddress.ip_address(str(each[4][0]).partition("%")[0]).is_loopback for each in found)


def _is_path(address: str) -> bool:
    path = address.removeprefix("ipc://")
    return path != address and path.isprintable() and 0 < len(path.encode()) <= _LONGEST_IPC
