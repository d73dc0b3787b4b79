"""The rules that a scenario uses: built-in ones, those in a file, or those that Python code makes."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from pathlib import Path

from pydantic import JsonValue

from bypass.core.adaptation import TOPICS
from bypass.errors import shown
from bypass.scenarios.experiments.files import InvalidScenario
from bypass.transitions import RuleBook, RuleEngine, RuleLike, TransitionError

BUILTIN = Path(__file__).parents[1] / "rules"


def rulebook_names() -> list[str]:
    """The rule books that come with the library."""
    return sorted(path.stem for path in BUILTIN.glob("*.yaml"))


def load_rules(use: str, parameters: Mapping[str, JsonValue]) -> tuple[RuleBook, tuple[RuleLike, ...]]:
    """A built-in rule book, that in a YAML file, or what Python has as `module:name`, with these parameters.

    In Python it may also be a list of rules that are no data. Raises InvalidScenario, also for rules that a
    broker cannot apply.
    """
    try:
        book, more = _from_python(use) if ":" in use else (RuleBook.from_yaml(_text(use)), ())
        book = book.with_parameters(parameters)
        RuleEngine(book, lambda _: [], lambda: 0.0, TOPICS).add(*more)
    except TransitionError as error:
        raise InvalidScenario(f"rules {use!r}: {error}") from None
    return book, more


def rule_file(use: str) -> Path | None:
    """The file that rules are read from; None for those built in and those that Python makes."""
    path = Path(use)
    return path if ":" not in use and path.suffix in (".yaml", ".yml") else None


def _text(use: str) -> str:
    path = rule_file(use)
    if path is None:
        if use not in rulebook_names():
            known = ", ".join(rulebook_names())
            raise InvalidScenario(f"rules {use!r}: expected a YAML file, module:name or one of {known}")
        path = BUILTIN / f"{use}.yaml"
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidScenario(f"rules {use!r} cannot be read: {error}") from None


def _from_python(use: str) -> tuple[RuleBook, tuple[RuleLike, ...]]:
    module, _, name = use.partition(":")
    try:
        found = getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError, ValueError) as error:
        raise InvalidScenario(f"rules {use!r}: expected module:name, an import path ({error})") from None
    if isinstance(found, RuleBook):
        return found, ()
    if isinstance(found, list | tuple):
        return RuleBook(rules=()), tuple(found)
    raise InvalidScenario(f"rules {use!r}: expected a RuleBook or a list of rules, not {shown(found)}")
