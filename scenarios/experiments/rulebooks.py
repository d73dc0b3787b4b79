"""The rules that a scenario uses: built in, in a file, made by Python code, or of an installed package."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from pydantic import JsonValue

from bypass.core.adaptation import TOPICS
from bypass.core.rule_sources import INSTALLED_RULES, Rules, are_offered, combined, read_rules
from bypass.errors import UnusableMechanism
from bypass.models.storage.store_adaptation import STORE_TOPICS
from bypass.scenarios.experiments.files import InvalidScenario
from bypass.support.extensions import installed_names
from bypass.transitions import RuleEngine, TransitionError

BUILTIN = Path(__file__).parents[1] / "rules"


def rulebook_names() -> list[str]:
    """The rule books that come with the library."""
    return sorted(path.stem for path in BUILTIN.glob("*.yaml"))


def load_rules(use: str | Sequence[str], parameters: Mapping[str, JsonValue]) -> Rules:
    """Join rule books, built in, in YAML files, of Python as `module:name`, or installed, with parameters.

    In Python it may also be a list of rules that are no data. Raises InvalidScenario, also for rules that
    neither a broker nor the nodes of a store can apply.
    """
    sources = (use,) if isinstance(use, str) else tuple(use)
    what = ", ".join(map(repr, sources))
    try:
        book, more = combined([_read(source) for source in sources])
        book = book.with_parameters(parameters)
        RuleEngine(book, lambda _: [], lambda: 0.0, {**TOPICS, **STORE_TOPICS}).add(*more)
    except TransitionError as error:
        raise InvalidScenario(f"rules {what}: {error}") from None
    return book, more


def rule_file(use: str) -> Path | None:
    """The YAML file that rules are read from; None for those built in and those that Python makes."""
    path = Path(use)
    return path if ":" not in use and path.suffix in (".yaml", ".yml") else None


def _read(use: str) -> Rules:
    path = rule_file(use)
    if ":" not in use and path is None:
        if use in rulebook_names():
            path = BUILTIN / f"{use}.yaml"
        elif not are_offered(use):
            known = ", ".join((*rulebook_names(), *installed_names(INSTALLED_RULES)))
            raise InvalidScenario(f"rules {use!r}: expected a YAML file, module:name or one of {known}")
    try:
        return read_rules(path or use)
    except UnusableMechanism as error:
        why = error.__cause__ or error
        raise InvalidScenario(
            f"rules {use!r}: expected module:name, an import path, or file.py:name ({why})"
        ) from None
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidScenario(f"rules {use!r} cannot be read: {error}") from None
