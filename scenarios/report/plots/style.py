"""The style of all pictures: colours, lines and letters, and the conversion of a figure to SVG inside a page.

Pictures have no background and take the colours of ink and rules from the page, so that they fit light and
dark pages. Text stays text, in the page's typeface.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from html import escape
from io import StringIO
from typing import Any
from zlib import crc32

from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure

# Stand-ins: the page's own colours take their places in the SVG.
INK = "#010203"
MUTED = "#040506"
RULE = "#070809"
_PAGE_COLOURS = {INK: "var(--ink)", MUTED: "var(--muted)", RULE: "var(--rule)"}

# Okabe and Ito's palette: told apart with any colour vision, on white and on black. Mechanisms of one family
# differ; nothing is drawn with several.
_MECHANISMS = {
    "radial": "#0072B2",
    "ste": "#E69F00",
    "grid": "#009E73",
    "egrid": "#D55E00",
    "attract": "#CC79A7",
    "multi": "#56B4E9",
    "unicast": "#0072B2",
    "broadcast": "#D55E00",
    "flooding": "#E69F00",
    "gossip": "#009E73",
    "hyperg": "#CC79A7",
    "plan-b": "#56B4E9",
    "cloud": "#0072B2",
    "ad-hoc": "#D55E00",
    "offload": "#009E73",
    "augment": "#E69F00",
    "gateway": "#CC79A7",
    "dkc-leach": "#0072B2",
    "skc-leach": "#009E73",
    "cs-wca": "#D55E00",
    "local": "#D55E00",
    "cells": "#0072B2",
    "server": "#009E73",
    "broker": "#56B4E9",
    "transient": "#E69F00",
    "ttl": "#CC79A7",
    "last-k": "#999933",
    "pull": "#7F7FCF",
    "dsdv": "#E69F00",
    "one-hop": "#CC79A7",
    "nothing": "#80808038",
}
_OTHERS = ("#999933", "#AA4499", "#44AA99", "#CC6677", "#7F7FCF", "#A6761D")

WIDE = 4.9  # inches of a picture that takes half of a wide page, all of a narrow one
SMALL = 2.9  # of one in a row of several

_RC: dict[Any, Any] = {
    "text.parse_math": False,
    "svg.fonttype": "none",
    "svg.hashsalt": "bypass",
    "figure.facecolor": "none",
    "axes.facecolor": "none",
    "savefig.facecolor": "none",
    "font.size": 9.5,
    "axes.labelsize": 9.5,
    "axes.titlesize": 10,
    "xtick.labelsize": 9,
    "ytick.labelsize": 9,
    "legend.fontsize": 9,
    "legend.frameon": False,
    "text.color": INK,
    "axes.labelcolor": INK,
    "axes.edgecolor": MUTED,
    "xtick.color": MUTED,
    "ytick.color": MUTED,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "axes.linewidth": 0.7,
    "grid.color": RULE,
    "grid.linewidth": 0.7,
    "lines.linewidth": 1.5,
    "lines.solid_capstyle": "round",
    "patch.linewidth": 0.8,
}


@dataclass(frozen=True, slots=True)
class Picture:
    """Inline SVG, what stands above it, and words below."""

    svg: str
    title: str
    note: str = ""


def mechanism_colour(name: str) -> str:
    """The colour of a mechanism, the same in every picture of every report."""
    return _MECHANISMS.get(name) or _OTHERS[crc32(name.encode()) % len(_OTHERS)]


@contextmanager
def sheet(width: float, height: float) -> Iterator[Figure]:
    """An empty figure of that size (inches). Draw on it, and make SVG of it, inside the `with`."""
    with rc_context(_RC):
        yield Figure(figsize=(width, height), layout="constrained")


def share_axis(axes: Axes, name: str) -> None:
    """A vertical axis for recall or precision."""
    axes.set_ylabel(name)
    axes.set_ylim(-0.02, 1.03)
    axes.set_yticks([0, 0.25, 0.5, 0.75, 1], ["0", "", "0.5", "", "1"])
    axes.grid(axis="y")


def to_svg(figure: Figure, described: str) -> str:
    """The figure as an SVG element; `described` is read to those who do not see it."""
    _lay_out(figure)
    buffer = StringIO()
    figure.savefig(buffer, format="svg", metadata={"Date": None})
    text = buffer.getvalue()
    text = re.sub(r"<metadata>.*?</metadata>", "", text[text.index("<svg") :], flags=re.DOTALL)
    text = re.sub(r"<!--.*?-->", "", text, flags=re.DOTALL)
    text = text.replace("xlink:href", "href")
    for stand_in, colour in _PAGE_COLOURS.items():
        text = text.replace(stand_in, colour)
    text = re.sub(r"(font: [^;'\"]*?)'[^;\"]*", r"\1var(--sans)", text)
    text = _own_ids(text, described)
    width, height = figure.get_size_inches() * 96
    head = (
        f'<svg viewBox="0 0 {width * 0.75:g} {height * 0.75:g}" style="max-width: {1.15 * width:.0f}px"'
        f' role="img" aria-label="{escape(described)}">'
    )
    return re.sub(r"\n\s*", "\n", head + text[text.index(">") + 1 :]).strip()


def _lay_out(figure: Figure) -> None:
    """Put everything in its place, as `savefig` does, which draws the whole figure once more for that."""
    FigureCanvasSVG(figure)  # measures text as it will be drawn
    engine = figure.get_layout_engine()
    if engine is not None:
        figure.set_dpi(FigureCanvasSVG.fixed_dpi)
        engine.execute(figure)
        figure.set_layout_engine(None)


def _own_ids(text: str, described: str) -> str:
    """Keep only ids that are referred to, and make them differ from those of other pictures."""
    name = f"p{crc32((described + text).encode()):08x}"
    used = set(re.findall(r'(?:url\(#|href="#)([^)"]+)', text))
    text = re.sub(r' id="([^"]+)"', lambda m: f' id="{name}-{m[1]}"' if m[1] in used else "", text)
    return re.sub(r'(url\(#|href="#)([^)"]+)', rf"\g<1>{name}-\2", text)
