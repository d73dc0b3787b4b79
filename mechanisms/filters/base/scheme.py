"""A filter scheme as one class, which names its parts: one at the client, one at the broker."""

from __future__ import annotations

from inspect import get_annotations
from typing import Any, ClassVar, TypeAlias, get_args

from bypass.mechanisms.filters.base.broker import FilterBroker
from bypass.mechanisms.filters.base.client import FilterClient
from bypass.protocol.scheme_context import SchemeContext
from bypass.transitions import MechanismState
from bypass.transitions.mechanism import plan_name

PARTS = ("Client", "Broker")


class FilterScheme:
    """Decides who gets an event, by the places of subscribers and event. One plan moves both of its parts.

        class Hexagons(FilterScheme):
            side: Annotated[float, MechanismState(), Field(gt=0)] = 100.0

            class Context(SchemeContext):
                cell: tuple[int, int]

            class Client(FilterScheme.Client): ...
            class Broker(FilterScheme.Broker): ...

    `Context` is what the parts say to each other beside the messages of built-in schemes, if anything. A
    parameter that the scheme itself declares is one of both parts. Parts that a scheme inherits from another
    one are derived for it. Importing a scheme must not import what only a broker needs: a broker's part
    imports its index in `make_index`.
    """

    name: ClassVar[str] = "scheme"
    """The name in plans: the class name in kebab-case, unless the class sets another."""

    flag: ClassVar[int] = 0
    """The number by which messages name a built-in scheme; 0 for all others."""

    memory: ClassVar[float | None] = None
    """How many seconds before the clients' last fixes still decide what both parts know: 0 if nothing before
    those fixes does, None if there is no bound. It holds for this very class, not for derived ones."""

    kernels: ClassVar[str | type | None] = None
    """A class that judges the scheme on traces faster than its parts do (see `kernels.judge`), or its import
    path, `module:Class`. It, too, holds for this very class alone."""

    Context: ClassVar[type[SchemeContext] | None] = None
    Client: TypeAlias = FilterClient
    Broker: TypeAlias = FilterBroker

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """Raises TypeError if a part is none, or if a parameter cannot be read."""
        super().__init_subclass__(**kwargs)
        if "name" not in vars(cls):
            cls.name = plan_name(cls.__name__)
        if "flag" not in vars(cls):  # that of a scheme that this one is derived from is not its own
            cls.flag = 0
        parameters = _parameters(cls)
        for attribute in PARTS:
            part: Any = getattr(cls, attribute)
            if not (isinstance(part, type) and issubclass(part, getattr(FilterScheme, attribute))):
                raise TypeError(
                    f"{cls.__name__}.{attribute}: expected a subclass of FilterScheme.{attribute}"
                )
            if attribute not in vars(cls) or "scheme" in vars(part):  # it is another scheme's
                about = {"__module__": cls.__module__, "__qualname__": f"{cls.__qualname__}.{attribute}"}
                part = type(attribute, (part,), {**about, "__doc__": part.__doc__})
                setattr(cls, attribute, part)
            part.scheme = cls
            part.name = cls.name
            for field, hint in parameters.items():
                part.__annotations__[field] = hint
                if field in vars(cls):
                    setattr(part, field, vars(cls)[field])


def _parameters(scheme: type) -> dict[str, Any]:
    """The parameters that a scheme itself declares: the field and what it is annotated with."""
    try:
        hints = get_annotations(scheme, eval_str=True)
    except NameError as error:
        raise TypeError(
            f"annotations of {scheme.__name__}: {error}; expected types that are known by then"
        ) from None
    return {
        field: hint
        for field, hint in hints.items()
        if any(isinstance(mark, MechanismState) for mark in get_args(hint))
    }
