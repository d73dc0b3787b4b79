"""The suite of storage mechanisms holds for those built in, and catches wrong ones."""

from __future__ import annotations

from typing import Any, ClassVar

import pytest

from bypass.testing.suites.storage import StorageSuite
from tests.mechanisms.storage.wrong_mechanisms import Forgetful, Overlapping, Repeating, Resurrecting

AT_OWNERS = {"keeps_when_owner_leaves": False}
BASELINE = {**AT_OWNERS, "lossless": False}


class TestLocal(StorageSuite):
    mechanism = "local"
    capabilities: ClassVar[dict[str, Any]] = AT_OWNERS


class TestLocalOverSeveralHops(StorageSuite):
    mechanism = "local"
    capabilities: ClassVar[dict[str, Any]] = {**AT_OWNERS, "routing": ("dsdv", {})}
    examples = 3


class TestServer(StorageSuite):
    mechanism = "server"
    parameters: ClassVar[dict[str, Any]] = {"server": 1}


class TestTransient(StorageSuite):
    mechanism = "transient"
    capabilities: ClassVar[dict[str, Any]] = {**BASELINE, "keeps_past": False}


class TestTtl(StorageSuite):
    mechanism = "ttl"
    parameters: ClassVar[dict[str, Any]] = {"lifetime_s": 1000.0}
    capabilities: ClassVar[dict[str, Any]] = BASELINE


class TestLastK(StorageSuite):
    mechanism = "last-k"
    capabilities: ClassVar[dict[str, Any]] = BASELINE


class TestPull(StorageSuite):
    mechanism = "pull"
    capabilities: ClassVar[dict[str, Any]] = {**BASELINE, "notifies": False, "period_s": 5.0}


@pytest.mark.parametrize(
    ("wrong", "test"),
    [
        (Repeating, "test_withdrawn_queries_are_told_nothing"),
        (Resurrecting, "test_what_is_deleted_is_gone"),
        (Forgetful, "test_windows_of_the_past_are_kept"),
        (Overlapping, "test_the_past_comes_in_pages"),
    ],
)
def test_a_wrong_mechanism_is_caught(wrong: type, test: str) -> None:
    kind = type("Wrong", (StorageSuite,), {"mechanism": wrong, "capabilities": AT_OWNERS})
    with pytest.raises(AssertionError):
        getattr(kind(), test)()
