"""Mechanisms of others, each in one file, in an installation."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from bypass.cli.group import commands
from bypass.errors import UnusableMechanism
from bypass.ingest.connectors.durability import LogDurability
from bypass.ingest.devices.device import Device
from bypass.ingest.devices.own_mechanisms import bring_mechanisms, own_mechanisms
from bypass.ingest.folder import IngestFolder
from bypass.ingest.service.connector_plans import ConnectorPlans
from bypass.ingest.service.status import read_status
from bypass.ingest.stream.plans import submit_plan
from bypass.support.extensions import load
from bypass.testing.worlds.reception import reception
from bypass.transitions import Action, Plan
from tests.ingest.pipeline import Pipeline

EXAMPLES = Path(__file__).parents[2] / "examples"
DEVICES = "{id: pump, parser: pairs.py:Pairs, policy: {to: rising, set: {step: 1}}}"
PLAN = "{plan: all, actions: [{proxy: precompute, to: rising, set: {step: 10}, members: [pump]}]}"
DURABILITY = """
from bypass.mechanisms.durability import FullSync

class Counting(FullSync):
    blocks = 0

    def settle(self, segment):
        Counting.blocks += 1
        super().settle(segment)
"""


def run(folder: Path, command: str, *arguments: str) -> Result:
    return CliRunner().invoke(commands, ["ingest", command, "--folder", str(folder), *arguments])


def test_a_policy_and_a_parser_in_one_file_each_are_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pipeline = Pipeline(tmp_path / "ingest")
    monkeypatch.chdir(EXAMPLES)
    done = run(tmp_path / "ingest", "mechanisms", "rising.py:Rising")
    assert done.output == f"{EXAMPLES}/rising.py:Rising\n"
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pairs.py").write_text((EXAMPLES / "pairs.py").read_text())
    (tmp_path / "devices.yaml").write_text(DEVICES)
    done = run(tmp_path / "ingest", "register", "devices.yaml")
    assert done.exit_code == 0, done
    for level in (1, 1.5, 3, 2):
        pipeline.append(("pump", f"level={level}".encode()))
        pipeline.step()
    assert [row["double"] for row in pipeline.rows()] == [1.0, 3.0]
    (tmp_path / "plan.yaml").write_text(PLAN)
    assert run(tmp_path / "ingest", "plan", "plan.yaml").exit_code == 0
    for level in (5, 20):
        pipeline.append(("pump", f"level={level}".encode()))
        pipeline.step()
        pipeline.restart()
    assert [row["double"] for row in pipeline.rows()] == [1.0, 3.0, 20.0]
    assert read_status(pipeline.folder).policies["rising step=10.0"] == 1
    assert pipeline.progress().dead_letters == {}


def test_connectors_are_given_a_durability_of_ones_own(tmp_path: Path) -> None:
    (tmp_path / "counting.py").write_text(DURABILITY)
    (tmp_path / "plan.yaml").write_text("{plan: count, actions: [{proxy: durability, to: counting}]}")
    done = run(tmp_path, "mechanisms", f"{tmp_path}/counting.py:Counting")
    assert done.exit_code == 0, done
    assert run(tmp_path, "plan", f"{tmp_path}/plan.yaml").exit_code == 0
    folder = IngestFolder(tmp_path)
    with reception(tmp_path) as here:
        durability = LogDurability(here.log, bring_mechanisms(folder))
        asyncio.run(ConnectorPlans(folder, 0, here.intake, durability, []).step())
        assert durability.name == "counting"
        here.intake.submit("device", b"message").result(20)
    assert load(f"{tmp_path}/counting.py:Counting").blocks >= 1


def test_what_is_no_mechanism_changes_nothing(tmp_path: Path) -> None:
    done = run(tmp_path, "mechanisms", f"{EXAMPLES}/pairs.py:Pairs")
    assert isinstance(done.exception, UnusableMechanism)
    assert "Pairs: expected a subclass of" in str(done.exception)
    assert run(tmp_path, "mechanisms").output == "no mechanisms were brought\n"


def test_a_file_that_is_gone_is_left_out(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    pipeline = Pipeline(tmp_path)
    gone = f"{tmp_path}/gone.py:Gone"
    pipeline.folder.mechanisms.write_text(json.dumps([gone]))
    for _ in range(2):
        bring_mechanisms(pipeline.folder)
    (told,) = [record.getMessage() for record in caplog.records]
    assert f"left out: {gone}: " in told
    run(tmp_path, "mechanisms", f"{EXAMPLES}/rising.py:Rising")
    assert own_mechanisms(pipeline.folder) == [gone, f"{EXAMPLES}/rising.py:Rising"]


def test_a_mechanism_is_removed_once_nothing_uses_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(EXAMPLES)
    pipeline = Pipeline(tmp_path / "ingest", Device(id="other"))
    rising, other = "rising.py:Rising", f"{tmp_path}/counting.py:Counting"
    (tmp_path / "counting.py").write_text(DURABILITY)
    run(tmp_path / "ingest", "mechanisms", rising, other)

    def refusal(*references: str) -> str:
        done = run(tmp_path / "ingest", "mechanisms", "--remove", *references)
        assert done.exit_code != 0
        assert len(own_mechanisms(pipeline.folder)) == 2
        return str(done.exception)

    pump = "[{id: pump, parser: pairs.py:Pairs, policy: rising}]"
    (tmp_path / "devices.yaml").write_text(pump)
    (tmp_path / "pairs.py").write_text((EXAMPLES / "pairs.py").read_text())
    assert run(tmp_path / "ingest", "register", f"{tmp_path}/devices.yaml").exit_code == 0
    assert refusal(rising).startswith("mechanism rising: devices have it as their policy: expected that")
    pipeline.append(("pump", b"level=1"))
    pipeline.step()
    (tmp_path / "devices.yaml").write_text(pump.replace("rising", "keep-everything"))
    assert run(tmp_path / "ingest", "register", f"{tmp_path}/devices.yaml").exit_code == 0
    assert "the stream runs it" in refusal(rising)
    pipeline.append(("pump", b"level=2"))
    pipeline.step()
    (tmp_path / "plan.yaml").write_text("{plan: p, actions: [{proxy: precompute, to: rising}]}")
    assert run(tmp_path / "ingest", "plan", f"{tmp_path}/plan.yaml").exit_code == 0
    assert "plan 1 names it, which is not carried out yet" in refusal(rising)
    submit_plan(
        pipeline.folder.plans, Plan(plan="p", actions=(Action(proxy="precompute", to="keep-everything"),))
    )
    pipeline.append(("pump", b"level=3"))
    pipeline.step()
    submit_plan(pipeline.folder.plans, Plan(plan="p", actions=(Action(proxy="durability", to="counting"),)))
    pipeline.append(("pump", b"level=4"))
    pipeline.step()
    assert "the latest plan for durability names it" in refusal(rising, other)
    assert "expected one that was brought" in refusal("pairs.py:Pairs")
    done = run(tmp_path / "ingest", "mechanisms", "--remove", rising)
    assert done.output == f"{other}\n"
    pipeline.restart()
    pipeline.append(("pump", b"level=5"))
    assert pipeline.run().stored == 5


def test_an_adaptive_policy_keeps_its_mechanisms(tmp_path: Path) -> None:
    run(tmp_path, "mechanisms", f"{EXAMPLES}/rising.py:Rising")
    (tmp_path / "policy.yaml").write_text(
        "{budget: 1GB, window: 1d, ladder: [{name: all, actions: [{proxy: precompute, to: keep-everything}]},"
        " {name: few, actions: [{proxy: precompute, to: rising}]}]}"
    )
    assert run(tmp_path, "adapt", f"{tmp_path}/policy.yaml").exit_code == 0
    done = run(tmp_path, "mechanisms", "--remove", f"{EXAMPLES}/rising.py:Rising")
    assert "the adaptive policy names it" in str(done.exception)
    assert run(tmp_path, "adapt", "--off").exit_code == 0
    done = run(tmp_path, "mechanisms", "--remove", f"{EXAMPLES}/rising.py:Rising")
    assert done.output == "no mechanisms are left\n"
