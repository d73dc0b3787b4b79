"""Rules: they fire when they should, say why, and what they ask for is what is executed."""

from __future__ import annotations

import weakref
from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from bypass.transitions import (
    Firing,
    InvalidRule,
    Plan,
    Record,
    ReentrantTransition,
    Rule,
    RuleBook,
    RuleEngine,
    RuleLike,
)
from bypass.transitions.rules import rule_engine as limits
from bypass.transitions.rules.rules import Facts

TOPICS = {
    "density": frozenset({"area", "place", "members", "rho"}),
    "location": frozenset({"client", "area", "scheme"}),
    "tick": frozenset({"second"}),
}

DENSITY = """\
parameters:
  delta: 8
  hysteresis: 0
initial:
  mode: low
rules:
- rule: dense
  on: density
  when: rho > delta + hysteresis and mode != 'high'
  about: area
  remember:
    mode: high
  plan:
    scope: '{area}'
    decision: '{next_decision}'
    why: '{place} is crowded: {rho}'
    actions:
    - proxy: clients
      to: gossip
      members: '{members}'
- rule: sparse
  on: density
  when: rho <= delta - hysteresis and mode == 'high'
  about: area
  remember:
    mode: low
  plan:
    scope: '{area}'
    decision: '{next_decision}'
    actions:
    - proxy: clients
      to: plan-b
      members: '{members}'
- rule: enter-high
  on: location
  when: area != 0 and scheme != 'attract' and mode == 'high'
  cooldown: 5.0
  plan:
    plan: enter
    scope: '{area}'
    decision: '{decision}'
    actions:
    - proxy: filter
      to: attract
      members:
      - '{client}'
    - proxy: lc
      to: gossip
      set:
        p: 0.4
- rule: enter-low
  on: location
  when: area != 0 and scheme != 'attract' and mode == 'low'
  plan:
    plan: enter
    scope: '{area}'
    decision: '{decision}'
    actions:
    - proxy: lc
      to: plan-b
"""

BOOK = RuleBook.from_yaml(DENSITY)


class World:
    """A rule engine with a clock to set; plans are written down."""

    def __init__(self, book: RuleBook = BOOK) -> None:
        self.now = 0.0
        self.plans: list[Plan] = []
        self.rules = RuleEngine(book, self.execute, lambda: self.now, TOPICS)

    def execute(self, plan: Plan) -> list[Record]:
        self.plans.append(plan)
        number = len(self.plans)
        return [
            Record(f"p-{number}/{i}", plan.plan, plan.who, plan.why, "h", self.now, a.proxy, outcome="done")
            for i, a in enumerate(plan.actions)
        ]

    def density(self, rho: float, area: int = 1, members: Sequence[int] = (3, 4)) -> list[Firing]:
        facts = {"area": area, "place": f"place {area}", "members": list(members), "rho": rho}
        return self.rules.observe("density", area, facts)

    def location(self, client: int, area: int = 1, scheme: str = "radial") -> list[Firing]:
        return self.rules.observe("location", client, {"client": client, "area": area, "scheme": scheme})


def book(*rules: dict[str, Any], **more: Any) -> RuleBook:
    return RuleBook.from_data({"rules": rules, **more})


def rho(members: int, radius: float) -> float:
    return members * 10_000 / radius**2


# The density rule


@pytest.mark.parametrize(
    ("members", "radius", "value"),
    [(8, 100, 8.0), (9, 100, 9.0), (5, 75, 8.89), (10, 150, 4.44), (20, 150, 8.89), (3, 50, 12.0)],
)
def test_densities(members: int, radius: float, value: float) -> None:
    assert rho(members, radius) == pytest.approx(value, abs=0.005)
    fired = World().density(rho(members, radius))
    assert [f.rule for f in fired] == (["dense"] if value > 8 else [])


def test_an_area_begins_sparse_and_changes_when_the_limit_is_crossed() -> None:
    world = World()
    seen = [[f.rule for f in world.density(value)] for value in (8.0, 8.89, 9.0, 8.89, 8.0, 4.44, 12.0)]
    assert seen == [[], ["dense"], [], [], ["sparse"], [], ["dense"]]
    assert [(p.plan, p.scope, p.decision) for p in world.plans] == [
        ("dense", 1, 1),
        ("sparse", 1, 2),
        ("dense", 1, 3),
    ]


@pytest.mark.parametrize(("hysteresis", "changes"), [(0, 10), (1, 0)])
def test_hysteresis_keeps_from_oscillating(hysteresis: int, changes: int) -> None:
    world = World(BOOK.with_parameters({"hysteresis": hysteresis}))
    for _ in range(5):
        world.density(8.89)
        world.density(8.0)
    assert len(world.plans) == changes


def test_with_hysteresis_what_is_decisive_still_decides() -> None:
    world = World(BOOK.with_parameters({"hysteresis": 1}))
    seen = [[f.rule for f in world.density(value)] for value in (9.0, 9.01, 7.01, 8.9, 7.0, 9.0)]
    assert seen == [[], ["dense"], [], [], ["sparse"], []]


@given(st.lists(st.tuples(st.integers(1, 3), st.floats(0, 20)), max_size=40), st.floats(0, 3))
@settings(max_examples=40, deadline=None)
def test_each_area_alternates_with_numbers_of_its_own(
    seen: list[tuple[int, float]], hysteresis: float
) -> None:
    world = World(BOOK.with_parameters({"hysteresis": hysteresis}))
    for area, value in seen:
        world.density(value, area)
    for area in (1, 2, 3):
        plans = [plan for plan in world.plans if plan.scope == area]
        assert [plan.plan for plan in plans] == [("dense", "sparse")[i % 2] for i in range(len(plans))]
        assert [plan.decision for plan in plans] == list(range(1, len(plans) + 1))
        assert world.rules.decisions.get(area, 0) == len(plans)


def test_who_enters_gets_what_the_area_has_now() -> None:
    world = World()
    assert world.location(7, area=0) == []
    world.location(7)
    world.density(9.0)
    world.location(8)
    world.location(8, area=2)
    assert [(p.plan, p.scope, p.decision, p.actions[-1].to) for p in world.plans] == [
        ("enter", 1, 0, "plan-b"),
        ("dense", 1, 1, "gossip"),
        ("enter", 1, 1, "gossip"),
        ("enter", 2, 0, "plan-b"),
    ]
    assert world.location(8, scheme="attract") == []


def test_a_decision_can_be_made_without_telling_anybody() -> None:
    world = World(
        book(
            {
                "rule": "dense",
                "on": "density",
                "when": "rho > 8 and since == 0",
                "about": "area",
                "remember": {"since": "{next_decision}"},
            },
            {
                "rule": "enter",
                "on": "location",
                "plan": {"decision": "{decision}", "actions": [{"proxy": "lc", "set": {"since": "{since}"}}]},
            },
            initial={"since": 0},
        )
    )
    for value in (8.0, 9.0, 9.0):
        world.density(value)
    world.location(7)
    assert world.rules.decisions == {1: 1}
    assert (world.plans[0].decision, world.plans[0].actions[0].set) == (1, {"since": 1})


# What is written down


def test_a_firing_says_why_and_what_became_of_it() -> None:
    world = World()
    world.now = 12.5
    (firing,) = world.density(8.89)
    assert world.rules.firings == [firing]
    assert (firing.at, firing.rule, firing.topic, firing.subject) == (12.5, "dense", "density", 1)
    assert firing.why == (
        "rho > delta + hysteresis and mode != 'high' (rho = 8.89, delta = 8, hysteresis = 0, mode = 'low')"
    )
    assert firing.facts == {
        "rho": 8.89,
        "delta": 8,
        "hysteresis": 0,
        "mode": "low",
        "area": 1,
        "next_decision": 1,
        "place": "place 1",
        "members": [3, 4],
    }
    assert (firing.plan, firing.outcomes, firing.error) == ("p-1", ("done",), "")


def test_a_plan_for_nobody_is_no_plan() -> None:
    """Members that are none are nothing to do, not a failure: the rule has fired and remembers it."""
    world = World()
    world.density(9.0)
    gone: dict[str, object] = {"area": 1, "place": "place 1", "members": [], "rho": 0.0}
    (firing,) = world.rules.observe("density", 1, gone)
    assert (firing.rule, firing.plan, firing.error) == ("sparse", "", "")
    assert [firing.rule for firing in world.density(9.0)] == ["dense"]


def test_what_a_plan_says_of_others_is_done_where_members_are_none() -> None:
    plan = {"actions": [{"proxy": "a", "to": "x", "members": "{members}"}, {"proxy": "b", "to": "y"}]}
    rule = Rule.model_validate({"rule": "both", "on": "density", "plan": plan})
    made = rule.plan({"members": []})
    assert made is not None
    assert [action.proxy for action in made.actions] == ["b"]


def test_a_firing_keeps_the_facts_as_they_were() -> None:
    world = World()
    members = [3, 4]
    facts = {"area": 1, "place": "p", "members": members, "rho": 9.0}
    (firing,) = world.rules.observe("density", 1, facts)
    members.clear()
    assert firing.facts["members"] == [3, 4]


def test_plans_carry_reasons() -> None:
    world = World()
    world.density(8.89)
    world.density(4.0)
    assert [plan.who for plan in world.plans] == ["rule dense", "rule sparse"]
    assert world.plans[0].why == "place 1 is crowded: 8.89"
    assert world.plans[1].why.startswith("rho <= delta - hysteresis and mode == 'high' (rho = 4, delta = 8")


def test_what_is_kept_is_bounded() -> None:
    world = World(book({"rule": "always", "on": "tick"}))
    for second in range(limits.KEPT_FIRINGS + 5):
        world.rules.observe("tick", 0, {"second": second})
    assert len(world.rules.firings) == limits.KEPT_FIRINGS
    assert world.rules.firings[-1].why == "always"


# Cool-down


def test_a_cool_down_is_kept_for_each_subject() -> None:
    world = World()
    world.density(9.0)
    fired = []
    for world.now, client in [(0.0, 7), (0.0, 8), (4.9, 7), (5.0, 7), (9.0, 8), (9.9, 7), (10.0, 7)]:
        fired += [(world.now, client) for _ in world.location(client)]
    assert fired == [(0.0, 7), (0.0, 8), (5.0, 7), (9.0, 8), (10.0, 7)]
    assert world.rules.suppressed == {"enter-high": 2}
    assert world.rules.observe("location", 9, {"client": 9, "area": 2, "scheme": "radial"})


class Visitor:
    pass


def test_who_does_not_come_back_is_forgotten_when_the_cool_down_is_over() -> None:
    world = World(book({"rule": "r", "on": "tick", "cooldown": 5}))
    visitor = Visitor()
    seen = weakref.ref(visitor)
    world.rules.observe("tick", visitor, {"second": 0})
    world.rules.firings.clear()
    del visitor
    assert seen() is not None
    world.now = 5.0
    world.rules.observe("tick", "somebody else", {"second": 5})
    assert seen() is None


# Templates


def test_gaps_keep_the_type_of_what_fills_them() -> None:
    world = World()
    world.density(9.0, members=[5, 6])
    world.location(7)
    dense, enter = world.plans
    assert dense.actions[0].members == (5, 6)
    assert enter.actions[0].members == (7,)
    assert enter.actions[1].set == {"p": 0.4}


def test_facts_that_do_not_fit_the_plan_are_written_down_and_change_nothing() -> None:
    world = World()
    (firing,) = world.density(9.0, area=70_000)
    assert "plan: scope is 70000: Input should be less than or equal to 65535" in firing.error
    assert firing.outcomes == ()
    assert world.plans == []
    assert world.rules.decisions == {}
    (again,) = world.density(9.0, area=70_000)
    assert again.facts["mode"] == "low"
    world.rules.observe("density", 1, {"area": 1, "rho": 9.0, "members": [1]})
    assert "there is no fact 'place'" in world.rules.firings[-1].error


@pytest.mark.parametrize(
    ("plan", "problem"),
    [
        ({"actions": []}, "plan: actions is []: Tuple should have at least 1 item"),
        ({"actions": [{"to": "{client}"}]}, "plan: actions.0.proxy is missing"),
        ({"actions": [{"proxy": "x"}]}, "an action needs `to`"),
        ({"actions": [{"proxy": "x", "too": "{client}"}]}, "actions.0.too is '{client}': Extra inputs"),
        ({"actions": [{"proxy": "x", "to": "y"}], "scope": "{area"}, "scope is '{area': Input should be a"),
        ({"actions": [{"proxy": "x", "to": "y"}], "scope": "area"}, "scope is 'area': Input should be a"),
    ],
)
def test_templates_that_can_never_be_a_plan(plan: dict[str, Any], problem: str) -> None:
    with pytest.raises(InvalidRule) as caught:
        book({"rule": "r", "on": "location", "plan": plan})
    assert str(caught.value).startswith("rule 'r': plan: ")
    assert problem in str(caught.value)


# Books


def test_a_book_comes_back_as_it_was() -> None:
    assert BOOK.to_yaml() == DENSITY.replace(" on:", " 'on':"), "unquoted, it is true for YAML"
    assert RuleBook.from_yaml(BOOK.to_yaml()) == BOOK
    assert BOOK.with_parameters({"delta": 10}).parameters == {"delta": 10, "hysteresis": 0}


values = st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=5) | st.none()
names = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=6)


@given(
    st.dictionaries(names, values, max_size=3),
    st.lists(
        st.builds(
            Rule,
            rule=names,
            on=names,
            when=st.sampled_from([None, "a > 1", "b == 'x' or not c"]),
            cooldown=st.floats(0, 1e6),
            about=st.none() | names,
            remember=st.dictionaries(names, values, max_size=2),
        ),
        max_size=3,
    ),
)
@settings(max_examples=40, deadline=None)
def test_any_book_comes_back_as_it_was(parameters: dict[str, Any], rules: list[Rule]) -> None:
    first = RuleBook(parameters=parameters, initial=parameters, rules=tuple(rules))
    assert RuleBook.from_yaml(first.to_yaml()) == first


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({}, "rule book: rules is missing"),
        ({"rules": [{"rule": "r"}]}, "rule book: rules.0.on is missing"),
        (
            {"rules": [{"rule": "r", "on": "t", "cooldown": -1}]},
            "rules.0.cooldown is -1: Input should be greater",
        ),
        ({"rules": [{"rule": "r", "on": "t", "wen": "x"}]}, "rules.0.wen is 'x': Extra inputs"),
        (
            {"rules": [{"rule": "r", "on": "t", "when": "a.b"}]},
            "rule 'r': condition 'a.b': 'a.b' is not allowed",
        ),
        (
            {"rules": [{"rule": "r", "on": "t", "when": "next_decision > 3"}]},
            "rule 'r': condition 'next_decision > 3': next_decision is for plans, ask for decision",
        ),
        (None, "rule book: rule book is None"),
    ],
)
def test_books_that_are_none(data: Any, message: str) -> None:
    with pytest.raises(InvalidRule) as caught:
        RuleBook.from_data(data)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_text_that_is_no_book() -> None:
    with pytest.raises(InvalidRule, match=r"rule book is not YAML: .* line 1"):
        RuleBook.from_yaml("rules: [")
    with pytest.raises(InvalidRule, match="no parameter 'detla'; it has: delta, hysteresis"):
        BOOK.with_parameters({"detla": 3})
    with pytest.raises(ValidationError):
        BOOK.rules[0].when = "True"


LOOK = {"rule": "r", "on": "tick"}
KEEP = {"rule": "keep", "on": "density", "about": "area", "remember": {"mode": "high"}}


@pytest.mark.parametrize(
    ("rules", "message"),
    [
        ([LOOK, LOOK], "rule 'r': there is one of this name already"),
        ([{**LOOK, "on": "weather"}], "no topic 'weather'; there are: density, location, tick"),
        ([{**LOOK, "when": "rho > 1"}], "rule 'r' uses 'rho'; known in 'tick' are: delta, mode, second"),
        ([{**LOOK, "when": "decision > 1"}], "rule 'r' uses 'decision'; known"),
        ([KEEP, {**LOOK, "when": "mode == 1"}], "rule 'r' uses 'mode'; known in 'tick' are: delta, second"),
        (
            [{**LOOK, "plan": {"why": "{x}", "actions": [{"proxy": "p", "to": "q"}]}}],
            "rule 'r' uses 'x'; known",
        ),
        ([{**KEEP, "remember": {"mode": "{x}"}}], "rule 'keep' uses 'x'; known"),
        ([{**KEEP, "remember": {"mood": 1}}], "remembers 'mood', which needs a value in `initial`"),
        ([{**KEEP, "remember": {"scheme": 1}}], "remembers 'scheme', which is observed"),
        ([{**KEEP, "remember": {}}], "`about`, a fact, and `remember` need each other"),
        ([{**KEEP, "about": None}], "`about`, a fact, and `remember` need each other"),
        ([{**KEEP, "about": "client"}], "remembers about 'client'; known in 'density' are: area, members"),
        (
            [KEEP, {**KEEP, "rule": "other", "about": "place"}],
            "remembers 'mode' about 'place', others about 'area'",
        ),
    ],
)
def test_what_a_rule_uses_must_be_there(rules: list[dict[str, Any]], message: str) -> None:
    with pytest.raises(InvalidRule) as caught:
        World(book(*rules, parameters={"delta": 8}, initial={"mode": "low", "scheme": ""}))
    assert message.replace("second", "scheme, second") in str(caught.value)
    assert "\n" not in str(caught.value)


def test_facts_come_before_parameters() -> None:
    world = World(book({"rule": "r", "on": "tick", "when": "second > 5"}, parameters={"second": 9}))
    assert world.rules.observe("tick", 0, {"second": 1}) == []
    assert world.rules.observe("tick", 0, {}) != []


# Trouble


def test_a_condition_that_cannot_be_evaluated_is_counted_and_told_once() -> None:
    world = World()
    assert world.density("many") == [] == world.density("few")  # type: ignore[arg-type]
    assert world.rules.faults == {"dense": 2, "sparse": 2}
    assert [f.rule for f in world.rules.firings] == ["dense", "sparse"]
    assert "'>' not supported between instances of 'str' and 'int'" in world.rules.firings[0].error
    assert [f.rule for f in world.density(9.0)] == ["dense"]


def test_plans_that_cannot_be_executed_are_written_down_and_tried_again() -> None:
    def refuse(plan: Plan) -> list[Record]:
        raise ReentrantTransition("a call through proxy 'lc' is under way")

    rules = RuleEngine(BOOK, refuse, lambda: 0.0, TOPICS)
    facts = {"area": 1, "place": "p", "members": [1], "rho": 9.0}
    for decision in (1, 2):
        (firing,) = rules.observe("density", 1, facts)
        assert firing.error == "a call through proxy 'lc' is under way"
        assert firing.facts["next_decision"] == decision


def test_mistakes_are_raised_and_leave_the_engine_usable() -> None:
    def mistaken(plan: Plan) -> list[Record]:
        rules.observe("density", 2, facts)
        raise ZeroDivisionError

    rules = RuleEngine(BOOK, mistaken, lambda: 0.0, TOPICS)
    facts = {"area": 1, "place": "p", "members": [1], "rho": 9.0}
    for _ in range(2):
        with pytest.raises(ZeroDivisionError):
            rules.observe("density", 1, facts)
    assert rules.observe("density", 1, {**facts, "rho": 1.0}) == []
    with pytest.raises(KeyError):
        rules.observe("weather", 1, {})


# Observations that plans lead to


def test_what_a_plan_leads_to_is_looked_at_afterwards() -> None:
    order: list[str] = []

    def execute(plan: Plan) -> list[Record]:
        order.append(f"begin {plan.plan}")
        if plan.plan == "dense":
            facts = {"client": 7, "area": 1, "scheme": "radial"}
            assert rules.observe("location", 7, facts) == []
            facts["scheme"] = "attract"
        order.append(f"end {plan.plan}")
        return []

    rules = RuleEngine(BOOK, execute, lambda: 0.0, TOPICS)
    fired = rules.observe("density", 1, {"area": 1, "place": "p", "members": [1], "rho": 9.0})
    assert order == ["begin dense", "end dense", "begin enter", "end enter"]
    assert [f.rule for f in fired] == ["dense", "enter-high"], "it sees what the first one remembered"
    assert rules.firings == fired


def test_rules_that_provoke_each_other_come_to_an_end() -> None:
    def execute(plan: Plan) -> list[Record]:
        for _ in range(2):
            rules.observe("tick", 0, {"second": 1})
        return []

    looping = {"rule": "r", "on": "tick", "plan": {"actions": [{"proxy": "p", "to": "q"}]}}
    rules = RuleEngine(book(looping), execute, lambda: 0.0, TOPICS)
    assert len(rules.observe("tick", 0, {"second": 1})) == limits.MAX_FOLLOWING + 1
    assert rules.dropped == limits.MAX_FOLLOWING + 2
    assert rules.observe("tick", 0, {"second": 1})[0].rule == "r"


def test_rules_for_the_same_observation_judge_the_same_facts_with_different_numbers() -> None:
    plan = {"scope": "{area}", "decision": "{next_decision}", "actions": [{"proxy": "p", "to": "q"}]}
    rules = [{**KEEP, "rule": name, "when": "mode == 'low'", "plan": plan} for name in ("one", "two")]
    world = World(book(*rules, initial={"mode": "low"}))
    assert [f.rule for f in world.density(1.0)] == ["one", "two"]
    assert [plan.decision for plan in world.plans] == [1, 2]
    assert world.density(1.0) == []


def test_what_is_over_can_be_forgotten() -> None:
    world = World()
    world.density(9.0)
    world.rules.forget("area", 1)
    world.rules.forget("area", 1)
    assert [f.rule for f in world.density(9.0)] == ["dense"]
    assert world.plans[-1].decision == 2, "numbers are not used twice"


def test_numbers_go_round_and_leave_out_none() -> None:
    world = World()
    world.rules.decisions[1] = 2**32 - 1
    world.density(9.0)
    assert world.plans[0].decision == 1


# Rules in Python


class EveryOther(RuleLike):
    rule = "every other"
    on = "density"
    names = ("area", "next_decision", "mode")

    def __init__(self) -> None:
        self.turns: Iterator[bool] = iter([True, False, True, True])

    def fires(self, facts: Facts) -> bool:
        return next(self.turns)

    def plan(self, facts: Facts) -> Plan | None:
        if facts["mode"] == "high":
            return None
        data = {"scope": facts["area"], "decision": facts["next_decision"]}
        return Plan.from_data({"plan": "own", **data, "actions": [{"proxy": "p", "to": "q"}]})


class Keeper(EveryOther):
    rule = "keeper"
    cooldown = 10.0
    about = "area"
    remember = {"mode": "{place}"}  # noqa: RUF012

    def why(self, facts: Facts) -> str:
        return f"rho was {facts['rho']}"


def test_rules_can_be_written_in_python() -> None:
    world = World(book(initial={"mode": "low"}))
    world.rules.add(EveryOther())
    fired = [world.density(1.0) for _ in range(3)]
    assert [[f.rule for f in each] for each in fired] == [["every other"], [], ["every other"]]
    assert [plan.decision for plan in world.plans] == [1, 2]
    assert fired[0][0].facts == {"area": 1, "next_decision": 1, "mode": "low"}
    assert fired[0][0].why == "every other"


def test_rules_in_python_remember_and_rest_like_others() -> None:
    world = World()
    world.rules.add(Keeper())
    (firing,) = world.density(1.0)
    assert (firing.why, firing.outcomes) == ("rho was 1.0", ("done",))
    world.density(1.0)
    assert world.density(1.0) == []
    assert world.rules.suppressed == {"keeper": 1}
    world.rules.add(Rule(rule="seen", on="location", when="mode == 'place 1'"))
    assert [f.rule for f in world.location(7)] == ["seen"]


def test_a_rule_that_fires_without_a_plan_takes_no_number() -> None:
    world = World()
    world.density(9.0)
    world.rules.add(EveryOther())
    (firing,) = world.density(9.0)
    assert (firing.plan, firing.outcomes, firing.error) == ("", (), "")
    assert world.rules.decisions == {1: 1}


def test_rules_that_cannot_be_added_leave_everything_as_it_was() -> None:
    world = World(book(LOOK | {"when": "mode == 'low'"}, initial={"mode": "low"}))
    good = Rule(rule="good", on="tick")
    with pytest.raises(InvalidRule, match="rule 'r' uses 'mode'"):
        world.rules.add(good, Rule.model_validate(KEEP))
    assert [f.rule for f in world.rules.observe("tick", 0, {"second": 1})] == ["r"]
    world.rules.add(good)
    assert [f.rule for f in world.rules.observe("tick", 0, {"second": 1})] == ["r", "good"]
