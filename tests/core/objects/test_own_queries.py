"""Pages of a query: answers that come after a page was told."""

from __future__ import annotations

import pytest

from bypass.core.objects.own_queries import OwnQuery
from bypass.objects.metadata import Metadata, ObjectKey, content_hash
from bypass.objects.query import ObjectQuery
from bypass.objects.tags import TagFormula
from bypass.objects.window import TimeWindow
from bypass.protocol.storage import FoundObjects


def described(published_us: int) -> Metadata:
    key = ObjectKey(1, str(published_us))
    return Metadata(key, frozenset(("a",)), published_us, 0, content_hash(b""), content_hash(b"secret"))


@pytest.mark.parametrize(("limit", "told"), [(20, [90, 80, 10]), (1, [90])])
def test_an_answer_after_the_last_page_is_told_at_once(limit: int, told: list[int]) -> None:
    """If the application was told that there is more, it is on the next page."""
    names: list[int] = []
    query = ObjectQuery(1, 0, TagFormula.parse("a"), TimeWindow(None, None), None, None, "")
    own = OwnQuery(query, lambda found, _: names.append(found.published_us), 100)
    own.open_page(7, limit)
    own.matched(FoundObjects(7, 1, (described(90), described(80))))
    own.close_page(7, True)
    assert own.more_past == (limit == 1)
    own.matched(FoundObjects(7, 1, (described(10),)))
    assert names == told
    assert own.more_past == (limit == 1)
