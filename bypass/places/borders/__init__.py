"""Borders of areas: the passages of a client that moves, and the events that these make."""

from bypass.places.borders.border_event import KINDS, BorderEvent, Why
from bypass.places.borders.everybody import EVERYBODY, Everybody
from bypass.places.borders.options import BorderOptions
from bypass.places.borders.passages import PathPoint
from bypass.places.borders.tracker import BorderTracker

__all__ = [
    "EVERYBODY",
    "KINDS",
    "BorderEvent",
    "BorderOptions",
    "BorderTracker",
    "Everybody",
    "PathPoint",
    "Why",
]
