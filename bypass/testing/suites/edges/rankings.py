"""The suite of rankings: promises that each mechanism keeps which says what an edge fetches from clients."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from hypothesis import strategies as st

from bypass.mechanisms import Registry
from bypass.mechanisms.families import RANKING, Family
from bypass.mechanisms.storage.infra.edge.popularity import PopularityTable
from bypass.objects.metadata import ObjectKey
from bypass.ports.caches import Ranking
from bypass.protocol.edge import DownloadCount, ItemKey
from bypass.testing.suites.suite import MechanismSuite
from bypass.transitions import Engine

WINDOW, LIMIT = 3, 6

ReportedDownloads = tuple[int, str, str, int]
"""Cycles since the report before, the world, the name of an item, its downloads."""


class RankingSuite(MechanismSuite):
    """A ranking chooses items that the edge knows, none twice, and the same ones for the same reports.

    One that is `bounded` chooses no more than the limit, and active items alone; one that is not may choose
    all.
    """

    family: ClassVar[Family] = RANKING
    defaults: ClassVar[Mapping[str, Any]] = {"bounded": True}

    def test_chosen_items_are_known_and_within_the_limit(self) -> None:
        def chosen(reports: list[ReportedDownloads], limit: int) -> None:
            edge = _RankingEdge(self)
            for report in reports:
                edge.take(report)
                found = edge.choose(limit)
                known = {key for key, _ in edge.table}
                assert len(set(found)) == len(found), f"{found}: expected each item once"
                assert {*found} <= known, f"{[*{*found} - known]} are not known"
                if self.capability("bounded"):
                    assert len(found) <= limit, f"{len(found)} items: expected at most {limit}"
                    passive = [key for key in found if not edge.is_active(key)]
                    assert not passive, f"{passive} are not active"

        self.for_all(chosen, reports=_reports(), limit=st.integers(1, LIMIT))

    def test_an_item_alone_is_chosen(self) -> None:
        edge = _RankingEdge(self)
        edge.take((0, "w", "a", 1))
        assert edge.choose(LIMIT) == [ItemKey("w", ObjectKey(1, "a"), 1)]

    def test_the_same_reports_give_the_same_items(self) -> None:
        def same(reports: list[ReportedDownloads]) -> None:
            found = [[edge.report_and_choose(each) for each in reports] for edge in self._edges(2)]
            assert found[0] == found[1], f"chosen {found[0]}, then {found[1]}"

        self.for_all(same, reports=_reports())

    def test_it_can_be_exchanged(self) -> None:
        """Each mechanism takes over from this one and hands over to it, and goes on to choose."""

        def exchanged(reports: list[ReportedDownloads], other: str) -> None:
            edge = _RankingEdge(self)
            for number, report in enumerate(reports):
                if number % 3 == 1:
                    name, values = (other, {}) if number % 2 else (self.name, self.parameters)
                    edge.engine.transition("ranking", name, set=values)
                found = edge.report_and_choose(report)
                assert {*found} <= {key for key, _ in edge.table}, f"over {other}: {found}"

        self.for_all(exchanged, reports=_reports(), other=st.sampled_from(self.others))

    def test_items_that_are_forgotten_are_not_chosen(self) -> None:
        edge = _RankingEdge(self)
        for name in "ab":
            edge.take((0, "w", name, 5))
        edge.choose(LIMIT)
        gone = ItemKey("w", ObjectKey(1, "a"), 1)
        edge.table.forget(gone)
        edge.take((1, "w", "b", 1))
        assert gone not in edge.choose(LIMIT), f"{gone} was chosen: expected it to be forgotten"

    def _edges(self, count: int) -> list[_RankingEdge]:
        return [_RankingEdge(self) for _ in range(count)]


class _RankingEdge:
    """An edge that knows the popularity of items, and chooses once a cycle."""

    def __init__(self, suite: RankingSuite) -> None:
        self.engine = Engine("edge")
        self.ranking: Ranking = Registry(suite.brought).create(
            self.engine, "edge", "ranking", suite.name, set=suite.parameters
        )
        self.table = PopularityTable(most_items=8)
        self.cycle = 2

    def take(self, report: ReportedDownloads) -> None:
        """Take a report of downloads, some cycles after the one before."""
        later, world, name, downloads = report
        self.cycle += later
        self.table.add(world, DownloadCount(ObjectKey(1, name), 1, downloads), self.cycle)

    def choose(self, limit: int) -> Sequence[ItemKey]:
        """Begin a cycle."""
        self.cycle += 1
        return list(self.ranking.choose(self.table, self.cycle, WINDOW, limit))

    def report_and_choose(self, report: ReportedDownloads) -> Sequence[ItemKey]:
        """Take a report, and choose."""
        self.take(report)
        return self.choose(LIMIT)

    def is_active(self, key: ItemKey) -> bool:
        """Whether downloads of an item were reported lately."""
        found = self.table.get(key)
        return found is not None and 0 <= self.cycle - found.cycle <= WINDOW


def _reports() -> st.SearchStrategy[list[ReportedDownloads]]:
    return st.lists(
        st.tuples(st.integers(0, 3), st.sampled_from("wvu"), st.sampled_from("abcdef"), st.integers(1, 20)),
        max_size=20,
    )
