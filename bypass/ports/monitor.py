"""Instrumentation: analyzers hear what happens and never change it.

A mechanism calls an analyzer interface, a class or Protocol whose methods return None, and every analyzer
that implements it hears the call.
"""

from __future__ import annotations

import inspect
import logging
from collections import Counter
from collections.abc import Callable
from functools import cache, partial
from typing import Any, TypeVar, cast

Api = TypeVar("Api")

_log = logging.getLogger(__name__)


class Monitor:
    """Connects mechanisms, which call analyzer interfaces, with the analyzers that implement them.

    An analyzer implements a class by inheriting from it, and a Protocol by having its methods. What its
    methods return is ignored. What they raise stays here: `failures` counts it by class and method, and
    the first of each is logged.
    """

    def __init__(self) -> None:
        self.failures: Counter[str] = Counter()
        self._analyzers: list[object] = []
        self._fan_outs: dict[type, _FanOut] = {}

    def get(self, api: type[Api]) -> Api:
        """An object whose public methods call the analyzers that implement `api`, in order of registration.

        It stays good whoever registers later; the methods taken from it do not. Without analyzers, a call
        does nothing and costs next to nothing.
        """
        if api not in self._fan_outs:
            self._fan_outs[api] = _FanOut()
            self._bind(api)
        return cast("Api", self._fan_outs[api])

    def register(self, analyzer: object) -> None:
        """Let `analyzer` hear. Registering it again changes nothing."""
        if not any(each is analyzer for each in self._analyzers):
            self._analyzers.append(analyzer)
            self._bind_all()

    def unregister(self, analyzer: object) -> None:
        """Let `analyzer` hear no more. No effect if it is not registered."""
        self._analyzers = [each for each in self._analyzers if each is not analyzer]
        self._bind_all()

    def _bind_all(self) -> None:
        for api in self._fan_outs:
            self._bind(api)

    def _bind(self, api: type) -> None:
        names = _methods(api)
        analyzers = [each for each in self._analyzers if _implements(each, api, names)]
        for name in names:
            calls = [self._guarded(each, api, name) for each in analyzers]
            setattr(self._fan_outs[api], name, _fan_out(calls))

    def _guarded(self, analyzer: object, api: type, name: str) -> Callable[..., None]:
        """The method of one analyzer, so that nothing it raises goes further."""
        label = f"{type(analyzer).__name__}.{name}"
        guard = _guard_maker(_parameters(getattr(api, name)))
        return guard(getattr(analyzer, name), partial(_note_failure, self.failures, label))


class _FanOut:
    """Has the methods of an analyzer interface as instance attributes, replaced when analyzers change."""


def _nobody(*args: Any, **kwargs: Any) -> None:
    """The method of an interface that no analyzer implements."""


def _fan_out(calls: list[Callable[..., None]]) -> Callable[..., None]:
    if len(calls) < 2:
        return calls[0] if calls else _nobody

    def call_all(*args: Any, **kwargs: Any) -> None:
        for each in calls:
            each(*args, **kwargs)

    return call_all


def _parameters(method: Callable[..., Any]) -> str:
    """The parameters of a method as they are written, if all of them are just names; else whatever comes."""
    _, *parameters = inspect.signature(method).parameters.values()
    if all(p.kind is p.POSITIONAL_OR_KEYWORD and p.default is p.empty for p in parameters):
        return ", ".join(p.name for p in parameters)
    return "*args, **kwargs"


@cache
def _guard_maker(parameters: str) -> Callable[..., Callable[..., None]]:
    """Makes, of a listener and of what to do if it raises, a function with these parameters.

    It is made from text, because packing and unpacking `*args` takes longer than all the rest of the call.
    """
    source = f"""
def make(_listener, _failed):
    def call({parameters}):
        try:
            _listener({parameters})
        except Exception:
            _failed()
    return call
"""
    namespace: dict[str, Any] = {}
    exec(source, namespace)  # noqa: S102 - the text is made of an interface's own names
    make: Callable[..., Callable[..., None]] = namespace["make"]
    return make


def _methods(api: type) -> list[str]:
    return [name for name in dir(api) if not name.startswith("_") and callable(getattr(api, name))]


def _implements(analyzer: object, api: type, names: list[str]) -> bool:
    if api in type(analyzer).__mro__:
        return True
    is_protocol = getattr(api, "_is_protocol", False)
    return is_protocol and all(callable(getattr(analyzer, name, None)) for name in names)


def _note_failure(failures: Counter[str], label: str) -> None:
    """Count the exception at hand, and log the first one: a broken analyzer must not flood the log."""
    failures[label] += 1
    if failures[label] == 1:
        _log.exception("%s failed; further failures are only counted", label)
