"""A cell that is used too much returns as many items as published."""

from __future__ import annotations

import numpy as np

from bypass.models.storage import STORAGE_WORKLOADS, OverUsedCell
from bypass.models.storage.operations import OperationKind


def test_the_published_curve() -> None:
    """100 items a second for 300 s are 30,000; with 5 further ones at an edge every 10 s, of which the first
    come after 10 s, 10,500."""
    cell = OverUsedCell()
    assert sum(cell.returned()) == 30_000
    aided = cell.returned(5)
    assert aided == [max(0, 100 - 5 * (t // 10)) for t in range(300)]
    assert sum(aided) == 10_500
    assert min(t for t, items in enumerate(aided) if not items) == 200


def test_all_items_come_at_once_and_then_a_subscription_each_second() -> None:
    drawn = OverUsedCell(items=4, subscriptions=3, interval=0.5, begins=2, size=9).draw(5, 1)
    assert drawn.at_us.tolist() == [0, 0, 0, 0, 2_000_000, 2_500_000, 3_000_000]
    assert drawn.node.tolist() == [0, 0, 0, 0, 4, 4, 4]
    assert drawn.kind.tolist() == [OperationKind.INSERT] * 4 + [OperationKind.SUBSCRIBE] * 3
    assert drawn.posts.size.tolist() == [9] * 4
    assert drawn.all_time.all()
    assert len(drawn.ideal_matches()) == 12
    assert np.array_equal(drawn.posts.author, np.zeros(4))


def test_a_shorter_one_has_fewer_subscriptions() -> None:
    cell = OverUsedCell(begins=10)
    assert cell.length == 310
    assert cell.stretched(0.1) == OverUsedCell(begins=1, subscriptions=30)
    assert STORAGE_WORKLOADS["over-used-cell"] is OverUsedCell
