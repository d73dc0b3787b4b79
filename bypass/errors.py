"""The errors of the library. Every message is one line: the thing, its value, what was expected."""

from __future__ import annotations

import reprlib

from bypass.root_error import BypassError as BypassError


class InvalidAttribute(BypassError):
    """An attribute's name or type cannot be used."""


class AttributeConflict(BypassError):
    """A name already stands for something of another type."""


class UnknownType(BypassError):
    """A value is of no registered attribute type."""


class UnknownOperator(BypassError):
    """An attribute type has no operator of that name."""


class OperatorConflict(BypassError):
    """An operator's name already stands for another function."""


class InvalidFilter(BypassError):
    """A filter cannot be built from this value, or is used as something it is not."""


class EmptySubscription(BypassError):
    """A subscription needs at least one filter."""


class InvalidEvent(BypassError):
    """An event's attributes or payload break the limits of events."""


class InvalidLocation(BypassError):
    """Coordinates do not describe a place."""


class InvalidArea(BypassError):
    """Coordinates do not describe an area; the message names the vertex."""


class InvalidRadius(BypassError):
    """A radius is not a distance in metres."""


class InvalidWatch(BypassError):
    """A watch of borders asks for something that there is not."""


class InvalidInterval(BypassError):
    """The time between two fixes is not a positive number of seconds."""


class InvalidCallback(BypassError, TypeError):
    """A callback cannot be called with events, or would not be done when the call returns."""


class UnknownHandle(BypassError):
    """A subscription handle was never given out, or its subscription was withdrawn."""


class FollowingRefused(BypassError):
    """A subscription is to be around a client who does not allow that."""


class InvalidFormula(BypassError):
    """A text is no formula over tags, or one that is too large; the message marks the column."""


class InvalidWindow(BypassError):
    """A text is no time, or a window of time ends before it begins."""


class InvalidObject(BypassError):
    """An object's name, tags or other metadata break the limits of objects."""


class InvalidQuery(BypassError):
    """A query's circle, filters or identity break the limits of queries."""


class NotOwner(BypassError):
    """Somebody else owns the object or query."""


class UnknownObject(BypassError):
    """There is no object of that key here, or it was deleted."""


class QuotaExceeded(BypassError):
    """A store has no room for the object."""


class OperationFailed(BypassError):
    """An operation on objects could not be begun, or has ended without being done."""


class UnusableMechanism(BypassError):
    """A reference names nothing that can be loaded, or something of the wrong kind."""


BROKER = frozenset(("numba", "numpy", "prometheus_client"))
GEO = frozenset(("pyproj", "shapely"))
H3 = frozenset(("h3",))
INGEST = frozenset(
    (
        "cbor2", "cryptography", "cwt", "deltalake", "duckdb", "jwt", "msgspec", "nats", "paho", "starlette",
        "uvicorn", "websockets", "zstandard",
    )
)  # fmt: skip
LAB = frozenset(("jinja2", "matplotlib", "osmium", "pandas", "pyarrow", "pyspark", "rich", "scipy"))
TESTING = frozenset(("hypothesis",))
"""Packages that the extras of these names bring, by import name. LAB brings BROKER and GEO, too, INGEST
BROKER, pyarrow and pyspark."""


def extra_of(module: str) -> str | None:
    """The extra that brings a package; None for one that is always there, or is none of ours."""
    extras = {"broker": BROKER, "geo": GEO, "h3": H3, "ingest": INGEST, "lab": LAB, "testing": TESTING}
    return next((extra for extra, modules in extras.items() if module in modules), None)


class MissingExtra(BypassError, ImportError):
    """An optional dependency is not installed: `module` is its import name, `extra` what brings it."""

    def __init__(self, module: str, extra: str = "") -> None:
        extra = extra or extra_of(module) or "lab"
        # `args` has to be what the constructor takes, because unpickling calls it with them.
        super().__init__(module, extra)
        self.module = module
        self.extra = extra

    def __str__(self) -> str:
        return (
            f"{self.module} is not installed: needs the extra {self.extra}: "
            f"pip install 'bypass-pubsub[{self.extra}]'"
        )


def shown(value: object) -> str:
    """`value` for an error message: short, and on one line whatever its repr looks like."""
    return " ".join(reprlib.repr(value).split())
