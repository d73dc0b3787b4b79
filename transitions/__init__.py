"""Exchange mechanisms behind typed proxies while the system runs.

A `Mechanism` is an exchangeable part. An `Engine` puts it behind a proxy, or into a `Group`, and executes a
`Plan`: it builds the new part, hands over the state, starts it, switches, and stops the old part. What fails
before the switch leaves the old part running. A `Coordinator` sends plans to other hosts, and with `Healing`
hosts that missed one follow the others. A `RuleEngine` makes plans from what is observed.
"""

from typing import TYPE_CHECKING, Any

from bypass.transitions.catalogue import Catalogue, check_plan
from bypass.transitions.coordinator import Coordinator, Distribution, Outcome, Summary
from bypass.transitions.engine.engine import Engine
from bypass.transitions.engine.executor import TransitionListener
from bypass.transitions.engine.group import Divisible, Group
from bypass.transitions.engine.proxy import make_proxy_class, make_stub
from bypass.transitions.engine.record import Record
from bypass.transitions.engine.slot import MechanismEnvironment
from bypass.transitions.errors import (
    InvalidOutcome,
    InvalidParameter,
    InvalidPlan,
    MechanismStopped,
    MissingState,
    NestedTransition,
    NetworkDuringTransition,
    ProxyExists,
    ReentrantTransition,
    TransitionError,
    TransitionFailed,
    UnknownMechanism,
    UnknownProxy,
)
from bypass.transitions.healing import Healing, Stamp, newer, successor
from bypass.transitions.mechanism import Mechanism, Nothing
from bypass.transitions.plan import Action, Plan
from bypass.transitions.state.marks import MechanismState, TransferState
from bypass.transitions.state.schema import Parameter, State
from bypass.transitions.state.transfer import auto_transfer
from bypass.transitions.state.transition import AtomicTransition

if TYPE_CHECKING:
    from bypass.transitions.rules.conditions import Condition, InvalidRule
    from bypass.transitions.rules.rule_engine import Firing, RuleEngine
    from bypass.transitions.rules.rules import PlanTemplate, Rule, RuleBook, RuleLike
else:
    _RULES = {
        **dict.fromkeys(("Condition", "InvalidRule"), "conditions"),
        **dict.fromkeys(("Firing", "RuleEngine"), "rule_engine"),
        **dict.fromkeys(("PlanTemplate", "Rule", "RuleBook", "RuleLike"), "rules"),
    }

    def __getattr__(name: str) -> Any:  # clients have no rules, and start without loading them
        if name not in _RULES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from importlib import import_module

        value = getattr(import_module(f"{__name__}.rules.{_RULES[name]}"), name)
        globals()[name] = value
        return value


__all__ = [
    "Action",
    "AtomicTransition",
    "Catalogue",
    "Condition",
    "Coordinator",
    "Distribution",
    "Divisible",
    "Engine",
    "Firing",
    "Group",
    "Healing",
    "InvalidOutcome",
    "InvalidParameter",
    "InvalidPlan",
    "InvalidRule",
    "Mechanism",
    "MechanismEnvironment",
    "MechanismState",
    "MechanismStopped",
    "MissingState",
    "NestedTransition",
    "NetworkDuringTransition",
    "Nothing",
    "Outcome",
    "Parameter",
    "Plan",
    "PlanTemplate",
    "ProxyExists",
    "Record",
    "ReentrantTransition",
    "Rule",
    "RuleBook",
    "RuleEngine",
    "RuleLike",
    "Stamp",
    "State",
    "Summary",
    "TransferState",
    "TransitionError",
    "TransitionFailed",
    "TransitionListener",
    "UnknownMechanism",
    "UnknownProxy",
    "auto_transfer",
    "check_plan",
    "make_proxy_class",
    "make_stub",
    "newer",
    "successor",
]
