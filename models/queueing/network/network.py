"""A network of brokers with its publishers and subscribers, out of a file."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping
from math import inf
from pathlib import Path
from typing import Annotated, Any, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from bypass.errors import BypassError, shown
from bypass.support.validation import Misfit, first_misfit
from bypass.transitions.yaml_text import NotYaml, parse_yaml

Seconds = Annotated[float, Field(gt=0, allow_inf_nan=False)]
Rate = Annotated[float, Field(gt=0, allow_inf_nan=False)]
Names = Annotated[tuple[str, ...], Field(min_length=1)]


class InvalidNetwork(BypassError):
    """A network that cannot be read, or that makes no sense."""


class _Group(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class BrokerNode(_Group):
    """A broker. `service` (s) is the time to find out who wants an event."""

    service: Seconds | None = None


class NetworkLink(_Group):
    """A link between two brokers. `service` (s) is the time to send an event over it."""

    between: tuple[str, str]
    service: Seconds | None = None


class Peer(_Group):
    """A participant at a broker: ON for `on` and OFF for `off` seconds on average; `service` (s) for each
    event."""

    broker: str
    on: Annotated[float, Field(gt=0, allow_inf_nan=True)] = inf
    off: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 0.0
    service: Seconds | None = None


class PublisherNode(Peer):
    """A publisher. `topics` gives its rate (1/s) of events of each topic."""

    topics: Annotated[dict[str, Rate], Field(min_length=1)]


class Subscriber(Peer):
    """A subscriber and the `topics` that it wants; `service` (s) is to process an event, `sending` to send it
    one."""

    topics: Names
    sending: Seconds | None = None


class BrokerNetwork(_Group):
    """Brokers, links between them, publishers and subscribers, by name.

    `service` (s) holds for every service that has none of its own; links without one take no time. An event
    goes from its publisher's broker along shortest paths (of as short ones, along brokers that come first in
    the file) to the brokers of all who want its topic, and passes each broker and link once.
    """

    service: Seconds
    brokers: Annotated[dict[str, BrokerNode], Field(min_length=1)]
    links: tuple[NetworkLink, ...] = ()
    publishers: Annotated[dict[str, PublisherNode], Field(min_length=1)]
    subscribers: Annotated[dict[str, Subscriber], Field(min_length=1)]

    @classmethod
    def load(cls, path: Path | str) -> Self:
        """The network in a YAML file. Raises `InvalidNetwork`, which names the key, and OSError."""
        try:
            text = Path(path).read_text(encoding="utf-8")
            data = parse_yaml(text, texts=True)  # the keys `on` and `off` would be truth values
        except (NotYaml, UnicodeDecodeError) as error:
            raise InvalidNetwork(f"{path}: {error}: expected YAML") from None
        if not isinstance(data, dict):
            raise InvalidNetwork(f"{path} holds {shown(data)}: expected {', '.join(cls.model_fields)}")
        try:
            return cls.model_validate(data)
        except ValidationError as error:
            raise InvalidNetwork(f"{path}: {first_misfit(error, _keys)}") from None

    @model_validator(mode="before")
    @classmethod
    def _empty_brokers(cls, data: Any) -> Any:
        """Accept a broker without keys of its own, which has no value in YAML."""
        brokers = data.get("brokers") if isinstance(data, dict) else None
        if not isinstance(brokers, dict):
            return data
        return {**data, "brokers": {name: {} if own in (None, "") else own for name, own in brokers.items()}}

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        known = ", ".join(self.brokers)
        linked: set[frozenset[str]] = set()
        for number, link in enumerate(self.links):
            key = ("links", number, "between")
            for end in link.between:
                if end not in self.brokers:
                    raise Misfit(key, f"is {end!r}: expected one of {known}")
            if (ends := frozenset(link.between)) in linked or len(ends) == 1:
                raise Misfit(key, f"is {', '.join(link.between)}: expected two brokers without another link")
            linked.add(ends)
        peers: Iterable[tuple[str, Mapping[str, Peer]]] = (
            ("publishers", self.publishers),
            ("subscribers", self.subscribers),
        )
        for group, members in peers:
            for name, peer in members.items():
                if peer.broker not in self.brokers:
                    raise Misfit((group, name, "broker"), f"is {peer.broker!r}: expected one of {known}")
        published = {topic for publisher in self.publishers.values() for topic in publisher.topics}
        for name, subscriber in self.subscribers.items():
            for topic in subscriber.topics:
                if topic not in published:
                    expected = ", ".join(sorted(published))
                    raise Misfit(("subscribers", name, "topics"), f"is {topic!r}: expected one of {expected}")
        for origin in dict.fromkeys(publisher.broker for publisher in self.publishers.values()):
            reached = self.paths(origin)
            for name, subscriber in self.subscribers.items():
                if subscriber.broker not in reached:
                    raise Misfit(
                        ("subscribers", name, "broker"),
                        f"is {subscriber.broker!r}: expected one that links lead to from {origin!r}",
                    )
        return self

    def paths(self, origin: str) -> dict[str, tuple[str, ...]]:
        """The brokers on a shortest path from `origin` to each that can be reached, both included."""
        neighbours: dict[str, list[str]] = {name: [] for name in self.brokers}
        for one, other in (link.between for link in self.links):
            neighbours[one].append(other)
            neighbours[other].append(one)
        order = {name: number for number, name in enumerate(self.brokers)}
        paths: dict[str, tuple[str, ...]] = {origin: (origin,)}
        waiting = deque([origin])
        while waiting:
            here = waiting.popleft()
            for there in sorted(neighbours[here], key=order.__getitem__):
                if there not in paths:
                    paths[there] = (*paths[here], there)
                    waiting.append(there)
        return paths


def _keys(path: tuple[int | str, ...]) -> list[str]:
    """The keys that a group of keys of the file may have."""
    groups: dict[int | str, type[BaseModel]] = {
        "brokers": BrokerNode,
        "links": NetworkLink,
        "publishers": PublisherNode,
        "subscribers": Subscriber,
    }
    return list((groups[path[0]] if path else BrokerNetwork).model_fields)
