"""What a mechanism class declares, and how values get into its instances."""

from __future__ import annotations

from enum import Enum
from typing import Annotated

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import Field

from bypass.transitions import InvalidParameter, Mechanism, MechanismState, Nothing, TransferState


class Dictionary:
    """Words that a compressor has learnt."""


class Level(Enum):
    FAST = "fast"
    SMALL = "small"


class Compressor(Mechanism):
    level: Annotated[int, MechanismState("level"), Field(ge=1, le=9)] = 6


class Windowed(Compressor):
    window: Annotated[float, MechanismState("window-size")] = Field(32.0, gt=0)
    mode: Annotated[Level, MechanismState()] = Level.FAST
    sizes: Annotated[list[int], MechanismState()] = [1, 2]  # noqa: RUF012 - each instance gets its own
    words: Annotated[dict[str, int], TransferState(optional=True), Field(default_factory=dict)]
    seen: Annotated[set[str], TransferState(optional=True)]
    note: Annotated[Dictionary | None, TransferState(optional=True)]
    shared: Annotated[Dictionary, TransferState("dictionary")]
    untouched: int = 7


class Best(Windowed):
    level = 9


class Blocked(Mechanism):
    size: Annotated[int, MechanismState("size")]


class LZ77Like(Mechanism):
    pass


class Renamed(Compressor):
    name = "squeeze"


class Heir(Renamed):
    pass


class TwoMarks(Mechanism):
    x: Annotated[int, TransferState(), MechanismState()] = 1


class SameName(Mechanism):
    x: Annotated[int, MechanismState("n")] = 1
    y: Annotated[int, MechanismState("n")] = 1


class ReservedName(Mechanism):
    x: Annotated[int, MechanismState("host")] = 1


class BadDefault(Mechanism):
    x: Annotated[int, MechanismState(), Field(ge=1)] = 0


class RequiredWithDefault(Mechanism):
    x: Annotated[int, TransferState()] = 0


class OptionalWithoutDefault(Mechanism):
    x: Annotated[Dictionary, TransferState(optional=True)]


class Unresolvable(Mechanism):
    x: Annotated[NoSuchType, TransferState()]  # type: ignore[name-defined]  # noqa: F821


def test_names_are_the_class_names_in_kebab_case_unless_given() -> None:
    names = [kind.name for kind in (Compressor, LZ77Like, Renamed, Heir, Nothing)]
    assert names == ["compressor", "lz77-like", "squeeze", "heir", "nothing"]


def test_declarations_are_inherited_and_listed_by_name() -> None:
    assert list(Windowed.parameters()) == ["level", "window-size", "mode", "sizes"]
    assert list(Windowed.states()) == ["words", "seen", "note", "dictionary"]
    assert Windowed.parameters()["window-size"].field == "window"
    assert Windowed.parameters()["window-size"].default == 32.0
    assert Best.parameters()["level"].default == 9
    assert Compressor.parameters()["level"].default == 6


def test_defaults_fill_what_is_not_given() -> None:
    mechanism = Windowed()
    assert mechanism.settings() == {"level": 6, "window-size": 32.0, "mode": Level.FAST, "sizes": [1, 2]}
    assert (mechanism.words, mechanism.seen, mechanism.note, mechanism.host) == ({}, set(), None, None)
    assert not hasattr(mechanism, "shared")


def test_mutable_defaults_are_not_shared_between_instances() -> None:
    one, other = Windowed(), Windowed()
    one.sizes.append(3)
    one.words["a"] = 1
    one.seen.add("a")
    assert (other.sizes, other.words, other.seen) == ([1, 2], {}, set())


def test_values_are_coerced_to_the_declared_type() -> None:
    dictionary = Dictionary()
    mechanism = Windowed("the host", level="3", mode="small", dictionary=dictionary, **{"window-size": 8})
    assert mechanism.host == "the host"
    assert (mechanism.level, mechanism.window, mechanism.mode) == (3, 8.0, Level.SMALL)
    assert mechanism.shared is dictionary


@given(st.integers())
def test_exactly_the_allowed_values_are_accepted(level: int) -> None:
    if 1 <= level <= 9:
        assert Compressor(level=level).settings() == {"level": level}
    else:
        with pytest.raises(InvalidParameter, match=r"parameter 'level' of 'compressor' cannot be -?\d+"):
            Compressor(level=level)


@pytest.mark.parametrize(
    ("kind", "values", "message"),
    [
        (
            Compressor,
            {"level": 10},
            r"'level' of 'compressor' cannot be 10: Input should be less than or equal to 9",
        ),
        (
            Compressor,
            {"levle": 5},
            r"'compressor' has no parameter 'levle' \(to be set to 5\); it has: level",
        ),
        (Nothing, {"level": 5}, r"'nothing' has no parameter 'level' .* it has: none"),
        (Blocked, {}, r"parameter 'size' of 'blocked' is missing and has no default"),
        (Windowed, {"window": 4}, r"has no parameter 'window' .*window-size"),
    ],
)
def test_what_is_not_allowed_is_named_in_one_line(
    kind: type[Mechanism], values: dict[str, object], message: str
) -> None:
    with pytest.raises(InvalidParameter, match=message) as caught:
        kind(**values)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        (TwoMarks, "TwoMarks.x is marked 2 times"),
        (SameName, "SameName.y: the name 'n' is taken"),
        (ReservedName, "ReservedName.x: the name 'host' is taken"),
        (BadDefault, "parameter BadDefault.x: .*greater than or equal to 1"),
        (RequiredWithDefault, "state RequiredWithDefault.x has a default"),
        (OptionalWithoutDefault, "state OptionalWithoutDefault.x is optional and must have a default"),
        (Unresolvable, "annotations of Unresolvable: name 'NoSuchType' is not defined"),
    ],
)
def test_contradictory_declarations_are_refused(kind: type[Mechanism], message: str) -> None:
    with pytest.raises(TypeError, match=message):
        kind()
