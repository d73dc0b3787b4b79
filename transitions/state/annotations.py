"""Questions about type annotations that state transfer and stubs ask."""

from __future__ import annotations

import sys
from collections import abc, deque
from collections.abc import Callable
from functools import partial
from types import NoneType, UnionType
from typing import Annotated, Any, TypeVar, Union, get_args, get_origin

_EMPTY: dict[Any, Callable[[], Any]] = {
    bool: bool,
    str: str,
    bytes: bytes,
    list: list,
    dict: dict,
    set: set,
    frozenset: frozenset,
    tuple: tuple,
    deque: deque,
    abc.Mapping: dict,
    abc.MutableMapping: dict,
    abc.Sequence: tuple,
    abc.MutableSequence: list,
    abc.Set: frozenset,
    abc.MutableSet: set,
    abc.Collection: tuple,
    abc.Iterable: tuple,
    abc.Iterator: lambda: iter(()),
}


def compatible(offered: Any, wanted: Any) -> bool:
    """Say whether a value annotated as `offered` can be given to a field annotated as `wanted`.

    A subclass fits its base, `Any` and type variables fit everything, a bare generic fits each of its
    parametrised forms; the arguments of two parametrised forms must be the same.
    """
    offered, wanted = _plain(offered), _plain(wanted)
    if offered is Any or wanted is Any or offered == wanted:
        return True
    if _is_union(offered):
        return all(compatible(arm, wanted) for arm in get_args(offered))
    if _is_union(wanted):
        return any(compatible(offered, arm) for arm in get_args(wanted))
    if not _is_subclass(get_origin(offered) or offered, get_origin(wanted) or wanted):
        return False
    given, asked = get_args(offered), get_args(wanted)
    if not given or not asked:
        return True
    return len(given) == len(asked) and all(
        compatible(one, other) and compatible(other, one) for one, other in zip(given, asked, strict=True)
    )


def is_application_class(annotation: Any) -> bool:
    """Say whether the annotation says by itself what the value is for: a class that the application made."""
    annotation = _plain(annotation)
    annotation = get_origin(annotation) or annotation
    if not isinstance(annotation, type):
        return False
    package = annotation.__module__.partition(".")[0]
    return package not in sys.stdlib_module_names and package != "numpy"


def empty_value(annotation: Any) -> Callable[[], Any]:
    """Give what makes an empty value that fits `annotation`, and None where emptiness means nothing."""
    annotation = _plain(annotation)
    if _is_union(annotation):
        arms = get_args(annotation)
        return _none if NoneType in arms else empty_value(arms[0])
    kind = get_origin(annotation) or annotation
    numpy = sys.modules.get("numpy")
    if numpy is not None and kind is numpy.ndarray:
        return partial(numpy.empty, 0, _scalar_type(annotation))
    try:
        return _EMPTY.get(kind, _none)
    except TypeError:  # an annotation that cannot be hashed is no container's
        return _none


def _plain(annotation: Any) -> Any:
    if get_origin(annotation) is Annotated:
        annotation = get_args(annotation)[0]
    return Any if isinstance(annotation, TypeVar) else annotation


def _is_union(annotation: Any) -> bool:
    return get_origin(annotation) in (Union, UnionType)


def _is_subclass(one: Any, other: Any) -> bool:
    try:
        return issubclass(one, other)
    except TypeError:  # not classes, or a protocol that cannot be checked at run time
        return False


def _scalar_type(array: Any) -> Any:
    """The scalar type in `NDArray[scalar]`; None, numpy's own default, if there is none."""
    dtype = get_args(array)[1:]
    scalar = get_args(dtype[0]) if dtype else ()
    return scalar[0] if scalar and isinstance(scalar[0], type) else None


def _none() -> None:
    return None
