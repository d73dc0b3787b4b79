"""Attribute values on the wire: those built in, and those an application registers."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from struct import pack, unpack
from typing import Any, NamedTuple, TypeVar

from bypass.errors import AttributeConflict, shown
from bypass.events.attributes import AREA, BUILT_IN_TYPES, PLACE, TYPES, AttributeType, AttributeTypes
from bypass.events.operators import OPERATORS, OperatorRegistry
from bypass.places.areas import Area
from bypass.places.geo import PlanarLocation
from bypass.protocol.wire import bypass_pb2 as pb
from bypass.protocol.wire.area_fields import area_from_bytes, area_to_bytes

T = TypeVar("T")


_NO_SET = "set in a set: expected other elements"
"""Events have none; and a sender could choose sets with equal hashes, which take long to put in a set."""


_NO_TRUTH = "truth value in a set: expected other elements"
"""In a set it could not be told from a number."""


PLAIN = ("text", "integer", "real", "truth")
"""Fields with values that are as they are read."""


class _ValueType(NamedTuple):
    tag: str
    to_bytes: Callable[[Any], bytes]
    from_bytes: Callable[[bytes], Any]


def _place_to_bytes(place: PlanarLocation) -> bytes:
    return pack("<2d", place.x, place.y)


def _place_from_bytes(data: bytes) -> PlanarLocation:
    return PlanarLocation(*unpack("<2d", data))


class ValueTypes:
    """The values that messages of one system carry: those built in, and those an application registers.

    Applications use `attributes` for events and `operators` for filters with values of these types.
    """

    def __init__(
        self, attributes: AttributeTypes | None = None, operators: OperatorRegistry | None = None
    ) -> None:
        self.attributes = attributes or AttributeTypes()
        self.operators = operators or OperatorRegistry()
        self._types: dict[str, AttributeType] = {kind.name: kind for kind in BUILT_IN_TYPES}
        self._by_class: dict[type, _ValueType] = {}
        self._by_tag: dict[str, _ValueType] = {}
        self.register(PlanarLocation, PLACE.name, _place_to_bytes, _place_from_bytes)
        self.register(Area, AREA.name, area_to_bytes, area_from_bytes)

    def register(
        self, cls: type[T], tag: str, to_bytes: Callable[[T], bytes], from_bytes: Callable[[bytes], T]
    ) -> AttributeType:
        """Let instances of `cls` travel: as attribute values, and as values of filters on them.

        Makes `cls` an attribute type called `tag`, as `register_type` does, unless it is one. Both ends must
        register the same tag, and `from_bytes(to_bytes(value))` must equal `value`. Registering the same
        again changes nothing. Raises as `register_type` does, and AttributeConflict for a tag that has other
        functions.
        """
        kind = self.attributes.register(tag, cls)
        value_type = _ValueType(tag, to_bytes, from_bytes)
        if self._by_tag.setdefault(tag, value_type) != value_type:
            raise AttributeConflict(f"value type {tag!r} of {cls.__name__}: registered with other functions")
        self._by_class[cls] = value_type
        self._types[tag] = kind
        return kind

    def called(self, name: str) -> AttributeType:
        """The attribute type of that name. Raises ValueError if it is not built in and cannot travel."""
        if name not in self._types:
            raise ValueError(f"attribute type {shown(name)}: expected one of {', '.join(self._types)}")
        return self._types[name]

    def write(self, new: Callable[[], pb.Value], pairs: Iterable[tuple[str, Any]]) -> None:
        """Fill one `new()` with each pair of name and value. Raises ValueError for what cannot travel."""
        for name, value in pairs:
            out = new()
            cls = type(value)
            try:
                out.name = name
                if cls is str:
                    out.text = value
                elif cls is int:
                    out.integer = value
                elif cls is float:
                    out.real = value
                elif cls is bool:
                    if not name:
                        raise ValueError(_NO_TRUTH)
                    out.truth = value
                elif cls is frozenset:
                    if not name:
                        raise ValueError(_NO_SET)
                    out.set.SetInParent()  # an empty set is a set too
                    self.write(out.set.elements.add, (("", element) for element in value))
                    out.set.elements.sort(key=pb.Value.SerializeToString)
                else:
                    self._write_custom(out.custom, value)
            except (TypeError, ValueError) as error:
                raise ValueError(f"{_called(name)} {shown(value)}: {error}") from error

    def read(self, value: pb.Value) -> Any:
        """The value in there. Raises TypeError or ValueError if that is none."""
        kind = value.WhichOneof("value")
        if kind in PLAIN:
            return getattr(value, kind)
        if kind == "set":
            return frozenset(
                [self._read_single(each, each.WhichOneof("value")) for each in value.set.elements]
            )
        return self._read_single(value, kind)

    def _read_single(self, value: pb.Value, kind: str | None) -> Any:
        if kind is None:
            raise ValueError(f"{_called(value.name)}: value is missing")
        if kind == "set":
            raise ValueError(_NO_SET)
        if kind == "truth":
            raise ValueError(_NO_TRUTH)
        if kind == "custom":
            return self._read_custom(value.custom)
        return getattr(value, kind)

    def _write_custom(self, out: pb.Custom, value: Any) -> None:
        for base in type(value).__mro__:
            if base in self._by_class:
                out.tag, to_bytes, _ = self._by_class[base]
                break
        else:
            expected = ", ".join(self._types)
            raise TypeError(f"value of class {type(value).__name__}: expected one of {expected}")
        try:
            out.data = to_bytes(value)
        except Exception as error:  # the application's code may raise anything
            raise ValueError(f"{out.tag} cannot be encoded: {shown(error)}") from error

    def _read_custom(self, custom: pb.Custom) -> Any:
        if custom.tag not in self._by_tag:
            expected = ", ".join(self._by_tag) or "none"
            raise ValueError(f"value type {shown(custom.tag)}: expected a registered one: {expected}")
        try:
            return self._by_tag[custom.tag].from_bytes(custom.data)
        except Exception as error:  # as above
            raise ValueError(
                f"{custom.tag} {shown(custom.data)} cannot be decoded: {shown(error)}"
            ) from error


VALUE_TYPES = ValueTypes(TYPES, OPERATORS)
"""The values of systems that are not given others."""

register_value_type = VALUE_TYPES.register


def _called(name: str) -> str:
    return f"attribute {shown(name)}" if name else "element"
