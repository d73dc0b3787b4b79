"""The text of a formula over tags: reading, with errors that mark the column, and writing."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TypeAlias

from bypass.errors import InvalidFormula, shown

LONGEST_TAG = 64
"""Bytes of a tag."""
MOST_LITERALS = 64
"""Tags in a formula, each as often as it occurs."""
LONGEST_FORMULA = 16_384
"""Characters: more than the longest literals need, however they are grouped."""
MOST_NESTED = 32
"""Parentheses and negations in each other."""

_TOKEN = re.compile(
    r'\s*(?:(?P<sign>[&|~()])|(?P<quoted>"(?:[^"\\]|\\.)*")|(?P<word>[^\s&|~()"]+))', re.DOTALL
)
_SPACE = re.compile(r"\s*")
_WORD = re.compile(r'[^\s&|~()"]+')
_AROUND = 16  # characters of a formula that an error shows on each side


@dataclass(frozen=True, slots=True)
class Tag:
    """A formula that holds if the tag is there."""

    name: str


@dataclass(frozen=True, slots=True)
class Not:
    """A formula that holds if another one does not."""

    of: FormulaPart


@dataclass(frozen=True, slots=True)
class All:
    """A formula that holds if all parts do."""

    parts: tuple[FormulaPart, ...]


@dataclass(frozen=True, slots=True)
class AnyPart:
    """A formula that holds if one of its parts does."""

    parts: tuple[FormulaPart, ...]


FormulaPart: TypeAlias = Tag | Not | All | AnyPart


def check_tag(tag: str) -> None:
    """Raise InvalidFormula unless this can be a tag: printable text of 1 to 64 bytes."""
    complaint = _tag_problem(tag)
    if complaint:
        raise InvalidFormula(complaint)


def _tag_problem(tag: str) -> str:
    if not isinstance(tag, str) or not tag.isprintable():  # a half of a surrogate pair is not printable
        return f"tag {shown(tag)}: expected printable text"
    length = len(tag.encode())
    return "" if 0 < length <= LONGEST_TAG else f"tag of {length} bytes: expected 1 to {LONGEST_TAG}"


def parse(text: str) -> FormulaPart:
    """Read a formula. Raises InvalidFormula, with the column at which the text goes wrong."""
    if not isinstance(text, str):
        raise InvalidFormula(f"formula {shown(text)}: expected a text")
    if len(text) > LONGEST_FORMULA:
        raise InvalidFormula(f"formula of {len(text)} characters: expected at most {LONGEST_FORMULA}")
    return _Parser(text).formula()


def written(node: FormulaPart) -> str:
    """The text of a formula, which can be read again."""
    if isinstance(node, Tag):
        if _WORD.fullmatch(node.name):
            return node.name
        return '"' + node.name.replace("\\", "\\\\").replace('"', '\\"') + '"'
    if isinstance(node, Not):
        return "~" + _grouped(node.of, All, AnyPart)
    if isinstance(node, All):
        return " & ".join(_grouped(part, AnyPart) for part in node.parts)
    return " | ".join(map(written, node.parts))


def _grouped(node: FormulaPart, *kinds: type[FormulaPart]) -> str:
    return f"({written(node)})" if isinstance(node, kinds) else written(node)


class _Parser:
    """Reads one text, from left to right: `_kind` and `_value` are the token from `_at` to `_end`."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._end = 0
        self._literals = 0
        self._advance()

    def formula(self) -> FormulaPart:
        node = self._alternatives(0)
        if self._kind:
            raise self._error("& or |" if self._value != ")" else "& or |, as no ( is open,")
        return node

    def _advance(self) -> None:
        space = _SPACE.match(self._text, self._end)
        self._at = space.end() if space else self._end
        found = _TOKEN.match(self._text, self._at)
        if found is None:
            self._kind, self._value, self._end = ("?" if self._at < len(self._text) else ""), "", self._at
            return
        self._kind, self._value, self._end = found.lastgroup or "", found[0], found.end()

    def _alternatives(self, nested: int) -> FormulaPart:
        parts = [self._joint(nested)]
        while self._value == "|" and self._kind == "sign":
            self._advance()
            parts.append(self._joint(nested))
        return _joined(AnyPart, parts)

    def _joint(self, nested: int) -> FormulaPart:
        parts = [self._literal(nested)]
        while self._value == "&" and self._kind == "sign":
            self._advance()
            parts.append(self._literal(nested))
        return _joined(All, parts)

    def _literal(self, nested: int) -> FormulaPart:
        if nested > MOST_NESTED:
            raise self._error(f"at most {MOST_NESTED} levels")
        if self._kind in ("word", "quoted"):
            return self._tag()
        if self._kind == "?":
            raise self._error('a closing "', len(self._text))
        if self._value == "~":
            self._advance()
            return Not(self._literal(nested + 1))
        if self._value != "(":
            raise self._error("a tag")
        self._advance()
        node = self._alternatives(nested + 1)
        if self._value != ")" or self._kind != "sign":
            raise self._error(")")
        self._advance()
        return node

    def _tag(self) -> Tag:
        quoted = self._kind == "quoted"
        name = re.sub(r"\\(.)", r"\1", self._value[1:-1], flags=re.DOTALL) if quoted else self._value
        problem = _tag_problem(name)
        if problem:
            raise self._error(problem.partition("expected ")[2] + " as tag")
        self._literals += 1
        if self._literals > MOST_LITERALS:
            raise self._error(f"at most {MOST_LITERALS} tags")
        self._advance()
        return Tag(name)

    def _error(self, expected: str, at: int | None = None) -> InvalidFormula:
        at = self._at if at is None else at
        before, behind = self._text[max(0, at - _AROUND) : at], self._text[at : at + _AROUND]
        marked = "".join(each if each.isprintable() else " " for each in before + "^" + behind)
        return InvalidFormula(
            f"formula {shown(self._text)}: expected {expected} at column {at + 1}: {marked}"
        )


def _joined(kind: type[All | AnyPart], parts: list[FormulaPart]) -> FormulaPart:
    """Parts of the same kind are taken apart: how they were grouped makes no difference."""
    flat: list[FormulaPart] = []
    for part in parts:
        flat += part.parts if isinstance(part, kind) else (part,)
    return flat[0] if len(flat) == 1 else kind(tuple(flat))
