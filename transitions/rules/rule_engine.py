"""The rule engine: it looks at what is observed, decides by rules, and has plans executed."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Collection, Hashable, Mapping, MutableMapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Any, Protocol

from bypass.transitions.engine.record import TransitionResult
from bypass.transitions.errors import TransitionError, describe
from bypass.transitions.healing import successor
from bypass.transitions.plan import Plan
from bypass.transitions.rules.conditions import InvalidRule
from bypass.transitions.rules.rules import DECISION, NEXT_DECISION, Facts, RuleBook, RuleLike, fill
from bypass.transitions.state.values import handed_over

KEPT_FIRINGS = 10_000
MAX_FOLLOWING = 10_000
"""Observations that one observation may lead to: rules that provoke each other come to an end."""

AREA = "area"


class ExecutedAction(Protocol):
    """An action of a plan that was executed; its id begins with that of the plan."""

    @property
    def id(self) -> str: ...

    @property
    def outcome(self) -> TransitionResult: ...


@dataclass(slots=True)
class Firing:
    """A rule applied: when, to what, why, and what became of it.

    `facts` are those that the rule uses. `plan` is the id of the plan, `outcomes` how its actions ended
    as far as is known. `error` says why there is no plan, or why it was not executed.
    """

    at: float
    rule: str
    topic: str
    subject: Hashable
    facts: dict[str, Any]
    why: str = ""
    plan: str = ""
    outcomes: tuple[TransitionResult, ...] = ()
    error: str = ""


class RuleEngine:
    """Analyses what is observed and plans by rules; `execute` does what was planned.

    `topics` says which facts an observation of each topic has. All rules see the same facts: those of the
    observation, parameters, what is remembered about it, and if it has an `area`, which is a plan's scope,
    `decision`, the number of the latest decision there, and `next_decision`. What a rule wants remembered
    is remembered once its plan has been executed, however that ended, unless that raised an error.

    `decisions` has the latest number of each area; others who decide about areas share it. Who restarts must
    restore it, or hosts would take new decisions for old ones. `suppressed` counts by rule what its cool-down
    kept from firing, `faults` conditions that could not be evaluated: the first of each rule is among the
    firings. `dropped` counts observations that rules provoked without end.
    """

    def __init__(
        self,
        book: RuleBook,
        execute: Callable[[Plan], Sequence[ExecutedAction]],
        clock: Callable[[], float],
        topics: Mapping[str, frozenset[str]],
        identify: Callable[[Plan], str] = attrgetter("id"),
        decisions: MutableMapping[Any, int] | None = None,
    ) -> None:
        """`identify` gives the id under which `execute` will know a plan that has none. Raises like `add`."""
        self.firings: list[Firing] = []
        """The latest 10 000."""
        self.suppressed: Counter[str] = Counter()
        self.faults: Counter[str] = Counter()
        self.dropped = 0
        self.decisions: MutableMapping[Any, int] = {} if decisions is None else decisions
        self._execute = execute
        self._identify = identify
        self._clock = clock
        self._topics = topics
        self._initial = book.initial
        self._given: dict[str, Any] = {**book.parameters, **book.initial}
        self._rules: dict[str, tuple[RuleLike, ...]] = dict.fromkeys(topics, ())
        self._about: dict[str, str] = {}
        self._memory: dict[str, dict[Hashable, dict[str, Any]]] = {}
        self._rests: dict[str, dict[Hashable, float]] = {}
        self._waiting: deque[tuple[str, Hashable, Facts]] = deque()
        self._busy = False
        self.add(*book.rules)

    def add(self, *rules: RuleLike) -> None:
        """Use these rules too, all or none.

        Raises InvalidRule if a name is taken, or a topic or fact is not known to be there.
        """
        present = [rule for group in self._rules.values() for rule in group]
        taken = {rule.rule for rule in present}
        about = dict(self._about)
        for rule in rules:
            if rule.rule in taken:
                raise InvalidRule(f"rule {rule.rule!r}: there is one of this name already")
            taken.add(rule.rule)
            self._check_memory(rule, about)
        for rule in (*present, *rules):
            self._check_names(rule, about)
        for rule in rules:
            self._rules[rule.on] += (rule,)
            self._rests[rule.rule] = {}
        self._about = about
        self._memory = {fact: self._memory.get(fact, {}) for fact in dict.fromkeys(about.values())}

    def observes(self, topic: str) -> bool:
        """Whether there are rules for a topic. Raises KeyError if there is no such topic."""
        return bool(self._rules[topic])

    def observe(self, topic: str, subject: Hashable, facts: Facts) -> list[Firing]:
        """Look at what was observed and act; gives the rules that fired.

        What is observed while a plan is executed is looked at afterwards, before this returns. Errors of
        transitions are written down, others are raised. Raises KeyError if there is no such topic.
        """
        if not self._rules[topic]:
            return []
        if self._busy:
            self._waiting.append((topic, subject, dict(facts)))
            return []
        self._busy = True
        try:
            fired = self._look(topic, subject, facts)
            for _ in range(MAX_FOLLOWING):
                if not self._waiting:
                    break
                fired += self._look(*self._waiting.popleft())
            self.dropped += len(self._waiting)
            return fired
        finally:
            self._waiting.clear()
            self._busy = False

    def forget(self, about: str, key: Hashable) -> None:
        """There will be no more observations whose fact `about` is `key`."""
        self._memory.get(about, {}).pop(key, None)

    def _look(self, topic: str, subject: Hashable, facts: Facts) -> list[Firing]:
        seen = {**self._given, **facts}
        for about, memory in self._memory.items():
            if memory and about in facts:
                seen.update(memory.get(facts[about], ()))
        seen[DECISION] = decision = self.decisions.get(facts.get(AREA), 0)
        seen[NEXT_DECISION] = successor(decision)
        fired = []
        for rule in self._rules[topic]:
            try:
                if not rule.fires(seen) or self._is_resting(rule, subject):
                    continue
            except TransitionError as error:
                self.faults[rule.rule] += 1
                if self.faults[rule.rule] == 1:
                    self._note(rule, subject, seen).error = describe(error)
                continue
            fired.append(self._fire(rule, subject, seen))
        return fired

    def _is_resting(self, rule: RuleLike, subject: Hashable) -> bool:
        """Say whether the rule's cool-down keeps it from firing; if not, a new one begins."""
        if not rule.cooldown:
            return False
        now, until = self._clock(), self._rests[rule.rule]
        if until.get(subject, now) > now:
            self.suppressed[rule.rule] += 1
            return True
        while until and until[first := next(iter(until))] <= now:  # the oldest come first
            del until[first]
        until[subject] = now + rule.cooldown
        return False

    def _fire(self, rule: RuleLike, subject: Hashable, seen: dict[str, Any]) -> Firing:
        firing = self._note(rule, subject, seen)
        try:
            firing.why = rule.why(seen)
            plan = rule.plan(seen)
            remembered = fill(dict(rule.remember), seen)
            if NEXT_DECISION in rule.names and (plan is not None or remembered):
                self._take_number(seen)
            if plan is not None:
                firing.plan = plan.id or self._identify(plan)
                records = self._execute(plan)
                firing.outcomes = tuple(record.outcome for record in records)
                if records and not firing.plan:
                    firing.plan = records[0].id.rpartition("/")[0]
        except TransitionError as error:
            firing.error = describe(error)
        else:
            if rule.about is not None:
                self._memory[rule.about].setdefault(seen[rule.about], {}).update(remembered)
        return firing

    def _take_number(self, seen: dict[str, Any]) -> None:
        """The next decision of the area is made; another rule for the same observation makes another."""
        self.decisions[seen[AREA]] = seen[DECISION] = seen[NEXT_DECISION]
        seen[NEXT_DECISION] = successor(seen[DECISION])

    def _note(self, rule: RuleLike, subject: Hashable, seen: Facts) -> Firing:
        used = {name: handed_over(seen[name]) for name in rule.names if name in seen}
        firing = Firing(self._clock(), rule.rule, rule.on, subject, used)
        self.firings.append(firing)
        del self.firings[:-KEPT_FIRINGS]
        return firing

    def _check_memory(self, rule: RuleLike, about: dict[str, str]) -> None:
        """Note in `about` what the rule remembers, and about what. Raises InvalidRule."""
        what = f"rule {rule.rule!r}"
        facts = self._topics.get(rule.on)
        if facts is None:
            known = ", ".join(self._topics) or "none"
            raise InvalidRule(f"{what}: there is no topic {rule.on!r}; there are: {known}")
        if (rule.about is None) == bool(rule.remember):
            raise InvalidRule(f"{what}: `about`, a fact, and `remember` need each other")
        for name in rule.remember:
            if name not in self._initial:
                raise InvalidRule(f"{what} remembers {name!r}, which needs a value in `initial`")
            if any(name in each for each in self._topics.values()):
                raise InvalidRule(f"{what} remembers {name!r}, which is observed")
            if rule.about not in facts:
                raise InvalidRule(f"{what} remembers about {rule.about!r}; {_known(rule.on, facts)}")
            if about.setdefault(name, rule.about) != rule.about:
                raise InvalidRule(
                    f"{what} remembers {name!r} about {rule.about!r}, others about {about[name]!r}"
                )

    def _check_names(self, rule: RuleLike, about: Mapping[str, str]) -> None:
        facts = self._topics[rule.on]
        known = {name for name in self._given if name not in about or about[name] in facts} | facts
        if AREA in facts:
            known |= {DECISION, NEXT_DECISION}
        for name in rule.names:
            if name not in known:
                raise InvalidRule(f"rule {rule.rule!r} uses {name!r}; {_known(rule.on, known)}")


def _known(topic: str, names: Collection[str]) -> str:
    return f"known in {topic!r} are: {', '.join(sorted(names)) or 'none'}"
