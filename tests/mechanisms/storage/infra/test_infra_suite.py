"""The suite of storage mechanisms holds for storage with an edge, in virtual time and on the radio medium."""

from __future__ import annotations

from typing import Any, ClassVar

from bypass.mechanisms.storage.infra.edge.service.maker import InfraServiceMaker
from bypass.mechanisms.storage.infra.edge.service.settings import EdgeSettings
from bypass.sim.edges import EdgeModel
from bypass.testing.suites.storage import StorageSuite

BESIDE = {"local": ("one-hop", {}), "server": ("one-hop", {"server": 1}), "cells": ("cells", {})}


class TestInfra(StorageSuite):
    """Few clients in many cells: an owner that is alone in its cell has all copies."""

    mechanism = "infra"
    capabilities: ClassVar[dict[str, Any]] = {
        "keeps_when_owner_leaves": False,
        "routing": ("access-point", {}),
        "edges": ((510.0, 510.0),),
        "beside": BESIDE,
    }
    examples = 4


class TestInfraInOneCell(StorageSuite):
    mechanism = "infra"
    capabilities: ClassVar[dict[str, Any]] = {
        "routing": ("access-point", {}),
        "edges": ((510.0, 510.0),),
        "edge_model": EdgeModel(service=InfraServiceMaker(EdgeSettings(cells=1))),
        "beside": {},
    }
    examples = 2
