"""Counts of missed events: those that a broker carries over into a new session are not added twice."""

from bypass.live.client.session.missed_counts import MissedCounts
from bypass.protocol.session import Missed, Welcome

AREA = (0.0, 0.0, 1000.0, 1000.0)


def welcome(*missed: Missed) -> Welcome:
    return Welcome(0, 1.0, AREA, missed_by=missed)


def test_counts_that_a_new_session_has_from_the_one_before_are_not_added_to_them() -> None:
    counts = MissedCounts()
    counts.welcomed(welcome(Missed("not taken", 7)), forgotten=True)
    counts.welcomed(welcome(Missed("not taken", 8)), forgotten=True)
    assert counts.by_reason() == {"not taken": 8}


def test_counts_of_a_session_that_the_broker_has_forgotten_go_on_counting() -> None:
    counts = MissedCounts()
    counts.welcomed(welcome(), forgotten=False)
    counts.say(Missed("expired", 3))
    counts.welcomed(welcome(), forgotten=True)
    counts.say(Missed("withdrawn", 1))
    assert counts.by_reason() == {"expired": 3, "withdrawn": 1}
