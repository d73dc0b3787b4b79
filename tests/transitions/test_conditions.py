"""Conditions say what Python would say, and cannot do anything else."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bypass.transitions import Condition, InvalidRule
from bypass.transitions.rules.conditions import MAX_LENGTH

FACTS: dict[str, Any] = {
    "rho": 8.89,
    "delta": 8,
    "hysteresis": 0,
    "mode": "low",
    "client": 7,
    "members": [3, 7],
    "inside": True,
    "before": None,
    "ρ": 9,
}


@pytest.mark.parametrize(
    ("text", "holds"),
    [
        ("rho > delta + hysteresis and mode != 'high'", True),
        ("rho <= delta - hysteresis", False),
        ("delta < rho < 9", True),
        ("delta < rho < 8.5", False),
        ("client in members", True),
        ("client not in members", False),
        ("mode in ('low', 'off') and client in [1, 7]", True),
        ("mode in ()", False),
        ("inside", True),
        ("not inside or before == None", True),
        ("before != None and rho - before > 2", False),
        ("-client + 10 == 3 and 7 % 4 == 3 and client * 2 / 7 == 2", True),
        ("client - -1 == 8", True),
        ("(rho > 100 or inside) and not (mode == 'high')", True),
        ("ρ == 9", True),
        ("  True\n", True),
        ("None", False),
        ("''", False),
    ],
)
def test_what_holds(text: str, holds: bool) -> None:
    assert Condition.parse(text).holds(FACTS) is holds


def test_names_are_known_in_advance_in_order() -> None:
    condition = Condition.parse("rho > delta + 1 and mode in ('a', other) and not rho == -client")
    assert condition.names == ("rho", "delta", "mode", "other", "client")


def test_reasons_are_told_with_values() -> None:
    condition = Condition.parse("rho > delta and mode != 'high'")
    assert condition.explain(FACTS) == "rho > delta and mode != 'high' (rho = 8.89, delta = 8, mode = 'low')"
    assert Condition.parse("1 < 2").explain(FACTS) == "1 < 2"


@pytest.mark.parametrize(
    ("text", "piece"),
    [
        ("__import__('os').system('true')", "__import__('os').system('true')"),
        ("mode.upper() == 'LOW'", "mode.upper()"),
        ("members.append", "members.append"),
        ("members[0] == 3", "members[0]"),
        ("len(members) > 1", "len(members)"),
        ("2 ** 100000000 > 1", "2 ** 100000000"),
        ("1 << 100000", "1 << 100000"),
        ("7 // 2", "7 // 2"),
        ("~client", "~client"),
        ("+client", "+client"),
        ("inside is True", "inside is True"),
        ("rho if inside else delta", "rho if inside else delta"),
        ("(x := 3) > 2", "x := 3"),
        ("lambda: 1", "lambda: 1"),
        ("[c for c in members]", "[c for c in members]"),
        ("any(c for c in members)", "any(c for c in members)"),
        ("{1: 2}", "{1: 2}"),
        ("client in {1, 2}", "{1, 2}"),
        ("(1, 2) == members", "(1, 2)"),
        ("members == [3, 7]", "[3, 7]"),
        ("client in (*members, 1)", "*members"),
        ("f'{mode}' == 'low'", "f'{mode}'"),
        ("b'low' == mode", "b'low'"),
        ("1j == client", "1j"),
        ("... == client", "..."),
        ("__builtins__ == 1", "__builtins__"),
        ("_private", "_private"),
        ("(yield)", "yield"),
    ],
)
def test_what_is_not_allowed_is_named(text: str, piece: str) -> None:
    with pytest.raises(InvalidRule) as caught:
        Condition.parse(text)
    assert f"{piece!r} is not allowed; allowed are names, numbers" in str(caught.value)
    assert str(caught.value).startswith(f"condition {text!r}: ")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("'a' * 1000000000 == mode", "\"'a'\" is no number"),
        ("'%1000000000d' % client == mode", "\"'%1000000000d'\" is no number"),
        ("True + 1", "'True' is no number"),
        ("-None", "'None' is no number"),
        ("(rho > 1) + 1", "'rho > 1' is no number"),
        ("", "it cannot be read: invalid syntax"),
        ("rho >", "it cannot be read: invalid syntax"),
        ("rho = 3", "it cannot be read: invalid syntax"),
        ("rho > 1; inside", "it cannot be read: invalid syntax"),
        ("import os", "it cannot be read: invalid syntax"),
        ("rho > '", "it cannot be read: unterminated string literal"),
        ("rho\0", "it cannot be read: "),
        ("-" * 900 + "1", "it is nested more than 40 deep"),
        ("not " * 200 + "inside", "it is nested more than 40 deep"),
        ("1" + "+1" * 300, "it is nested more than 40 deep"),
        ("(" * 400 + ")" * 400, "it cannot be read: "),
        ("[" * 900, "it cannot be read: "),
        ("a in (" * 80 + "1" + ",)" * 80, "it is nested more than 40 deep"),
        ("a" * (MAX_LENGTH + 1), "it has 1001 characters, at most 1000 are allowed"),
        ("1" * 1_000_000, "it has 1000000 characters"),
    ],
)
def test_what_cannot_be_a_condition(text: str, problem: str) -> None:
    with pytest.raises(InvalidRule) as caught:
        Condition.parse(text)
    assert problem in str(caught.value)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 250


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("unheard > 1", "condition 'unheard > 1': there is no fact 'unheard'"),
        ("mode > 1", "(mode = 'low')\": '>' not supported between instances of 'str' and 'int'"),
        ("mode * 1000000000 == mode", "(mode = 'low')\": bad operand type for unary +: 'str'"),
        ("mode % 1 == mode", "bad operand type for unary +: 'str'"),
        ("members * 1000000000 == members", "bad operand type for unary +: 'list'"),
        ("client + before == 1", "bad operand type for unary +: 'NoneType'"),
        ("client / hysteresis > 1", "division by zero"),
        ("client in delta", "argument of type 'int' is not iterable"),
    ],
)
def test_facts_that_do_not_fit(text: str, problem: str) -> None:
    with pytest.raises(InvalidRule) as caught:
        Condition.parse(text).holds(FACTS)
    assert problem in str(caught.value)
    assert "\n" not in str(caught.value)


def test_names_of_builtins_are_names() -> None:
    with pytest.raises(InvalidRule, match="there is no fact 'len'"):
        Condition.parse("len == 1").holds(FACTS)
    assert Condition.parse("len == 1").holds({"len": 1})


def test_what_is_not_reached_is_not_evaluated() -> None:
    assert not Condition.parse("before != None and 10 - before > 2").holds({"before": None})
    assert Condition.parse("before != None and 10 - before > 2").holds({"before": 1})


# Any condition means what Python says

NAMES = {"a": 3, "b": -2.5, "c": 0, "s": "x", "t": True, "n": None, "many": (1, "x", 3)}
numbers = st.recursive(
    st.sampled_from(["a", "b", "c", "1", "2.5", "0"]),
    lambda inner: (
        st.tuples(inner, st.sampled_from("+-*/%"), inner).map(lambda p: f"({' '.join(p)})")
        | inner.map(lambda x: f"(-{x})")
    ),
    max_leaves=5,
)
comparisons = (
    st.tuples(numbers, st.sampled_from(["<", "<=", ">", ">=", "==", "!="]), numbers).map(" ".join)
    | st.tuples(numbers, numbers, numbers).map(" < ".join)
    | st.tuples(numbers | st.just("s"), st.sampled_from(["in", "not in"]), st.just("many")).map(" ".join)
    | st.tuples(numbers, numbers).map(lambda p: f"{p[0]} in ({p[1]}, 3)")
    | st.sampled_from(["s == 'x'", "n != None", "t", "not t", "True"])
)
conditions = st.recursive(
    comparisons,
    lambda inner: (
        st.tuples(inner, st.sampled_from([" and ", " or "]), inner).map(lambda p: f"({p[0]}{p[1]}{p[2]})")
        | inner.map(lambda x: f"(not {x})")
    ),
    max_leaves=6,
)


@settings(max_examples=200)
@given(conditions)
def test_a_condition_means_what_it_says(text: str) -> None:
    condition = Condition.parse(text)
    assert set(condition.names) <= NAMES.keys()
    try:
        expected = bool(eval(text, {}, dict(NAMES)))
    except ZeroDivisionError:
        with pytest.raises(InvalidRule, match="division by zero"):
            condition.holds(NAMES)
    else:
        assert condition.holds(NAMES) is expected


@settings(max_examples=200)
@given(st.text(st.sampled_from("ab_. ()[]{}'\"+-*/%<>=!,:\\0189nortidf\n"), max_size=30))
def test_any_text_is_a_condition_or_refused(text: str) -> None:
    problem = ""
    try:
        condition = Condition.parse(text)
        condition.holds(dict.fromkeys(condition.names, 1))
    except InvalidRule as error:
        problem = str(error)
    assert "\n" not in problem
