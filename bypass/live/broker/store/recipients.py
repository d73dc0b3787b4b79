"""The recipients of a stored publication, packed into bytes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import accumulate, chain, repeat
from struct import pack, unpack
from typing import NamedTuple

import numpy as np

from bypass.support.arrays import Ints


class Recipient(NamedTuple):
    """A client that an event is for, and its handles that the event matches."""

    client: int
    handles: tuple[int, ...]
    unfiltered: bool


def pack_recipients(recipients: Sequence[Recipient]) -> bytes:
    """Four bytes each: how many and whether all are plain, their numbers, their shapes, all their handles.

    A shape is the number of handles and a bit for `unfiltered`. Nearly always everybody has one handle and
    no such bit: then the recipients are plain, and their shapes are left out.
    """
    if not recipients:
        return b""
    clients, own, unfiltered = zip(*recipients, strict=True)
    handles = list(chain.from_iterable(own))
    if len(handles) == len(clients) and all(own) and True not in unfiltered:
        values = [len(clients) << 1 | 1, *clients, *handles]
    else:
        shapes = [len(some) << 1 | flag for some, flag in zip(own, unfiltered, strict=True)]
        values = [len(clients) << 1, *clients, *shapes, *handles]
    return pack(f"<{len(values)}I", *values)


def pack_plain(clients: Ints, handle: int) -> bytes:
    """As `pack_recipients`, of at least one client, all with this handle and no other."""
    count = len(clients)
    values = np.empty(2 * count + 1, "<u4")
    values[0] = count << 1 | 1
    values[1 : count + 1] = clients
    values[count + 1 :] = handle
    return values.tobytes()


def pack_groups(groups: Sequence[tuple[Ints, list[tuple[int, ...]], bool]]) -> bytes:
    """As `pack_recipients`, of groups of clients, each with handles, and whether these are unfiltered."""
    clients, handles, unfiltered = groups[0]
    first = handles[0]
    if len(groups) == 1 and not unfiltered and len(first) == 1 and handles.count(first) == len(handles):
        return pack_plain(clients, first[0])
    return pack_recipients(
        [
            Recipient(client, own, flag)
            for clients, handles, flag in groups
            for client, own in zip(clients.tolist(), handles, strict=True)
        ]
    )


def own_recipients(data: bytes, client: int) -> list[Recipient]:
    """Give those of packed recipients that are a client. Raises `ValueError` if they are none."""
    values = np.frombuffer(data, "<u4")
    count, plain = divmod(int(values[0]), 2) if len(values) else (0, 1)
    clients, shapes, handles = values[1 : count + 1], values[count + 1 : 2 * count + 1], values[count + 1 :]
    if not plain:
        handles = values[2 * count + 1 :]
    sizes = np.ones(count, np.int64) if plain else (shapes >> 1).astype(np.int64)
    if len(clients) != count or len(sizes) != count or sizes.sum() != len(handles):
        raise ValueError(f"{len(data)} bytes of {count} recipients")
    where = np.flatnonzero(clients == client)
    ends = np.cumsum(sizes)
    return [
        Recipient(
            client, tuple(handles[ends[i] - sizes[i] : ends[i]].tolist()), not plain and bool(shapes[i] & 1)
        )
        for i in where.tolist()
    ]


def unpack_recipients(data: bytes) -> Iterator[Recipient]:
    """Reverse of `pack_recipients`. Raises `ValueError`, `IndexError` or `struct.error` for anything else."""
    values: tuple[int, ...] = unpack(f"<{len(data) // 4}I", data) if data else (1,)
    count, plain = divmod(values[0], 2)
    clients, handles = values[1 : count + 1], values[count + 1 :]
    unfiltered: Iterable[bool] = repeat(False, count)
    own: Iterable[tuple[int, ...]] = zip(handles, strict=True)
    if not plain:
        shapes, handles = handles[:count], handles[count:]
        unfiltered = [bool(shape & 1) for shape in shapes]
        ends = accumulate(shape >> 1 for shape in shapes)
        own = [handles[end - (shape >> 1) : end] for shape, end in zip(shapes, ends, strict=True)]
    # The constructor of a named tuple, called a million times, is most of what starting a broker takes.
    return map(_as_recipient, zip(clients, own, unfiltered, strict=True))


_as_recipient: Callable[[tuple[int, tuple[int, ...], bool]], Recipient] = partial(tuple.__new__, Recipient)
