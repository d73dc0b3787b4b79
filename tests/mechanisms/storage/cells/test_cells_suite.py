"""Cells keep the promises of all storage mechanisms."""

from __future__ import annotations

from typing import Any, ClassVar

from bypass.testing.suites.storage import StorageSuite

AREA = [0.0, 0.0, 400.0, 400.0]


class TestCells(StorageSuite):
    mechanism = "cells"
    capabilities: ClassVar[dict[str, Any]] = {"routing": ("cells", {"area": AREA})}
    examples = 3
