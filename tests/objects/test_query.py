"""Queries that break the limits are refused in one line."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from bypass.errors import InvalidQuery
from bypass.events.filters import Subscription, attr
from bypass.objects.query import MOST_FILTERS, ObjectQuery
from bypass.objects.tags import TagFormula

A = TagFormula.parse("a")


@pytest.mark.parametrize(
    ("fields", "complaint"),
    [
        ({"subscriber": -1}, "subscriber -1: expected a number of 32 bits"),
        ({"id": 2 << 32}, "query 8589934592: expected one of subscriber 1"),
        ({"near": (0.0, 0.0, 0.0)}, r"near \(0.0, 0.0, 0.0\): expected x, y and a radius above 0"),
        ({"near": (0.0, float("nan"), 1.0)}, r"near .*: expected x, y and a radius above 0"),
        ({"near": (0.0, 1.0)}, r"near .*: expected x, y and a radius above 0"),
        ({"namespace": "x" * 129}, "query's namespace of 129 bytes: expected at most 128"),
        (
            {"where": Subscription([attr(f"a{i}") == 1 for i in range(MOST_FILTERS + 1)])},
            "query with 33 filters: expected at most 32",
        ),
    ],
)
def test_limits(fields: dict[str, Any], complaint: str) -> None:
    with pytest.raises(InvalidQuery, match=f"^{complaint}$"):
        replace(ObjectQuery(1 << 32, 1, A), **fields)
