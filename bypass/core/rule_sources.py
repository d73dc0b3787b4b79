"""Rules out of several sources: YAML files, references to Python code, and installed packages."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from bypass.errors import UnusableMechanism, shown
from bypass.support.extensions import installed_names, load, load_installed
from bypass.transitions import InvalidRule, RuleBook, RuleLike

Rules = tuple[RuleBook, tuple[RuleLike, ...]]
"""Rules that are data, and rules that are not."""


INSTALLED_RULES = "bypass.rules"
"""The group of entry points by which installed packages offer rules."""


def are_offered(source: str) -> bool:
    """Whether an installed package offers rules under a name; nothing is imported."""
    return Path(source).suffix == "" and source in installed_names(INSTALLED_RULES)


def read_rules(source: str | Path) -> Rules:
    """Read the rule book in a YAML file, or what a reference or a name of an installed package leads to.

    A reference is `module:name` or `file.py:name`. In Python it may also be a list of rules. Raises
    InvalidRule, UnusableMechanism, OSError and UnicodeDecodeError.
    """
    if isinstance(source, str) and are_offered(source):
        found = load_installed(INSTALLED_RULES, source)
        if found is None:
            raise UnusableMechanism(f"{source}: expected a usable entry point in {INSTALLED_RULES}")
    elif ":" not in str(source):
        return RuleBook.from_yaml(Path(source).read_text(encoding="utf-8")), ()
    else:
        found = load(str(source))
    if isinstance(found, RuleBook):
        return found, ()
    if isinstance(found, list | tuple):
        return RuleBook(rules=()), tuple(found)
    raise InvalidRule(f"expected a RuleBook or a list of rules, not {shown(found)}")


def combined(sources: Iterable[Rules]) -> Rules:
    """The rules of all sources, in their order.

    Raises InvalidRule if two of them have different values of a parameter, or of what is remembered at first.
    """
    books: list[RuleBook] = []
    more: list[RuleLike] = []
    for book, others in sources:
        for known in books:
            for kind in ("parameters", "initial"):
                mine, theirs = getattr(book, kind), getattr(known, kind)
                for name in mine.keys() & theirs.keys():
                    if mine[name] != theirs[name]:
                        raise InvalidRule(
                            f"{name!r} of {kind} is {shown(theirs[name])} and {shown(mine[name])}:"
                            " expected one value in all rule books"
                        )
        books.append(book)
        more += others
    whole = RuleBook(
        parameters={name: value for book in books for name, value in book.parameters.items()},
        initial={name: value for book in books for name, value in book.initial.items()},
        rules=tuple(rule for book in books for rule in book.rules),
    )
    return whole, tuple(more)
