"""Checks the arguments of `connect` before anything is opened."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from numbers import Real
from typing import Any

from bypass.errors import InvalidInterval, shown
from bypass.live.addresses import can_reach
from bypass.live.adhoc.neighbours import Neighbours
from bypass.live.client.errors import InvalidArgument, InvalidEndpoint
from bypass.protocol.session import LONGEST_NAME, is_name

SHORTEST_INTERVAL_S = 0.001
MOST_KNOWN = 256
"""Edges that one client knows."""


def check_endpoint(endpoint: Any) -> None:
    """Raises InvalidEndpoint for what is no address of a broker."""
    if not isinstance(endpoint, str) or not can_reach(endpoint):
        nearby = ", or neighbours" if endpoint is None else ""
        raise InvalidEndpoint(
            f"endpoint {shown(endpoint)}: no address: expected tcp://host:port or ipc://path{nearby}"
        )


def check_name(name: Any, needed: bool) -> None:
    """Raises InvalidArgument for what a broker would not take for the name of a session; who has no keys is
    known by nothing else, and so is `needed` to have one."""
    if not is_name(name, least=int(needed)):
        length = f" of {len(name)} characters" if isinstance(name, str) else ""
        why = ": without keys a session has no other" if needed else ""
        raise InvalidArgument(
            f"name {shown(name)}{length}: expected {int(needed)} to {LONGEST_NAME} printable characters{why}"
        )


def check_truth(what: str, value: Any) -> None:
    """Raises InvalidArgument for what is no truth value: a text, which is always true, says nothing."""
    if not isinstance(value, bool):
        raise InvalidArgument(f"{what} {shown(value)}: expected True or False")


def check_kept(kept: Any) -> None:
    """Raises InvalidArgument for another word than the two there are."""
    if not isinstance(kept, str) or kept not in ("keep", "drop"):
        raise InvalidArgument(f"kept {shown(kept)}: expected 'keep' or 'drop'")


def check_neighbours(neighbours: Any) -> None:
    """Raises InvalidArgument for what does not say who is nearby."""
    if neighbours is not None and not isinstance(neighbours, Neighbours):
        raise InvalidArgument(f"neighbours {shown(neighbours)}: expected Neighbours or None")


def with_edges(neighbours: Neighbours | None, edges: Any) -> Neighbours | None:
    """Read the key files of edges that are believed. Raises InvalidArgument for edges without neighbours, for
    what has no files in it and for two edges of one name, InvalidKeys, and MissingExtra."""
    if isinstance(edges, str | bytes) or not isinstance(edges, Sequence):
        raise InvalidArgument(f"edges {shown(edges)}: expected a list of .pub files")
    if not edges:
        return neighbours
    if neighbours is None:
        raise InvalidArgument(f"edges {shown(edges)}: expected neighbours, too: edges are among them")
    if len(edges) > MOST_KNOWN:
        raise InvalidArgument(f"{len(edges)} edges: expected at most {MOST_KNOWN}")
    from bypass.live.edge.keys import load_known_edge

    known = [load_known_edge(each) for each in edges]
    names = [each.name for each in known]
    for name in names:
        if names.count(name) > 1:
            raise InvalidArgument(f"edges: {shown(name)} is there twice: expected each once")
    return replace(neighbours, edges=tuple(known))


def check_no_broker(keys: Any, open_broker: bool, durable: bool, kept: str) -> None:
    """Raises InvalidArgument for arguments that only a broker has a use for."""
    given = {"keys": keys is not None, "open": open_broker, "durable": not durable, "kept": kept != "keep"}
    for what, is_given in given.items():
        if is_given:
            raise InvalidArgument(f"{what}: expected it with a broker alone, and endpoint is None")


def check_mechanisms(mechanisms: Any) -> None:
    """Raises InvalidArgument for what has no mechanisms in it; a text is one of them, not several."""
    if isinstance(mechanisms, str) or not isinstance(mechanisms, Iterable):
        raise InvalidArgument(f"mechanisms {shown(mechanisms)}: expected a list of classes or references")


def patience_of(seconds: Any) -> float:
    """The seconds, which may be infinite. Raises InvalidArgument."""
    number = _number(seconds)
    if not number >= 0.0:
        raise InvalidArgument(f"patience {shown(seconds)}: expected seconds, 0 or more")
    return number


def interval_of(seconds: Any) -> float:
    """The seconds. Raises InvalidInterval."""
    number = _number(seconds)
    if not SHORTEST_INTERVAL_S <= number < math.inf:
        raise InvalidInterval(f"interval {shown(seconds)}: expected seconds, {SHORTEST_INTERVAL_S:g} or more")
    return number


def _number(value: Any) -> float:
    """A number as a float; not a number, what is none or too large."""
    if isinstance(value, bool) or not isinstance(value, Real):
        return math.nan
    try:
        return float(value)
    except OverflowError:
        return math.nan
