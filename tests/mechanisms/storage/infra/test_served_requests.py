"""How many requests for items of its area an edge serves, by ranking and by batches: the shapes that the
source measures, with requests of our own."""

from __future__ import annotations

import random
from collections import Counter, deque
from collections.abc import Collection
from statistics import mean
from typing import Any

from bypass.mechanisms.storage.infra.edge.caches import EdgeCaches
from bypass.mechanisms.storage.infra.edge.popularity import PopularityTable
from bypass.mechanisms.storage.infra.edge.retrieval_cycle import RetrievalCycle
from bypass.objects.metadata import Replica
from bypass.protocol.edge import Item, ItemKey
from tests.mechanisms.storage.infra.edge_world import EdgeWorld, counted, item

SECONDS, LIFE_S = 400, 120
PUBLICATIONS, REQUESTS = 3, 30
"""In each second."""


class RequestedArea:
    """An edge with 100 entries. Items are requested for 120 s, each as often as a number says that was drawn
    when it was published (Pareto); clients take up to 20 s to give one, and of five one up to 30 s."""

    def __init__(self, seed: int, batches: int = 3, ranking: str = "popular") -> None:
        self.world = EdgeWorld()
        self.caches = EdgeCaches(self.world.workshop, lambda _: False)
        self.popularity = PopularityTable()
        registry, engine = self.world.workshop.registry, self.world.engine()
        insertion = registry.create(engine, "edge", "insertion", "batches", set={"count": batches})
        self.retrieval = RetrievalCycle(
            self.world.host,
            self.popularity,
            registry.create(engine, "edge", "ranking", ranking),
            insertion,
            self,
        )
        self.items: dict[ItemKey, Item] = {}
        self.served = 0
        self.most_requested = 0
        self._draw, self._delays = random.Random(seed), random.Random(seed + 1000)

    def ask(self, key: ItemKey, replica: Replica, cycle: int) -> None:
        draw = self._delays
        delay = draw.uniform(0.0, 20.0) if draw.random() < 0.8 else draw.uniform(20.0, 30.0)
        self.world.host.after(delay, self.retrieval.arrived, self.items[key], cycle)

    def is_cached(self, key: ItemKey) -> bool:
        return key in self.caches.local

    def has_room(self) -> bool:
        return len(self.caches.local) < self.caches.local.capacity

    def is_deleted(self, item: Item) -> bool:
        return False

    def insert(self, items: Collection[Item], batch: bool) -> None:
        self.caches.insert_local(items, batch)

    def run(self) -> RequestedArea:
        wanted: deque[tuple[int, ItemKey, float]] = deque()
        downloads: Counter[Any] = Counter()
        for second in range(SECONDS):
            for number in range(PUBLICATIONS):
                new = item(f"{second}-{number}", at=second)
                self.items[new.key] = new
                wanted.append((second, new.key, self._draw.paretovariate(1.2)))
            while wanted[0][0] <= second - LIFE_S:
                wanted.popleft()
            weights = [weight for _, _, weight in wanted]
            for _, key, _ in self._draw.choices(wanted, weights, k=REQUESTS):
                self.served += self.caches.download(key).item is not None
                downloads[key] += 1
            if second % 10 == 9:
                for key, count in downloads.items():
                    self.popularity.add("w", counted(self.items[key], count, 1), self.retrieval.cycle)
                downloads.clear()
                self.retrieval.arm()
            self.world.run(1.0)
            self.most_requested = max(self.most_requested, self.retrieval.requested)
        return self


def test_more_batches_serve_more_requests() -> None:
    """In the source one batch before the next decision serves about 9,000, six serve 14,000; three are
    between them. Runs differ as much as one batch more or less does: means of several are compared."""
    served = [mean(RequestedArea(seed, number).run().served for seed in range(4)) for number in (1, 3, 6)]
    assert served[0] < served[1] < served[2]


def test_ranking_bounds_requests_and_serves_more() -> None:
    """In the source it has at most 70 requests in a cycle, and serves 42 % instead of 32 or 38 %."""
    ranked, unranked = (RequestedArea(1, ranking=ranking).run() for ranking in ("popular", "everything"))
    assert ranked.most_requested <= 100 < 200 < unranked.most_requested
    assert ranked.served > unranked.served
