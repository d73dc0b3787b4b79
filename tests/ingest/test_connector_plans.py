"""Plans for connectors: the durability of the log and the distribution are exchanged while messages come."""

import asyncio
import logging
from pathlib import Path

import pytest

from bypass.ingest.connectors.durability import LogDurability
from bypass.ingest.devices.device import Device
from bypass.ingest.folder import IngestFolder
from bypass.ingest.service.connector_plans import ConnectorPlans
from bypass.ingest.stream.plans import submit_plan
from bypass.testing.worlds.reception import reception
from bypass.transitions import Action, Plan
from tests.ingest.pipeline import Pipeline, message


def plan(*actions: Action) -> Plan:
    return Plan(plan="careful", actions=actions)


def test_plans_are_carried_out_in_order_and_those_of_before_are_not(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    folder = IngestFolder(tmp_path)
    caplog.set_level(logging.INFO)
    before = submit_plan(folder.plans, plan(Action(proxy="durability", to="none")))
    with reception(tmp_path) as here:
        durability = LogDurability(here.log)
        plans = ConnectorPlans(folder, before, here.intake, durability, [])
        asyncio.run(plans.step())
        assert durability.name == "log-only"
        for name in ("none", "full-sync"):
            submit_plan(folder.plans, plan(Action(proxy="durability", to=name)))
            here.intake.submit("device", name.encode()).result(20)
        asyncio.run(plans.step())
        assert durability.name == "full-sync"
        here.intake.submit("device", b"afterwards").result(20)
        assert [payload for _, payload in here.logged()] == [b"none", b"full-sync", b"afterwards"]
        submit_plan(folder.plans, plan(Action(proxy="durability", to="nowhere")))
        submit_plan(folder.plans, plan(Action(proxy="durability", to="log-only")))
        asyncio.run(plans.step())
        assert durability.name == "log-only"
    assert "nowhere" in caplog.text
    assert "plan careful: log-only -> none: done" in caplog.text


def test_a_log_without_a_durability_of_its_own_says_so(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    folder = IngestFolder(tmp_path)
    submit_plan(folder.plans, plan(Action(proxy="durability", to="none")))
    with reception(tmp_path) as here:
        asyncio.run(ConnectorPlans(folder, 0, here.intake, None, []).step())
    assert "this log has one durability" in caplog.text


def test_the_stream_leaves_what_is_meant_for_connectors_to_them(tmp_path: Path) -> None:
    pipeline = Pipeline(tmp_path, Device(id="device0"))
    thin_out = Action(proxy="precompute", to="every-nth", set={"n": 2})
    both = plan(Action(proxy="durability", to="none"), thin_out)
    submit_plan(pipeline.folder.plans, both)
    pipeline.append(*(("device0", message("device0", 1_763_459_000_000 + n, a=n)) for n in range(4)))
    progress = pipeline.run()
    assert (progress.stored, progress.filtered) == (2, 2)
