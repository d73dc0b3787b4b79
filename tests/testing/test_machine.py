"""The state machine holds for the built-in schemes in both worlds, and catches wrong ones."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from bypass import FilterScheme, run
from bypass.cli.group import commands
from bypass.scenarios import load
from bypass.testing.machine import SystemMachine
from bypass.testing.suites.filter_schemes import FilterSchemeSuite
from tests.testing.wrong_schemes import MovesOnce, OneEach, StartsEmpty


class Radial(FilterSchemeSuite):
    mechanism = "radial"
    capabilities = {"exact": True}


class BuiltInMachine(SystemMachine):
    suite = Radial  # and all others that are built in


class LiveMachine(BuiltInMachine):
    live = True


def tried(machine: type[SystemMachine], examples: int, steps: int, *phases: Phase) -> None:
    """Try a machine with the same examples each time."""
    chosen = settings(
        max_examples=examples,
        stateful_step_count=steps,
        deadline=None,
        derandomize=True,
        database=None,
        phases=[Phase.generate, *phases],
    )
    run_state_machine_as_test(machine, settings=chosen)


@pytest.mark.slow
def test_whatever_happens_nothing_is_lost_in_virtual_time() -> None:
    tried(BuiltInMachine, 25, 20)


@pytest.mark.slow
def test_whatever_happens_nothing_is_lost_live() -> None:
    tried(LiveMachine, 3, 8)


def caught(scheme: type[FilterScheme], folder: Path, steps: int, *phases: Phase) -> Path:
    """The scenario of what goes wrong with a scheme."""
    suite = type("Wrong", (FilterSchemeSuite,), {"mechanism": scheme})
    # Scripts have radii alone: a failure with areas in it is no scenario.
    without_areas = dict.fromkeys(("subscribe_areas", "change_areas"))
    machine = type("Caught", (SystemMachine,), {"suite": suite, "replays": folder, **without_areas})
    with pytest.raises(AssertionError, match="was told not to all whom it concerns") as failure:
        tried(machine, 50, steps, *phases)
    path = folder / "Caught.yaml"
    assert f"bypass run {path} replays it" in failure.value.__notes__
    return path


@pytest.mark.slow
@pytest.mark.parametrize("scheme", [MovesOnce, OneEach, StartsEmpty])
def test_what_is_wrong_is_written_as_a_scenario_that_shows_it(
    scheme: type[FilterScheme], tmp_path: Path
) -> None:
    extra = run(caught(scheme, tmp_path, 10)).summary()["extra"]
    assert extra["script"]["lost"] > 0
    assert extra["script"]["doubled"] == 0
    if scheme is not OneEach:  # which tells everybody, but not for all that it has subscribed
        assert extra["recall"] < 1


@pytest.mark.slow
def test_what_is_wrong_is_made_smaller_and_replayed_by_a_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sizes = []
    for phases in ((), (Phase.shrink,)):
        monkeypatch.setattr("hypothesis.internal.conjecture.engine.MAX_SHRINKS", 5)  # to the end takes long
        path = caught(StartsEmpty, tmp_path, 10, *phases)
        script = load(path).script
        assert script is not None
        sizes.append(len(script.steps))
    assert sizes[1] < sizes[0]
    said = CliRunner().invoke(commands, ["run", str(path), "--out", str(tmp_path / "out")])
    assert said.exit_code == 0, said.output
    summary = json.loads((tmp_path / "out" / "summary.json").read_text())
    assert summary["extra"]["script"]["lost"] > 0


class Dies(BuiltInMachine):
    live = True

    def end(self) -> None:
        self.world.restart_broker()
        raise AssertionError("something is wrong after that")


@pytest.mark.slow
def test_a_failure_in_which_the_broker_has_died_says_that_there_is_no_scenario_of_it(tmp_path: Path) -> None:
    """The simulator's broker has no store: without the restart, the scenario would show something else."""
    machine = type("DiesHere", (Dies,), {"replays": tmp_path})
    with pytest.raises(AssertionError, match="something is wrong") as failure:
        tried(machine, 1, 1)
    (note,) = [each for each in failure.value.__notes__ if "replays it" in each]
    assert note.startswith("there is no scenario that replays it: broker restarted at ")
    assert list(tmp_path.iterdir()) == []
