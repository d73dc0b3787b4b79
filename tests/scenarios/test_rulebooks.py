"""The rules of a scenario: built-in ones, files, and Python code; what cannot be used takes one line."""

from __future__ import annotations

from pathlib import Path

import pytest

from bypass.scenarios.experiments.files import InvalidScenario
from bypass.scenarios.experiments.rulebooks import BUILTIN, load_rules, rulebook_names
from bypass.scenarios.runs.loader import load
from bypass.transitions import Action, Plan, RuleBook, RuleLike
from bypass.transitions.rules.rules import Facts

BOOK = RuleBook.from_yaml("rules: [{rule: a, on: location, when: x > limit}]\nparameters: {limit: 3}")


class EveryTenth(RuleLike):
    """A rule in Python: each tenth client gossips."""

    rule = "every-tenth"
    on = "location"

    def fires(self, facts: Facts) -> bool:
        return bool(facts["client"] % 10 == 0 and facts["area"] > 0)

    def plan(self, facts: Facts) -> Plan:
        return Plan(plan="tenth", actions=(Action(proxy="direct", to="gossip", members=(facts["client"],)),))


class Elsewhere(EveryTenth):
    """A rule about something that nobody observes."""

    on = "weather"


RULES = [EveryTenth()]
OTHERS = (Elsewhere(),)
NUMBER = 7


@pytest.mark.parametrize("name", rulebook_names())
def test_rule_books_that_come_along_can_be_used(name: str) -> None:
    book, more = load_rules(name, {})
    assert book.rules
    assert more == ()
    assert load_rules(str(BUILTIN / f"{name}.yaml"), {}) == (book, ())


def test_there_are_some() -> None:
    assert {"borders", "cx-adhoc", "cx-gateway", "density", "density-healing"} <= set(rulebook_names())


def test_parameters_replace_those_of_the_book() -> None:
    book, _ = load_rules("density", {"delta": 3})
    assert book.parameters["delta"] == 3
    assert load_rules("density", {})[0].parameters["delta"] != 3


def test_a_file_of_ones_own(tmp_path: Path) -> None:
    path = tmp_path / "own.yaml"
    path.write_text(BOOK.to_yaml(), encoding="utf-8")
    assert load_rules(str(path), {"limit": 5})[0].parameters == {"limit": 5}


def test_rules_from_python() -> None:
    assert load_rules(f"{__name__}:BOOK", {"limit": 4})[0].parameters == {"limit": 4}
    book, more = load_rules(f"{__name__}:RULES", {})
    assert book.rules == ()
    assert more == tuple(RULES)


def test_a_scenario_uses_them() -> None:
    changes = {"rules.use": f"{__name__}:RULES", "runs": {}, "main": "", "checks": [], "baseline": ""}
    assert load("adhoc", changes=changes).rules.use == f"{__name__}:RULES"


def broken(tmp_path: Path, text: str) -> str:
    path = tmp_path / "broken.yaml"
    path.write_text(text, encoding="utf-8")
    return str(path)


@pytest.mark.parametrize(
    ("use", "problem"),
    [
        ("no-such-book", "expected a YAML file, module:name or one of borders"),
        ("no/such/file.yaml", "cannot be read"),
        ("no.such.module:RULES", "expected module:name, an import path"),
        (f"{__name__}:NO_RULES", "expected module:name, an import path"),
        (":", "expected module:name, an import path"),
        (f"{__name__}:NUMBER", "expected a RuleBook or a list of rules, not 7"),
        (f"{__name__}:OTHERS", "there is no topic 'weather'"),
    ],
)
def test_what_cannot_be_used_is_refused_in_one_line(use: str, problem: str) -> None:
    with pytest.raises(InvalidScenario) as refused:
        load_rules(use, {})
    assert problem in str(refused.value)
    assert repr(use) in str(refused.value)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("rules: [", "not YAML"),
        ("rules: []\nrules: []\n", "line 2: key 'rules' is in line 1 already"),
        ("rules: 5", "rules"),
        ("rules: [{rule: a, on: location, when: 'x >'}]", "condition"),
        ("rules: [{rule: a, on: location, when: elsewhere > 3}]", "uses 'elsewhere'"),
        ("rules: [{rule: a, on: location, about: area, remember: {mode: 1}}]", "initial"),
        ("rules: [{rule: a, on: density, plan: {actions: []}}]", "actions"),
    ],
)
def test_a_broken_book_is_refused_in_one_line(tmp_path: Path, text: str, problem: str) -> None:
    with pytest.raises(InvalidScenario) as refused:
        load_rules(broken(tmp_path, text), {})
    assert problem in str(refused.value)
    assert "\n" not in str(refused.value)


def test_unknown_parameters_are_refused() -> None:
    with pytest.raises(
        InvalidScenario, match=r"rules 'density': rule book has no parameter 'gamma'; it has: "
    ):
        load_rules("density", {"gamma": 1})
