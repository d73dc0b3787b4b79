"""The built-in routing mechanisms pass the suite that others' are tested with."""

from __future__ import annotations

from bypass.testing.suites.routing import GRID, SIDE, RoutingSuite


class BuiltIn(RoutingSuite):
    examples = 12


class TestOneHop(BuiltIn):
    mechanism = "one-hop"
    capabilities = {"multihop": False, "settled_s": 0.1, "patience_s": 2.0}


class TestDsdv(BuiltIn):
    mechanism = "dsdv"
    capabilities = {"settled_s": 20.0, "patience_s": 60.0}


class TestCellRouting(BuiltIn):
    mechanism = "cells"
    parameters = {"area": (0.0, 0.0, GRID.columns * SIDE, GRID.rows * SIDE), "side": SIDE}
    capabilities = {"patience_s": 10.0}


class TestAccessPoint(BuiltIn):
    mechanism = "access-point"
    capabilities = {"multihop": False, "patience_s": 10.0}
