"""Proxies that forward to whatever is active, and stubs that stand in when nothing is.

Forwarders are generated as source text with the exact signature of the method they stand for, so that a call
costs one attribute look-up and one call more than without a proxy.
"""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable, Iterator
from types import FrameType, FunctionType, new_class
from typing import Any, get_type_hints

from bypass.transitions.mechanism import Mechanism, Nothing
from bypass.transitions.state.annotations import empty_value
from bypass.transitions.state.schema import Parameter, State

_FILE = "<forwarder of a proxy>"


@functools.cache
def make_proxy_class(api: type) -> type:
    """A subclass of `api` whose public methods and properties forward to `self._active`.

    If `api` is a family of mechanisms, settings and declared fields can be read through the proxy too: what
    is inherited would answer for the proxy itself. To start and stop is the engine's business.
    """
    namespace: dict[str, Any] = {"__module__": api.__module__, "__slots__": ("_active",), "__repr__": _repr}
    for name, function, is_property in public_members(api):
        namespace[name] = _forwarding_property(name) if is_property else _forwarder(name, function)
    if issubclass(api, Mechanism):
        fields: tuple[Parameter | State, ...] = (*api.parameters().values(), *api.states().values())
        namespace.update({item.field: _forwarding_property(item.field) for item in fields})
        namespace["settings"] = _forwarder("settings", Mechanism.settings)
    return new_class(f"{api.__name__}Proxy", (api,), exec_body=lambda ns: ns.update(namespace))


def make_proxy(api: type, active: Mechanism) -> Any:
    """A proxy for `api` that forwards to `active`, without whatever making an `api` would do."""
    proxy: Any = object.__new__(make_proxy_class(api))
    proxy._active = active
    return proxy


@functools.cache
def make_stub(api: type) -> type[Nothing]:
    """A `Nothing` with the methods of `api`: they accept anything, do nothing and return an empty value.

    Raises TypeError if a return annotation cannot be resolved.
    """
    namespace: dict[str, Any] = {"__module__": api.__module__, "name": Nothing.name}
    for name, function, is_property in public_members(api):
        method = _stub_method(function, empty_value(_return_annotation(api, function)))
        namespace[name] = property(method) if is_property else method
    return type(f"Nothing{api.__name__}", (Nothing,), namespace)


@functools.cache
def public_members(api: type) -> tuple[tuple[str, FunctionType, bool], ...]:
    """Name and function of what `api` declares or inherits, and whether it is a property.

    What every mechanism has, such as `start`, is not part of an API.
    """
    return tuple(_public_members(api))  # kept: every client asks for all of its mechanisms


def _public_members(api: type) -> Iterator[tuple[str, FunctionType, bool]]:
    for name in dir(api):
        if not name.startswith("_") and not hasattr(Mechanism, name):
            member = inspect.getattr_static(api, name)
            function = member.fget if isinstance(member, property) else member
            if isinstance(function, FunctionType):
                yield name, function, isinstance(member, property)


def is_in_call(proxy: object) -> bool:
    """Say whether a call through `proxy` is under way in this thread.

    The stack itself is asked, so that calls need not leave a trace of their own and stay cheap.
    """
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        code = frame.f_code
        if code.co_filename == _FILE and frame.f_locals.get(code.co_varnames[0]) is proxy:
            return True
        frame = frame.f_back
    return False


def _repr(self: Any) -> str:
    return f"<{type(self).__name__} to {self._active!r}>"


def _forwarder(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    signature = inspect.signature(function)
    me, *parameters = signature.parameters.values()
    defaults = {f"default_{p.name}": p.default for p in parameters if p.default is not p.empty}
    bare = [
        p.replace(
            annotation=p.empty, default=p.empty if p.default is p.empty else _Verbatim(f"default_{p.name}")
        )
        for p in (me, *parameters)
    ]
    head = signature.replace(parameters=bare, return_annotation=signature.empty)
    call = f"{me.name}._active.{name}({', '.join(_argument(p) for p in parameters)})"
    if inspect.iscoroutinefunction(function):
        source = f"async def {name}{head}: return await {call}"
    else:
        source = f"def {name}{head}: return {call}"
    forwarder = _compile(source, name, defaults)
    # `updated=()`: what makes a method abstract must not be taken over
    return functools.update_wrapper(forwarder, function, updated=())


def _forwarding_property(name: str) -> property:
    return property(_compile(f"def {name}(self): return self._active.{name}", name, {}))


def _argument(parameter: inspect.Parameter) -> str:
    match parameter.kind:
        case inspect.Parameter.VAR_POSITIONAL:
            return f"*{parameter.name}"
        case inspect.Parameter.VAR_KEYWORD:
            return f"**{parameter.name}"
        case inspect.Parameter.KEYWORD_ONLY:
            return f"{parameter.name}={parameter.name}"
        case _:
            return parameter.name


def _compile(source: str, name: str, namespace: dict[str, Any]) -> Callable[..., Any]:
    exec(compile(source, _FILE, "exec"), namespace)  # noqa: S102 - the text is made of the API's own names
    function: Callable[..., Any] = namespace[name]
    return function


class _Verbatim:
    """Stands for a default value in a signature and prints as the name that holds it."""

    def __init__(self, text: str) -> None:
        self._text = text

    def __repr__(self) -> str:
        return self._text


def _stub_method(function: Callable[..., Any], empty: Callable[[], Any]) -> Callable[..., Any]:
    def stub(*_args: Any, **_kwargs: Any) -> Any:
        return empty()

    async def async_stub(*_args: Any, **_kwargs: Any) -> Any:
        return empty()

    chosen = async_stub if inspect.iscoroutinefunction(function) else stub
    return functools.update_wrapper(chosen, function, updated=())


def _return_annotation(api: type, function: Any) -> Any:
    def alone() -> Any: ...

    # other annotations of the function may name what is known to type checkers only
    alone.__annotations__ = {"return": function.__annotations__.get("return")}
    try:
        hints = get_type_hints(alone, function.__globals__)
    except NameError as error:
        raise TypeError(f"return annotation of {api.__name__}.{function.__name__}: {error}") from None
    return hints["return"]
