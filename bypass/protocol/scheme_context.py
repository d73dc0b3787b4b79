"""Messages between the two parts of a filter scheme that is not built in.

A scheme declares a class of typed fields; the wire carries their values in the order of the fields, in three
lists: whole numbers, real numbers, texts. Truth values travel as numbers. A number before a tuple of any
length gives the length, and one before an optional value says whether the value is there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, fields
from math import isfinite
from types import NoneType, UnionType
from typing import Any, ClassVar, Self, Union, dataclass_transform, get_args, get_origin, get_type_hints

from bypass.errors import shown
from bypass.protocol.messages import ContextMessage

MOST_VALUES = 1024
"""Numbers and texts in one message."""

MAX_TEXT = 1024
"""Characters in one text."""

_RANGE = range(-(2**63), 2**63)


@dataclass(slots=True)
class PackedFields:
    """The values of a message's fields, as they travel."""

    numbers: list[int] = field(default_factory=list)
    reals: list[float] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.numbers) + len(self.reals) + len(self.texts)


class _Unpacking:
    """Values that are taken one after the other."""

    def __init__(self, packed: PackedFields) -> None:
        self.numbers: Iterator[int] = iter(packed.numbers)
        self.reals: Iterator[float] = iter(packed.reals)
        self.texts: Iterator[str] = iter(packed.texts)

    def over(self) -> bool:
        return all(next(each, None) is None for each in (self.numbers, self.reals, self.texts))


Write = Callable[[Any, PackedFields], None]
Read = Callable[[_Unpacking], Any]


@dataclass_transform()
@dataclass
class SchemeContext(ContextMessage):
    """Base of a scheme's own message, a dataclass without a decorator:

        class Context(SchemeContext):
            cell: tuple[int, int]
            note: str | None = None

    Fields are whole numbers of 64 bits, finite real numbers, truth values and texts, tuples of these, and
    what may be None instead. One that is called `location`, a pair of metres, all other schemes understand,
    too.
    """

    of_scheme: int = field(default=0, kw_only=True, compare=False)
    """The number of the scheme whose message it is; `scheme` is what its sender had when it was sent."""

    _forms: ClassVar[dict[str, tuple[Write, Read]] | None] = None

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        dataclass(cls)
        cls._forms = None

    @classmethod
    def forms(cls) -> dict[str, tuple[Write, Read]]:
        """How each field is written and read. Raises TypeError for a field of another type."""
        if cls._forms is None:
            hints = get_type_hints(cls)
            common = {each.name for each in fields(SchemeContext)}
            own = [each.name for each in fields(cls) if each.name not in common]
            cls._forms = {name: _form(f"{cls.__qualname__}.{name}", hints[name]) for name in own}
        return cls._forms

    def packed(self) -> PackedFields:
        """The values of the fields. Raises ValueError for one that cannot travel, and for too many."""
        out = PackedFields()
        for name, (write, _) in self.forms().items():
            value = getattr(self, name)
            try:
                write(value, out)
            except (TypeError, ValueError) as error:
                raise ValueError(f"{name} {shown(value)}: {error}") from error
        _check_number(len(out))
        return out

    @classmethod
    def unpacked(cls, packed: PackedFields) -> Self:
        """The message with these values. Raises ValueError unless they are what the fields are declared to
        be."""
        _check_number(len(packed))
        left, values = _Unpacking(packed), {}
        for name, (_, read) in cls.forms().items():
            try:
                values[name] = read(left)
            except StopIteration:
                raise ValueError(f"{name} is missing") from None
            except ValueError as error:
                raise ValueError(f"{name}: {error}") from error
        if not left.over():
            raise ValueError(f"{len(packed)} values: expected fewer")
        return cls(**values)


def _check_number(values: int) -> None:
    if values > MOST_VALUES:
        raise ValueError(f"{values} values: expected at most {MOST_VALUES}")


def _form(what: str, hint: Any) -> tuple[Write, Read]:
    """How values of a type are written and read."""
    if hint in _PLAIN:
        return _PLAIN[hint]
    kind, arguments = get_origin(hint), get_args(hint)
    if kind is tuple and len(arguments) == 2 and arguments[1] is Ellipsis:
        return _any_number_of(*_form(what, arguments[0]))
    if kind is tuple:
        return _each_of([_form(what, each) for each in arguments])
    if kind in (Union, UnionType) and len(arguments) == 2 and NoneType in arguments:
        return _maybe(*_form(what, next(each for each in arguments if each is not NoneType)))
    raise TypeError(
        f"{what} is {hint}: expected int, float, bool, str, tuples of these, or one of them or None"
    )


def _write_number(value: Any, out: PackedFields) -> None:
    if type(value) is not int or value not in _RANGE:
        raise ValueError("expected a whole number of 64 bits")
    out.numbers.append(value)


def _write_real(value: Any, out: PackedFields) -> None:
    if type(value) not in (int, float) or not isfinite(value):
        raise ValueError("expected a finite number")
    out.reals.append(float(value))


def _read_real(left: _Unpacking) -> float:
    value = next(left.reals)
    if not isfinite(value):
        raise ValueError(f"{value}: expected a finite number")
    return value


def _write_truth(value: Any, out: PackedFields) -> None:
    if type(value) is not bool:
        raise ValueError("expected true or false")
    out.numbers.append(int(value))


def _read_truth(left: _Unpacking) -> bool:
    value = next(left.numbers)
    if value not in (0, 1):
        raise ValueError(f"{value}: expected 0 or 1")
    return value == 1


def _write_text(value: Any, out: PackedFields) -> None:
    if type(value) is not str or len(value) > MAX_TEXT:
        raise ValueError(f"expected a text of at most {MAX_TEXT} characters")
    out.texts.append(value)


def _read_text(left: _Unpacking) -> str:
    value = next(left.texts)
    if len(value) > MAX_TEXT:
        raise ValueError(f"{len(value)} characters: expected at most {MAX_TEXT}")
    return value


_PLAIN: dict[Any, tuple[Write, Read]] = {
    int: (_write_number, lambda left: next(left.numbers)),
    float: (_write_real, _read_real),
    bool: (_write_truth, _read_truth),
    str: (_write_text, _read_text),
}


def _each_of(forms: list[tuple[Write, Read]]) -> tuple[Write, Read]:
    def write(value: Any, out: PackedFields) -> None:
        if type(value) is not tuple or len(value) != len(forms):
            raise ValueError(f"expected a tuple of {len(forms)}")
        for each, (write_one, _) in zip(value, forms, strict=True):
            write_one(each, out)

    return write, lambda left: tuple([read(left) for _, read in forms])


def _any_number_of(write_one: Write, read_one: Read) -> tuple[Write, Read]:
    def write(value: Any, out: PackedFields) -> None:
        if type(value) is not tuple or len(value) > MOST_VALUES:
            raise ValueError(f"expected a tuple of at most {MOST_VALUES}")
        out.numbers.append(len(value))
        for each in value:
            write_one(each, out)

    def read(left: _Unpacking) -> Any:
        length = next(left.numbers)
        if not 0 <= length <= MOST_VALUES:
            raise ValueError(f"{length} of them: expected at most {MOST_VALUES}")
        return tuple([read_one(left) for _ in range(length)])

    return write, read


def _maybe(write_one: Write, read_one: Read) -> tuple[Write, Read]:
    def write(value: Any, out: PackedFields) -> None:
        out.numbers.append(int(value is not None))
        if value is not None:
            write_one(value, out)

    return write, lambda left: read_one(left) if _read_truth(left) else None
