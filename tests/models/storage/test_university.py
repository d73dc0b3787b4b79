"""The university trace has the timeline and rates of its source."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from bypass.models.storage import STORAGE_WORKLOADS, UniversityTrace
from bypass.models.storage.operations import OperationKind, StorageOperations

S = 1e6
AT_ONCE = UniversityTrace(later=0, deletes=0, tags=1000)
"""The published volume is that of students who contribute from the beginning on."""


def of(operations: StorageOperations, kind: OperationKind) -> np.ndarray:
    return np.flatnonzero(operations.kind == kind)


def names(operations: StorageOperations) -> np.ndarray:
    """The tag of each post."""
    return np.array([operations.posts.vocabulary[tag] for tag in operations.posts.tags.tolist()])


def is_topic(operations: StorageOperations) -> np.ndarray:
    """Whether each post is about a topic of a lecture."""
    return np.array(["topic" in name for name in names(operations).tolist()])


def test_a_hundred_minutes_become_ten() -> None:
    """With a minute before and one after them 720 s, as published."""
    trace = UniversityTrace()
    assert trace.length == 600
    assert (trace.lecture, trace.intermission, trace.warm_up) == (45, 10, 10)
    drawn = trace.draw(100, 1)
    assert (np.diff(drawn.at_us) >= 0).all()
    assert 590 * S < drawn.at_us[-1] < 600 * S
    assert set(drawn.kind.tolist()) == {OperationKind.INSERT, OperationKind.SUBSCRIBE, OperationKind.DELETE}
    assert set(drawn.posts.size.tolist()) == {64}


def test_volumes_are_those_that_rates_give() -> None:
    """Of 100 students 656 posts of lectures, 1,067 of the university, and 1,667 subscriptions to its tags;
    here of 200: 15 % of 50 are no whole number. The ranges for ten seeds are four standard deviations."""
    drawn = [AT_ONCE.draw(200, seed) for seed in range(10)]
    topics = [is_topic(each).sum() for each in drawn]
    assert np.mean(topics) == pytest.approx(2 * 656.25, rel=0.035)
    assert np.mean([len(each.posts) for each in drawn]) - np.mean(topics) == pytest.approx(
        2 * 1066.67, rel=0.03
    )
    subscribed = np.mean([len(each.tag) for each in drawn]) - 200 * AT_ONCE.topics
    assert subscribed == pytest.approx(2 * 1666.67, rel=0.022)


def test_posts_of_a_lecture_come_while_it_lasts() -> None:
    drawn = UniversityTrace().draw(100, 3)
    at, author = drawn.posts.at_us / S, drawn.posts.author
    of_class = is_topic(drawn)
    first = author % 2 == 0
    assert (at[of_class & first] < 270).all()
    assert (at[of_class & ~first] >= 330).all()
    counts = np.bincount(author[of_class], minlength=100)
    good = np.sort(counts)[-16:]
    assert good.min() > 10  # 22.5 on average; of the others 3
    regular = of_class & ~np.isin(author, np.argsort(counts, kind="stable")[-16:])
    assert at[regular & first].min() >= 60
    assert at[regular & ~first].min() >= 390
    assert at[of_class & first].min() < 60


def test_a_student_in_class_posts_less_about_the_university() -> None:
    drawn = [UniversityTrace().draw(100, seed) for seed in range(5)]
    in_class = outside = 0
    for each in drawn:
        at, author = each.posts.at_us / S, each.posts.author
        attends = np.where(author % 2 == 0, at < 270, at >= 330)
        of_university = ~is_topic(each)
        in_class += int((attends & of_university).sum())
        outside += int((~attends & of_university).sum())
    hours = 5 * 100  # of five seeds and a hundred students
    assert in_class / (hours * 0.75) == pytest.approx(2, rel=0.1)
    assert outside / (hours * 11 / 12) == pytest.approx(10, rel=0.1)


@pytest.mark.parametrize("repeated", [False, True])
def test_all_students_subscribe_to_all_topics_good_ones_first(repeated: bool) -> None:
    drawn = UniversityTrace(topics=7, repeated=repeated).draw(100, 1)
    rows = of(drawn, OperationKind.SUBSCRIBE)
    at, node = drawn.at_us[rows] / S, drawn.node[rows]
    topic = drawn.tag[drawn.subject[rows]] < 14
    begin = np.where(node % 2 == 0, 0, 330)
    early = 0
    for student in range(100):
        own = topic & (node == student)
        first = 7 if student % 2 and not repeated else 0
        assert sorted(drawn.tag[drawn.subject[rows[own]]].tolist()) == [*range(first, first + 7)]
        since = (at - begin)[own]
        assert since.min() >= 0
        assert since.max() <= 270
        early += int(since.max() < 60)
        assert since.max() < 60 or since.min() >= 60
    assert early == 16


def test_areas_have_topics_of_their_own_and_some_in_common() -> None:
    def used(common: float) -> list[set[str]]:
        drawn = UniversityTrace(areas=2, common=common, exponent=0, tags=30).draw(60, 1)
        tag = names(drawn)
        wanted = {
            area: {
                drawn.posts.vocabulary[drawn.tag[drawn.subject[row]]]
                for row in of(drawn, OperationKind.SUBSCRIBE)
                if drawn.node[row] % 2 == area
            }
            for area in (0, 1)
        }
        return [wanted[area] | set(tag[drawn.posts.author % 2 == area].tolist()) for area in (0, 1)]

    for common, shared in ((0.0, 0), (0.5, 25), (1.0, 50)):
        one, other = used(common)
        assert len(one & other) == shared
        assert len(one) == len(other) == 50


def test_worlds_differ_in_their_intensities_alone() -> None:
    drawn = [UniversityTrace(intensities=(2, 1, 1)).draw(99, seed) for seed in range(5)]
    posts = np.sum([np.bincount(each.posts.author % 3) for each in drawn], axis=0)
    assert posts[0] / posts[1] == pytest.approx(2, rel=0.15)
    assert posts[1] / posts[2] == pytest.approx(1, rel=0.15)


@settings(derandomize=True, deadline=None, max_examples=25)
@given(
    nodes=st.integers(1, 30),
    seed=st.integers(0, 2**32),
    compression=st.sampled_from((1.0, 10.0, 60.0)),
    areas=st.integers(1, 3),
    deletes=st.sampled_from((0.0, 5.0, 60.0)),
    tags=st.integers(1, 40),
)
def test_operations_are_possible(
    nodes: int, seed: int, compression: float, areas: int, deletes: float, tags: int
) -> None:
    """Each is within the trace, by a node that there is; a post is deleted once at most, by its author and
    after it was published; nobody subscribes twice to a tag. Same seed, same operations."""
    trace = UniversityTrace(compression=compression, areas=areas, deletes=deletes, tags=tags)
    drawn, again = trace.draw(nodes, seed), trace.draw(nodes, seed)
    assert np.array_equal(drawn.at_us, again.at_us)
    assert np.array_equal(drawn.tag, again.tag)
    assert len(drawn) == 0 or 0 <= drawn.at_us.min() <= drawn.at_us.max() <= trace.length * S
    assert set(drawn.node.tolist()) <= {*range(nodes)}
    published: set[int] = set()
    deleted: set[int] = set()
    wanted: set[tuple[int, str]] = set()
    for node, kind, subject in zip(
        drawn.node.tolist(), drawn.kind.tolist(), drawn.subject.tolist(), strict=True
    ):
        if kind == OperationKind.INSERT:
            assert drawn.posts.author[subject] == node
            published.add(subject)
        elif kind == OperationKind.DELETE:
            assert drawn.posts.author[subject] == node
            assert subject in published
            assert subject not in deleted
            deleted.add(subject)
        else:
            about = (node, drawn.posts.vocabulary[drawn.tag[subject]])
            assert about not in wanted
            wanted.add(about)
    assert published == {*range(len(drawn.posts))}
    assert (len(deleted) > 0) <= (deletes > 0)


def test_a_stretched_trace_has_the_same_rates() -> None:
    short = AT_ONCE.stretched(0.1)
    assert short.length == pytest.approx(60)
    posts = np.mean([len(short.draw(100, seed).posts) for seed in range(10)])
    assert posts == pytest.approx(
        np.mean([len(AT_ONCE.draw(100, seed).posts) for seed in range(3)]) / 10, rel=0.1
    )


@pytest.mark.parametrize(
    ("values", "complaint"),
    [
        ({"later": 50}, "later is 50: expected at most a lecture, 45 minutes"),
        ({"warm_up": 46}, "warm_up is 46: expected at most a lecture, 45 minutes"),
        ({"good": 1.5}, "good"),
        ({"topics": 0}, "topics"),
        ({"lectures": 3}, "lectures"),
    ],
)
def test_values_that_are_not_possible_are_refused(values: dict[str, float], complaint: str) -> None:
    with pytest.raises(ValidationError, match=complaint):
        UniversityTrace.model_validate(values)


def test_the_trace_that_it_begins_with_has_the_documented_volume() -> None:
    told = len(UniversityTrace().draw(100, 1).ideal_matches())
    assert told == pytest.approx(54_500, abs=50)
    assert 0.7 * told == pytest.approx(38_000, rel=0.01)


def test_it_is_known_by_name() -> None:
    assert STORAGE_WORKLOADS["university"] is UniversityTrace
