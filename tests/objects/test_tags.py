"""Formulas are read as written, errors mark the column, and the normal form is the formula."""

from __future__ import annotations

import pickle
import time
from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bypass.errors import InvalidFormula
from bypass.objects.formula_text import (
    LONGEST_FORMULA,
    MOST_LITERALS,
    MOST_NESTED,
    All,
    AnyPart,
    FormulaPart,
    Not,
    Tag,
    written,
)
from bypass.objects.tags import MOST_CONJUNCTIONS, Conjunction, TagFormula
from tests.object_strategies import TAGS, formula_parts, formulas

repeatable = settings(derandomize=True, deadline=None, max_examples=300)

VALUATIONS = [frozenset(each) for size in range(len(TAGS) + 1) for each in combinations(TAGS, size)]


def holds(part: FormulaPart, tags: frozenset[str]) -> bool:
    """The meaning of a formula, by definition."""
    match part:
        case Tag(name):
            return name in tags
        case Not(of):
            return not holds(of, tags)
        case All(parts):
            return all(holds(each, tags) for each in parts)
        case AnyPart(parts):
            return any(holds(each, tags) for each in parts)


def conjunctions(text: str) -> list[str]:
    return [str(each) for each in TagFormula.parse(text).conjunctions()]


@repeatable
@given(formula_parts)
def test_the_normal_form_is_the_formula_for_all_valuations(part: FormulaPart) -> None:
    formula = TagFormula.parse(written(part))
    for tags in VALUATIONS:
        assert formula.matches(tags) is holds(part, tags)


@repeatable
@given(formulas)
def test_no_conjunction_contradicts_itself_or_implies_another(formula: TagFormula) -> None:
    found = formula.conjunctions()
    for each in found:
        assert each.positive.isdisjoint(each.negative)
    for one, other in combinations(found, 2):
        assert not (one.positive <= other.positive and one.negative <= other.negative)
        assert not (other.positive <= one.positive and other.negative <= one.negative)


@repeatable
@given(formulas)
def test_a_formula_is_read_again_as_it_is_written(formula: TagFormula) -> None:
    again = TagFormula.parse(str(formula))
    assert (again, str(again), hash(again)) == (formula, str(formula), hash(formula))
    assert again.conjunctions() == formula.conjunctions()
    assert pickle.loads(pickle.dumps(formula)) == formula


@repeatable
@given(formulas)
def test_a_conjunction_is_a_formula(formula: TagFormula) -> None:
    for each in formula.conjunctions():
        assert each.formula().conjunctions() == (each,)


@settings(repeatable, max_examples=500)
@given(st.text(st.sampled_from('ab &|~()"\\\n'), max_size=30) | st.text(max_size=30))
def test_any_text_is_a_formula_or_an_error_of_one_line(text: str) -> None:
    try:
        formula = TagFormula.parse(text)
    except InvalidFormula as refusal:
        error = str(refusal)
    else:
        error = ""
        assert TagFormula.parse(str(formula)) == formula
    assert error.isprintable()


def test_the_published_example() -> None:
    formula = TagFormula.parse("(A & B & E) | (A & ~C) | (D)")
    assert set(formula.conjunctions()) == {
        Conjunction(frozenset("ABE")),
        Conjunction(frozenset("A"), frozenset("C")),
        Conjunction(frozenset("D")),
    }
    assert sorted(each.key_candidates for each in formula.conjunctions()) == [["A"], ["A", "B", "E"], ["D"]]
    assert [each.matches({"A", "D"}) for each in formula.conjunctions()].count(True) == 2


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a & ~a", []),
        ("a | a & b", ["a"]),
        ("a & (b | c)", ["a & b", "a & c"]),
        ("~(a | b)", ["~a & ~b"]),
        ("~(a & b)", ["~a", "~b"]),
        ("a | ~a", ["~a", "a"]),
        ("~~a", ["a"]),
        ("a|b&c", ["a", "b & c"]),
        ('"a b" & "say \\"x\\""', ['"a b" & "say \\"x\\""']),
        ("(a | b) & (a | c) & (a | d)", ["a", "b & c & d"]),
    ],
)
def test_normal_forms(text: str, expected: list[str]) -> None:
    assert conjunctions(text) == expected


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("a & (b", "formula 'a & (b': expected ) at column 7: a & (b^"),
        ("", "formula '': expected a tag at column 1: ^"),
        ("a &", "formula 'a &': expected a tag at column 4: a &^"),
        ("a b", "formula 'a b': expected & or | at column 3: a ^b"),
        ("a)", "formula 'a)': expected & or |, as no ( is open, at column 2: a^)"),
        ("a | & b", "formula 'a | & b': expected a tag at column 5: a | ^& b"),
        ('a & "b', "formula 'a & \"b': expected a closing \" at column 7: a & \"b^"),
        ('""', "formula '\"\"': expected 1 to 64 as tag at column 1: ^\"\""),
        ("a\n& (", "formula 'a\\n& (': expected a tag at column 6: a & (^"),
        (
            "ab&" * 15 + "|",
            "formula 'ab&ab&ab&ab&...ab&ab&ab&ab&|': expected a tag at column 46: &ab&ab&ab&ab&ab&^|",
        ),
    ],
)  # fmt: skip
def test_errors_mark_the_column(text: str, complaint: str) -> None:
    with pytest.raises(InvalidFormula) as caught:
        TagFormula.parse(text)
    assert str(caught.value) == complaint


def test_what_is_too_long_too_deep_or_too_large_is_refused() -> None:
    literals = [f"t{i}" for i in range(MOST_LITERALS + 1)]
    with pytest.raises(InvalidFormula, match=f"expected at most {MOST_LITERALS} tags at column"):
        TagFormula.parse(" | ".join(literals))
    assert len(TagFormula.parse(" | ".join(literals[:-1])).conjunctions()) == MOST_CONJUNCTIONS
    with pytest.raises(InvalidFormula, match=f"expected at most {MOST_NESTED} levels at column"):
        TagFormula.parse("~" * 99 + "a")
    with pytest.raises(
        InvalidFormula, match=f"^formula of {LONGEST_FORMULA + 1} characters: expected at most"
    ):
        TagFormula.parse("a" + " " * LONGEST_FORMULA)
    with pytest.raises(InvalidFormula, match="expected 1 to 64 as tag at column 1"):
        TagFormula.parse("ß" * 33)
    with pytest.raises(InvalidFormula, match=r"^formula 7: expected a text$"):
        TagFormula.parse(7)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "text",
    [
        " & ".join(f"(a{i} | b{i})" for i in range(32)),
        "~(" + " | ".join(f"(a{i} & b{i})" for i in range(32)) + ")",
        " & ".join("(" + " | ".join(f"{x}{i}" for i in range(8)) + ")" for x in "abcdefgh"),
        "~~(" + " & ".join(f"~(~a{i} & ~b{i} & ~c{i})" for i in range(21)) + ")",
    ],
)
def test_growth_is_noticed_before_it_is_done(text: str) -> None:
    """These have thousands of millions of conjunctions."""
    begun = time.process_time()
    with pytest.raises(
        InvalidFormula, match=r"^formula with too many alternatives: expected at most 64 in disj"
    ):
        TagFormula.parse(text)
    assert time.process_time() - begun < 1


def test_the_longest_formula_can_be_written_and_read() -> None:
    tags = [f"{i:02}" + '"' * 62 for i in range(MOST_LITERALS)]
    quoted = ['"' + tag.replace('"', '\\"') + '"' for tag in tags]
    text = "~" * 15 + "(" + " | ".join(f"{'~' * 16}{each}" for each in quoted) + ")"
    formula = TagFormula.parse(text)
    assert TagFormula.parse(str(formula)) == formula
    (only,) = formula.conjunctions()
    assert only.formula().conjunctions() == (only,)


def test_formulas_do_not_change() -> None:
    formula = TagFormula.parse("a")
    with pytest.raises(AttributeError, match="formulas do not change"):
        formula.text = "b"
    assert repr(formula) == "TagFormula('a')"
    assert formula != "a"
    assert formula.tags() == {"a"}
