"""YAML with a key twice says two things: it is refused. Whatever is written is read as it was."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bypass.transitions import InvalidPlan, InvalidRule, Plan, RuleBook
from bypass.transitions.yaml_text import NotYaml, dump_yaml, parse_yaml

texts = st.text(st.characters(exclude_categories=("Cs", "Cc")), max_size=8)
values = st.recursive(
    st.none() | st.booleans() | st.integers() | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=8,
)


@pytest.mark.parametrize("as_text", [False, True])
@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("a: 1\nb: 2\na: 3\n", 3, "line 3: key 'a' is in line 1 already"),
        ("{a: 1, a: 1}", 1, "line 1: key 'a' is in line 1 already"),
        ("deep:\n  - x\n  - {in: 1,\n     'in': 2}\n", 4, "line 4: key 'in' is in line 3 already"),
        ("1: x\n2: y\n1: z\n", 3, "line 3: key '1' is in line 1 already"),
    ],
)
def test_a_key_that_is_there_twice_is_refused(text: str, line: int, message: str, as_text: bool) -> None:
    with pytest.raises(NotYaml) as caught:
        parse_yaml(text, texts=as_text)
    assert (str(caught.value), caught.value.line) == (message, line)


def test_what_is_merged_may_be_there_as_well() -> None:
    text = "base: &base {a: 1, b: 2}\nmore: &more\n  <<: *base\n  b: 3\nmost: {<<: *more, a: 4}\n"
    read = parse_yaml(text)
    assert (read["more"], read["most"]) == ({"a": 1, "b": 3}, {"a": 4, "b": 3})


def test_equal_keys_in_different_groups_are_different_keys() -> None:
    assert parse_yaml("a: {a: 1}\nb: [{a: 1}, {a: 2}]") == {"a": {"a": 1}, "b": [{"a": 1}, {"a": 2}]}


@given(st.dictionaries(texts, values, max_size=4))
def test_what_is_written_is_read_as_it_was(data: dict[str, Any]) -> None:
    assert parse_yaml(dump_yaml(data)) == data


def test_plans_and_rules_have_each_key_once() -> None:
    with pytest.raises(InvalidPlan, match=r"plan is not YAML: line 2: key 'plan' is in line 1 already"):
        Plan.from_yaml("plan: a\nplan: b\nactions: [{proxy: filter, to: ste}]\n")
    with pytest.raises(InvalidRule, match=r"rule book is not YAML: line 2: key 'rules' is in line 1 already"):
        RuleBook.from_yaml("rules: []\nrules: []\n")
