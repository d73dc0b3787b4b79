"""How often caches hit, and how many requests a second they take, beside other libraries and the optimum."""

from __future__ import annotations

import gzip
import statistics
import sys
from collections.abc import Callable, Hashable, Sequence
from functools import partial
from heapq import heappop, heappush
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from common import arguments, integer, print_table, rounds, write

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # the trace that is made is that of the tests

from bypass.mechanisms import Registry
from bypass.mechanisms.families import CACHE
from bypass.testing.worlds.caches import CacheNode
from tests.cache_traces import made_trace

Trace = Sequence[Hashable]
SEEDED = "w-tiny-lfu"
PEER = "theine"
"""W-TinyLFU of another library, whose hits differ from run to run."""


def read_trace(path: Path) -> list[int]:
    """Read keys, which are numbers, one a line."""
    data = path.read_bytes()
    text = gzip.decompress(data) if path.suffix == ".gz" else data
    return [int(line) for line in text.split()]


def ours(trace: Trace, name: str, capacity: int, seed: int = 1) -> int:
    """The hits of a mechanism: a key that is not there is put."""
    cache = CacheNode(name, {"capacity": capacity}, seed=seed).cache
    return cached(trace, cache.get, lambda key: cache.put(key, True))


def cached(trace: Trace, get: Callable[[Any], Any], put: Callable[[Any], object]) -> int:
    """Count the requests for which `get` gives something; all others are put."""
    hits = 0
    for key in trace:
        if get(key) is None:
            put(key)
        else:
            hits += 1
    return hits


def cachetools_hits(trace: Trace, name: str, capacity: int) -> int:
    cache: Any = getattr(import_module("cachetools"), name)(capacity)
    return cached(trace, cache.get, lambda key: cache.__setitem__(key, True))


def theine_hits(trace: Trace, capacity: int) -> int:
    """By the second version of its API, which says whether a key was there."""
    cache: Any = import_module("theine").Cache(capacity)
    return cached(trace, lambda key: cache.get(key)[1] or None, lambda key: cache.set(key, True))


def optimum(trace: Trace, capacity: int) -> int:
    """The hits if the key is evicted that is needed latest, by Belady; one needed later still is not kept."""
    following: dict[Hashable, int] = {}
    needed = [0] * len(trace)
    for index in reversed(range(len(trace))):
        needed[index] = following.get(trace[index], len(trace) + index)
        following[trace[index]] = index
    kept: dict[Hashable, int] = {}
    latest: list[tuple[int, int]] = []  # when a key is needed, as a negative number, and which request asked
    hits = 0
    for index, key in enumerate(trace):
        hits += key in kept
        kept[key] = needed[index]
        heappush(latest, (-needed[index], index))
        while len(kept) > capacity:
            at, asked = heappop(latest)
            if kept.get(trace[asked]) == -at:
                del kept[trace[asked]]
    return hits


def main() -> None:
    parser = arguments(__doc__ or "", repetitions=3)
    parser.add_argument(
        "--trace", type=Path, metavar="FILE", help="keys, one a line; may be compressed (.gz)"
    )
    integer(parser, "--capacity", 500, "entries of a cache")
    integer(parser, "--requests", 50_000, "of the trace that is made if none is given")
    integer(parser, "--seeds", 10, f"of {SEEDED}")
    options = parser.parse_args()
    trace: Trace = read_trace(options.trace) if options.trace else made_trace(options.requests)
    capacity: int = options.capacity

    counted: dict[str, list[int]] = {}

    def counting(label: str, count: Callable[[], int]) -> Callable[[], None]:
        return lambda: counted.setdefault(label, []).append(count())

    actions: dict[str, Callable[[], object]] = {
        name: counting(name, partial(ours, trace, name, capacity)) for name in Registry().kinds(CACHE)
    }
    if find_spec("cachetools"):
        for kind in ("LRUCache", "LFUCache", "FIFOCache"):
            label = f"cachetools {kind}"
            actions[label] = counting(label, partial(cachetools_hits, trace, kind, capacity))
    if find_spec("theine"):
        actions[PEER] = counting(PEER, partial(theine_hits, trace, capacity))
    missing = [name for name in ("cachetools", PEER) if not find_spec(name)]

    taken = rounds(actions, options.repetitions)
    best = optimum(trace, capacity)
    rows: list[dict[str, Any]] = [
        {
            "cache": name,
            "hits_percent": 100 * max(counted[name]) / len(trace),
            "least_hits_percent": 100 * min(counted[name]) / len(trace),
            "of_optimum": max(counted[name]) / best,
            "requests_s": len(trace) / statistics.median(taken[name]),
            "same_each_time": len(set(counted[name])) == 1,
        }
        for name in actions
    ]
    what = options.trace.name if options.trace else "made of popular keys, loops and new ones"
    print_table(
        f"{len(trace):,} requests ({what}), {capacity:,} entries; optimum {100 * best / len(trace):.2f} %",
        ("cache", "hits %", "of optimum", "requests/s"),
        [(r["cache"], _percent(r), f"{r['of_optimum']:.3f}", r["requests_s"]) for r in rows],
    )
    seeds = [100 * ours(trace, SEEDED, capacity, seed) / len(trace) for seed in range(1, options.seeds + 1)]
    if seeds:
        print(f"\n{SEEDED} with {len(seeds)} seeds: {min(seeds):.2f} to {max(seeds):.2f} %")
    if missing:
        print(f"left out, not installed: {', '.join(missing)}")
    write(
        "caches",
        options.out,
        {
            "trace": what,
            "requests": len(trace),
            "capacity": capacity,
            "optimum_percent": 100 * best / len(trace),
            "seeds_percent": seeds,
            "rows": rows,
        },
    )
    unlike = [r["cache"] for r in rows if not r["same_each_time"] and r["cache"] != PEER]
    if unlike:
        raise SystemExit(f"{', '.join(map(str, unlike))}: other hits in another repetition")
    if options.trace and PEER in counted and max(counted[SEEDED]) < max(counted[PEER]):
        raise SystemExit(f"{SEEDED}: {max(counted[SEEDED]):,} hits, {PEER} {max(counted[PEER]):,}")


def _percent(row: dict[str, Any]) -> str:
    """The hits of a cache, of all repetitions if they differ."""
    least = "" if row["same_each_time"] else f"{row['least_hits_percent']:.2f} to "
    return f"{least}{row['hits_percent']:.2f}"


if __name__ == "__main__":
    main()
