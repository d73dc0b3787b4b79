"""Traces of positions on disk: made from models, laid out from other data, read back."""

from bypass.models.traces.errors import InvalidTrace
from bypass.models.traces.formats.detection import Format, recognise
from bypass.models.traces.layout import lay_out
from bypass.models.traces.trace import Trace
from bypass.models.traces.writing import write_trace

__all__ = ["Format", "InvalidTrace", "Trace", "lay_out", "recognise", "write_trace"]
