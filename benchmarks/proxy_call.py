"""Measures a call through a proxy, beside a plain method call and forwarding by __getattr__."""

from __future__ import annotations

import statistics
import timeit
from typing import Any, Protocol

from common import arguments, integer, pin, print_table, ratio, rounds, write

from bypass.transitions import Engine, Mechanism

TARGET = 2.5
CALLS = {0: "none()", 2: "two(1, 2)", 5: "five(1, 2, 3, 4, 5)"}


class Calls(Protocol):
    """An interface with few and with many parameters."""

    def none(self) -> None: ...
    def two(self, a: int, b: int) -> None: ...
    def five(self, a: int, b: int, c: int, d: int, e: int) -> None: ...


class Idle(Mechanism):
    """Does nothing, so that only the call is measured."""

    def none(self) -> None:
        pass

    def two(self, a: int, b: int) -> None:
        pass

    def five(self, a: int, b: int, c: int, d: int, e: int) -> None:
        pass


class Forwarding:
    """The simplest proxy: every attribute is looked up in the target."""

    def __init__(self, target: object) -> None:
        self._target = target

    def __getattr__(self, name: str) -> Any:
        return getattr(self._target, name)


def main() -> None:
    parser = arguments(__doc__, repetitions=15)
    integer(parser, "--calls", 200_000, "calls in each repetition")
    options = parser.parse_args()
    pin()
    engine = Engine()
    proxy = engine.create_proxy("calls", Calls, Idle)
    plain = engine.active("calls")
    callees = {"plain": plain, "proxy": proxy, "__getattr__": Forwarding(plain)}
    rows, results = [], []
    for count, call in CALLS.items():
        timers = {
            name: timeit.Timer(f"callee.{call}", globals={"callee": callee})
            for name, callee in callees.items()
        }
        taken = rounds(
            {name: lambda timer=timer: timer.timeit(options.calls) for name, timer in timers.items()},  # type: ignore[misc]
            options.repetitions,
        )
        ns = {name: statistics.median(times) / options.calls * 1e9 for name, times in taken.items()}
        ratios = {name: ratio(taken[name], taken["plain"]) for name in ("proxy", "__getattr__")}
        rows.append((count, *ns.values(), ratios["proxy"], ratios["__getattr__"], TARGET))
        results.append({"arguments": count, "ns": ns, "ratio": ratios})
    header = ("arguments", "plain ns", "proxy ns", "__getattr__ ns", "proxy ×", "__getattr__ ×", "at most ×")
    print_table("A call, by the number of its arguments", header, rows)
    write("proxy_call", options.out, {"target": TARGET, "calls": results})


if __name__ == "__main__":
    main()
