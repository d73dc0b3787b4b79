import logging
from typing import Protocol

import pytest

from bypass.ports.monitor import Monitor


class Deliveries(Protocol):
    def delivered(self, event: int, *, late: bool = False) -> None: ...
    def dropped(self, event: int) -> None: ...


class Transitions:
    def switched(self, name: str) -> None:
        """Nothing, unless an analyzer overrides it."""


class Recorder:
    """Implements Deliveries by shape alone."""

    def __init__(self) -> None:
        self.heard: list[tuple[object, ...]] = []

    def delivered(self, event: int, *, late: bool = False) -> None:
        self.heard.append(("delivered", event, late))

    def dropped(self, event: int) -> None:
        self.heard.append(("dropped", event))


class Both(Recorder, Transitions):
    def switched(self, name: str) -> None:
        self.heard.append(("switched", name))


class Lookalike:
    """Has the methods of the class Transitions, but does not inherit from it."""

    def switched(self, name: str) -> None:
        raise AssertionError("not an analyzer of that interface")


class Broken(Recorder):
    def delivered(self, event: int, *, late: bool = False) -> None:
        raise RuntimeError("broken analyzer")


def test_a_call_reaches_every_analyzer_of_the_interface_and_no_other() -> None:
    monitor = Monitor()
    deliveries, transitions = monitor.get(Deliveries), monitor.get(Transitions)
    one, both = Recorder(), Both()
    for analyzer in (one, both, Lookalike()):
        monitor.register(analyzer)
    deliveries.delivered(1, late=True)
    deliveries.dropped(2)
    transitions.switched("filter")
    assert one.heard == [("delivered", 1, True), ("dropped", 2)]
    assert both.heard == [*one.heard, ("switched", "filter")]
    assert not monitor.failures


def test_without_analyzers_a_call_does_nothing() -> None:
    deliveries = Monitor().get(Deliveries)
    deliveries.delivered(1, late=True)
    deliveries.dropped(2)


def test_analyzers_come_and_go_while_the_caller_keeps_its_object() -> None:
    monitor, recorder = Monitor(), Recorder()
    deliveries = monitor.get(Deliveries)
    deliveries.dropped(1)
    monitor.register(recorder)
    monitor.register(recorder)
    deliveries.dropped(2)
    assert monitor.get(Deliveries) is deliveries
    monitor.unregister(recorder)
    monitor.unregister(recorder)
    deliveries.dropped(3)
    assert recorder.heard == [("dropped", 2)]


def test_an_analyzer_registered_before_the_first_get_hears_too() -> None:
    monitor, recorder = Monitor(), Recorder()
    monitor.register(recorder)
    monitor.get(Deliveries).dropped(1)
    assert recorder.heard == [("dropped", 1)]


def test_a_broken_analyzer_disturbs_nobody_and_is_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    monitor, broken, recorder = Monitor(), Broken(), Recorder()
    monitor.register(broken)
    monitor.register(recorder)
    deliveries = monitor.get(Deliveries)
    with caplog.at_level(logging.ERROR):
        for event in range(3):
            deliveries.delivered(event)
    assert [event for _, event, _ in recorder.heard] == [0, 1, 2]
    assert monitor.failures == {"Broken.delivered": 3}
    assert len(caplog.records) == 1
    assert "Broken.delivered failed" in caplog.text
    assert "RuntimeError: broken analyzer" in caplog.text


def test_what_an_analyzer_returns_is_ignored() -> None:
    class Talkative(Transitions):
        def switched(self, name: str) -> None:
            return name  # type: ignore[return-value]

    monitor = Monitor()
    monitor.register(Talkative())
    switched: object = monitor.get(Transitions).switched("filter")  # type: ignore[func-returns-value]
    assert switched is None


def test_an_analyzer_may_leave_while_it_hears() -> None:
    monitor, recorder = Monitor(), Recorder()

    class Once(Recorder):
        def dropped(self, event: int) -> None:
            super().dropped(event)
            monitor.unregister(self)

    once = Once()
    monitor.register(once)
    monitor.register(recorder)
    deliveries = monitor.get(Deliveries)
    deliveries.dropped(1)
    deliveries.dropped(2)
    assert once.heard == [("dropped", 1)]
    assert recorder.heard == [("dropped", 1), ("dropped", 2)]
