"""Posts and operations have the statistics that are asked for; same seed, same workload."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bypass.models.storage.operations import OperationKind, OperationModel, StorageOperations
from bypass.models.storage.posts import InvalidPosts, PostModel, Posts, read_posts

NODES, DURATION = 100, 10_800.0
HOURS = DURATION / 3600


@pytest.fixture(scope="module")
def posts() -> Posts:
    return PostModel().draw(300, 1)


@pytest.fixture(scope="module")
def operations(posts: Posts) -> StorageOperations:
    return OperationModel().draw(posts, NODES, DURATION, 1)


def of(operations: StorageOperations, kind: OperationKind) -> np.ndarray:
    return np.flatnonzero(operations.kind == kind)


def test_same_seed_same_workload(posts: Posts, operations: StorageOperations) -> None:
    again = OperationModel().draw(PostModel().draw(300, 1), NODES, DURATION, 1)
    other = OperationModel().draw(posts, NODES, DURATION, 2)
    for name in ("at_us", "node", "kind", "subject", "tag", "all_time"):
        assert np.array_equal(getattr(again, name), getattr(operations, name))
    assert not np.array_equal(other.tag, operations.tag)
    assert np.array_equal(again.posts.tags, operations.posts.tags)


def test_more_authors_do_not_change_the_draws_of_the_first() -> None:
    few, many = PostModel(author_exponent=0).draw(5, 3), PostModel(author_exponent=0).draw(9, 3)
    assert np.array_equal(few.at_us, many.at_us[many.author < 5])


def test_three_hours_become_ten_minutes(operations: StorageOperations) -> None:
    assert (np.diff(operations.at_us) >= 0).all()
    assert 590e6 < operations.at_us[-1] < 600e6
    inserts = of(operations, OperationKind.INSERT)
    assert np.array_equal(operations.posts.at_us[operations.subject[inserts]], operations.at_us[inserts])


def test_tags_follow_zipfs_law(posts: Posts) -> None:
    counts = posts.popularity()[:20].astype(float)
    slope = np.polyfit(np.log(np.arange(20) + 1), np.log(counts), 1)[0]
    assert slope == pytest.approx(-1, abs=0.15)
    assert set(np.diff(posts.first_tag).tolist()) == {1, 2, 3}
    assert all(len(set(posts.tags_of(i))) == len(posts.tags_of(i)) for i in range(len(posts)))


def test_there_are_spikes_and_voids(posts: Posts) -> None:
    minutes = np.histogram(posts.at_us / 60e6, int(DURATION / 60), (0, DURATION / 60))[0]
    even = PostModel(spikes=0, void_share=0).draw(300, 1)
    evenly = np.histogram(even.at_us / 60e6, int(DURATION / 60), (0, DURATION / 60))[0]
    assert minutes.max() > 3 * minutes.mean()
    assert (minutes == 0).sum() >= 3
    assert evenly.var() / evenly.mean() == pytest.approx(1, abs=0.3)
    assert minutes.var() / minutes.mean() > 5


def test_nodes_are_the_busiest_authors(posts: Posts) -> None:
    chosen = posts.of_busiest(10)
    counts = np.bincount(posts.author)
    assert np.bincount(chosen.author).tolist() == sorted(counts.tolist(), reverse=True)[:10]
    mean = len(posts) / 300
    assert mean == pytest.approx(4 * HOURS, rel=0.1)
    first = np.argsort(-counts, kind="stable")[0]
    theirs = [posts.tags_of(i).tolist() for i in np.flatnonzero(posts.author == first).tolist()]
    assert [chosen.tags_of(i).tolist() for i in np.flatnonzero(chosen.author == 0).tolist()] == theirs


def test_rates_per_half(operations: StorageOperations) -> None:
    half = 300e6
    at = {kind: operations.at_us[of(operations, kind)] for kind in OperationKind}
    subscriptions = at[OperationKind.SUBSCRIBE]
    user_hours = NODES * HOURS / 2
    assert (subscriptions < half).sum() / user_hours == pytest.approx(3, rel=0.15)
    assert (subscriptions >= half).sum() / user_hours == pytest.approx(1, rel=0.25)
    for kind, rate in ((OperationKind.DELETE, 0.5), (OperationKind.WITHDRAW, 0.2)):
        assert at[kind].min() >= half
        assert len(at[kind]) / user_hours == pytest.approx(rate, rel=0.4)


def test_subscriptions_are_about_popular_tags_and_windows(operations: StorageOperations) -> None:
    counts = operations.posts.popularity()
    used = (counts > 0).sum()
    least = np.sort(counts)[::-1][round(0.6 * used) - 1]
    assert (counts[operations.tag] >= least).all()
    assert operations.all_time.mean() == pytest.approx(0.6, abs=0.06)
    drawn = np.bincount(operations.tag, minlength=len(counts))
    assert (drawn > 0).sum() > 0.9 * round(0.6 * used)  # any of them, not the first ones alone


small = st.builds(
    lambda seed, rate: OperationModel(deletes=20, withdrawals=10, first_half=rate, popular=1.0).draw(
        PostModel(rate=20, vocabulary=5, duration=3600).draw(4, seed), 3, 3600.0, seed
    ),
    st.integers(0, 2**32),
    st.sampled_from((0.0, 6.0)),
)


@settings(derandomize=True, deadline=None, max_examples=40)
@given(small)
def test_ideal_matches_are_those_of_the_rule(operations: StorageOperations) -> None:
    begun: dict[tuple[int, int], int] = {}
    ended: dict[tuple[int, int], int] = {}
    for row, (kind, subject) in enumerate(
        zip(operations.kind.tolist(), operations.subject.tolist(), strict=True)
    ):
        if kind in (OperationKind.INSERT, OperationKind.SUBSCRIBE):
            assert (kind, subject) not in begun
            begun[kind, subject] = row
        else:
            made = (OperationKind(kind) - 2, subject)
            assert made in begun  # and only once, by its own node
            assert made not in ended
            assert operations.node[begun[made]] == operations.node[row]
            ended[made] = row
    expected = set()
    for (kind, post), inserted in begun.items():
        if kind != OperationKind.INSERT:
            continue
        for (other, query), subscribed in begun.items():
            if other != OperationKind.SUBSCRIBE or operations.tag[query] not in operations.posts.tags_of(
                post
            ):
                continue
            deleted = ended.get((OperationKind.INSERT, post), len(operations))
            withdrawn = ended.get((OperationKind.SUBSCRIBE, query), len(operations))
            past = inserted < subscribed < deleted and bool(operations.all_time[query])
            if past or subscribed < inserted < withdrawn:
                expected.add((post, query))
    assert operations.ideal_matches() == expected


def test_posts_of_a_file(tmp_path: Path) -> None:
    path = tmp_path / "posts.csv"
    path.write_text(
        "id,at,author,tags,text\n"
        "1,2016-07-10T20:00:10+00:00,ana,goal euro,Goal!\n"
        "2,2016-07-10T20:00:00+00:00,rui,euro,começa\n"
        "3,2016-07-10T20:00:20+00:00,ana,,no tags\n"
        "4,2016-07-10T20:00:30.5+00:00,ana,euro euro,end\n"
    )
    posts = read_posts(path)
    assert posts.at_us.tolist() == [0, 10_000_000, 30_500_000]
    assert posts.author.tolist() == [1, 0, 0]
    assert posts.size.tolist() == [7, 5, 3]
    assert posts.vocabulary == ("euro", "goal")
    assert [posts.tags_of(i).tolist() for i in range(3)] == [[0], [0, 1], [0]]
    operations = OperationModel(first_half=3600, deletes=0).draw(posts, 1, 31.0, 1)
    assert len(of(operations, OperationKind.INSERT)) == 2


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("at,author\n", "column tags is missing: expected at, author, tags, text"),
        ("at,author,tags,text\nsoon,ana,a,b\n", "line 2: at 'soon': expected seconds, or ISO 8601"),
        ("at,author,tags,text\n1,ana\n", "line 2: expected values for at, author, tags, text"),
        ("at,author,tags,text\n1,ana,,x\n", "no post has tags: expected some"),
    ],
)
def test_a_file_that_cannot_be_used(text: str, complaint: str, tmp_path: Path) -> None:
    (tmp_path / "posts.csv").write_text(text)
    with pytest.raises(InvalidPosts, match=f"posts.csv.*{complaint}$"):
        read_posts(tmp_path / "posts.csv")
    with pytest.raises(InvalidPosts, match=r"none\.csv: .*: expected a CSV file of posts$"):
        read_posts(tmp_path / "none.csv")
