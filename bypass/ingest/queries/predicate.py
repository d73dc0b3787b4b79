"""Predicates as text: filters as `str()` shows them, joined by `and`, `or`, `not` and parentheses.

    kind = truck and (depot in {Turin, Milan} or not driver exists)
    metric = speed and value >= 20.5

Words that need no quotes may stand without them, where a value is expected as well.
"""

from __future__ import annotations

import re
from typing import Any

from bypass.errors import BypassError, shown
from bypass.events.filters import Filter, Subscription, any_of, attr
from bypass.ingest.queries.invalid import InvalidSelection

LONGEST = 4096
DEEPEST = 16
MOST_TESTS = 256
"""Bounds of a predicate: characters, parentheses in each other, and tests."""

_TOKEN = re.compile(
    r"""\s*(?:(?P<quoted>'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")"""
    r"""|(?P<number>[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?(?![\w.:/-]))"""
    r"""|(?P<sign><=|>=|!=|==|[<>=(){},])"""
    r"""|(?P<word>[\w.:/%+-]+))"""
)
_ESCAPE = re.compile(r"\\(.)")
_COMPARISONS = {"=": "=", "==": "=", "!=": "!=", "<": "<", "<=": "<=", ">": ">", ">=": ">="}
_WORDS = ("prefix", "suffix", "contains")


def parse_predicate(text: str) -> Subscription:
    """The subscription that a text describes. Raises InvalidSelection."""
    if len(text) > LONGEST:
        raise InvalidSelection(f"predicate of {len(text)} characters: expected {LONGEST} at most")
    if not text.isprintable():
        raise InvalidSelection(f"predicate {shown(text)}: expected characters that can be printed")
    try:
        return _Parser(text).whole()
    except InvalidSelection:
        raise
    except BypassError as error:
        raise InvalidSelection(f"predicate {shown(text)}: {error}") from None


class _Parser:
    """Reads one predicate, from left to right."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens: list[tuple[str, str]] = []
        self._at = self._depth = self._tests = 0
        end = len(text.rstrip())
        position = 0
        while position < end:
            found = _TOKEN.match(text, position)
            if found is None or found.lastgroup is None:
                raise self._error("a test, such as value >= 20.5", text[position:].strip())
            self._tokens.append((found.lastgroup, found[found.lastgroup]))
            position = found.end()

    def whole(self) -> Subscription:
        found = self._alternatives()
        if self._at < len(self._tokens):
            raise self._error("and, or, or the end")
        return found

    def _alternatives(self) -> Subscription:
        found = [self._conjunction()]
        while self._take("word", "or"):
            found.append(self._conjunction())
        return found[0] if len(found) == 1 else any_of(found)

    def _conjunction(self) -> Subscription:
        found = self._factor()
        while self._take("word", "and"):
            found = found & self._factor()
        return found

    def _factor(self) -> Subscription:
        self._depth += 1
        if self._depth > DEEPEST:
            raise self._error(f"{DEEPEST} parentheses or negations in each other at most")
        try:
            if self._take("word", "not"):
                return ~self._factor()
            if self._take("sign", "("):
                found = self._alternatives()
                self._need(")")
                return found
            return Subscription.of(self._test())
        finally:
            self._depth -= 1

    def _test(self) -> Filter:
        self._tests += 1
        if self._tests > MOST_TESTS:
            raise self._error(f"{MOST_TESTS} tests at most")
        kind, name = self._next("the name of an attribute")
        if kind not in ("word", "quoted"):
            self._at -= 1
            raise self._error("the name of an attribute")
        tested = attr(_unquoted(name) if kind == "quoted" else name)
        kind, operator = self._next("an operator")
        if kind == "sign" and operator in _COMPARISONS:
            return tested.op(_COMPARISONS[operator], self._value())
        if kind == "word" and operator in _WORDS:
            return tested.op(operator, str(self._value(as_text=True)))
        if kind == "word" and operator == "exists":
            return tested.exists()
        if kind == "word" and operator == "in":
            return tested.in_(self._values())
        self._at -= 1
        raise self._error(f"one of {' '.join(_COMPARISONS)} {' '.join(_WORDS)} in exists")

    def _values(self) -> list[Any]:
        self._need("{")
        found = [self._value()]
        while self._take("sign", ","):
            found.append(self._value())
        self._need("}")
        if {type(each) for each in found} == {int, float}:
            return [float(each) for each in found]
        return found

    def _value(self, as_text: bool = False) -> float | str:
        kind, text = self._next("a value")
        if kind == "quoted":
            return _unquoted(text)
        if kind == "word" or (kind == "number" and as_text):
            return text
        if kind == "number":
            return int(text) if text.lstrip("+-").isdecimal() else float(text)
        self._at -= 1
        raise self._error("a value")

    # -- tokens -------------------------------------------------------------------------------------------

    def _next(self, expected: str) -> tuple[str, str]:
        if self._at == len(self._tokens):
            raise self._error(expected)
        self._at += 1
        return self._tokens[self._at - 1]

    def _take(self, kind: str, text: str) -> bool:
        taken = self._at < len(self._tokens) and self._tokens[self._at] == (kind, text)
        self._at += taken
        return taken

    def _need(self, sign: str) -> None:
        if not self._take("sign", sign):
            raise self._error(sign)

    def _error(self, expected: str, found: str | None = None) -> InvalidSelection:
        if found is None:
            found = self._tokens[self._at][1] if self._at < len(self._tokens) else "the end"
        return InvalidSelection(f"predicate {shown(self._text)}: found {shown(found)}: expected {expected}")


def _unquoted(text: str) -> str:
    return _ESCAPE.sub(r"\1", text[1:-1])
