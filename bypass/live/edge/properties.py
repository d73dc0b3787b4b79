"""The keys of the properties file of Vieira 2018 (Table 4.1), and the fields that stand for them."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from bypass.errors import shown
from bypass.live.config_files import InvalidConfig
from bypass.transitions.validation import KeyPath

Convert = Callable[[str], Any]


class PropertyField(NamedTuple):
    """The field that a key of the source stands for, and how its value is read. Raises ValueError."""

    name: str
    convert: Convert


def _seconds(text: str) -> float:
    return _number(text) / 1000


def _number(text: str) -> int:
    if not re.fullmatch(r"-?[0-9]{1,18}", text):
        raise ValueError("expected a whole number")
    return int(text)


def _truth(text: str) -> bool:
    if text not in ("true", "false"):
        raise ValueError("expected true or false")
    return text == "true"


def _ranking(text: str) -> str:
    return "popular" if _truth(text) else "everything"


OWN = "infra.own."
FIELDS: Mapping[str, PropertyField] = {
    f"{OWN}ip": PropertyField("host", str),
    f"{OWN}keys": PropertyField("keys", str),
    f"{OWN}group": PropertyField("group", str),
    f"{OWN}store": PropertyField("store", str),
    f"{OWN}mobile.port": PropertyField("client_port", _number),
    f"{OWN}mobile.nThreads": PropertyField("client_requests", _number),
    f"{OWN}interinfra.port": PropertyField("edge_port", _number),
    f"{OWN}interinfra.nThreads": PropertyField("edge_requests", _number),
    f"{OWN}discoveryMulticast.ip": PropertyField("discovery_group", str),
    f"{OWN}discoveryMulticast.port": PropertyField("discovery_port", _number),
    f"{OWN}cache.localPopularity.size": PropertyField("local_entries", _number),
    f"{OWN}cache.prefetch.metadata.size": PropertyField("prefetch_metadata_entries", _number),
    f"{OWN}cache.prefetch.data.size": PropertyField("prefetch_data_entries", _number),
    f"{OWN}cache.global.metadata.size": PropertyField("global_metadata_entries", _number),
    f"{OWN}cache.global.data.size": PropertyField("global_data_entries", _number),
    f"{OWN}cache.mobileAddresses.size": PropertyField("addresses", _number),
    f"{OWN}cache.mobileAddresses.writeTTL": PropertyField("address_ttl_s", _seconds),
    f"{OWN}subNeedsDisseminationDelay": PropertyField("needs_period_s", _seconds),
    f"{OWN}subNeedsReplyDisseminationTimeWindow": PropertyField("slot_s", _seconds),
    f"{OWN}retrieveLocalPopItemsToCacheDelay": PropertyField("retrieval_period_s", _seconds),
    f"{OWN}maxLocalPopularItemsToOffload": PropertyField("most_popular", _number),
    f"{OWN}popularItemsActiveWindow": PropertyField("active_window", _number),
    f"{OWN}numberOfBatchInsertsToLocalPopularityCache": PropertyField("batches", _number),
    f"{OWN}localNodesRequestsTimeout": PropertyField("client_timeout_s", _seconds),
    f"{OWN}infraRequestsTimeout": PropertyField("edge_timeout_s", _seconds),
    f"{OWN}popularityEntryMaxStorageLocations": PropertyField("most_replicas", _number),
    f"{OWN}localDataGloballyConsumedInitialIgnoreCounter": PropertyField("consumed_ignored", _number),
    f"{OWN}usesPopRankingAlgorithm": PropertyField("ranking", _ranking),
    f"{OWN}usesConsumptionNotification": PropertyField("consumption_notices", _truth),
    "mobiles.inSimulationEnvironment": PropertyField("simulated", _truth),
}
"""By the key of the source, which has none for key files and the store."""

_OTHER = re.compile(r"infra\.other\.([0-9]{1,3})\.(ip|port|key)")
_OF_OTHERS = {
    "ip": PropertyField("host", str),
    "port": PropertyField("port", _number),
    "key": PropertyField("key", str),
}
_BY_LOWER = {key.lower(): key for key in FIELDS}
"""The source itself spells one of its keys in two ways."""


def from_properties(where: str, text: str) -> tuple[dict[str, Any], list[int]]:
    """Read the fields of an EdgeConfig from a properties file, and the numbers that other edges have in it.
    Raises InvalidConfig, which names `where`, the key, the value and what was expected."""
    data: dict[str, Any] = {}
    others: dict[int, dict[str, Any]] = {}
    for line, key, value in _entries(where, text):
        other = _OTHER.fullmatch(key)
        group = data if other is None else others.setdefault(int(other[1]), {})
        field = FIELDS.get(_BY_LOWER.get(key.lower(), key)) if other is None else _OF_OTHERS[other[2]]
        if field is None:
            known = ", ".join((*FIELDS, "infra.other.N.ip, infra.other.N.port, infra.other.N.key"))
            raise InvalidConfig(f"{where}, line {line}: {key} is unknown: expected one of {known}")
        name, convert = field
        if name in group:
            raise InvalidConfig(f"{where}, line {line}: {key} is there twice: expected it once")
        try:
            group[name] = convert(value)
        except ValueError as error:
            raise InvalidConfig(f"{where}: {key} is {shown(value)}: {error}") from None
    numbers = sorted(others)
    if others:
        data["edges"] = [others[number] for number in numbers]
    return data, numbers


def key_of(numbers: Sequence[int], path: KeyPath) -> str:
    """The key of the source for a field; the field itself if it has none. Other edges have these numbers."""
    if path[0] == "edges" and len(path) > 1:
        part = {"host": ".ip", "port": ".port", "key": ".key"}.get(str(path[-1]), "")
        return f"infra.other.{numbers[int(path[1])]}{part}"
    named = (key for key, field in FIELDS.items() if field.name == path[0])
    return next(named, ".".join(map(str, path)))


def _entries(where: str, text: str) -> list[tuple[int, str, str]]:
    """The lines that have a key and a value, with their numbers."""
    found = []
    for number, line in enumerate(text.splitlines(), 1):
        line = line.strip()
        if not line or line[0] in "#!":
            continue
        key, separator, value = line.partition("=")
        if not separator:
            raise InvalidConfig(f"{where}, line {number}: {shown(line)}: expected a key, = and a value")
        found.append((number, key.strip(), value.strip()))
    return found
