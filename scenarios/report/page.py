"""The parts of a report's page: tables, pictures and numbers. Text is escaped; `Markup` is HTML already."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import groupby
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from bypass.scenarios.report.plots.style import Picture


@dataclass(frozen=True, slots=True)
class Column:
    """The head of a table's column; `group` stands above columns that belong together."""

    name: str
    number: bool = False
    group: str = ""


@cache
def _environment() -> Environment:
    return Environment(
        loader=PackageLoader("bypass.scenarios.report"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
    )


def rendered(template: str, **values: Any) -> Markup:
    """Render a template with these values."""
    return Markup(_environment().get_template(template).render(**values))  # noqa: S704 - it escapes its values


def page(title: str, parts: Iterable[Markup]) -> str:
    """A whole page."""
    return rendered("page.html", title=title, parts=parts)


def table(columns: Sequence[Column], rows: Iterable[Sequence[str]], kind: str = "") -> Markup:
    """A table; the first cell of each row is its head."""
    cells = [list(zip(columns, row, strict=True)) for row in rows]
    return rendered("table.html", columns=columns, groups=_groups(columns), rows=cells, kind=kind)


def _groups(columns: Sequence[Column]) -> list[tuple[str, int]]:
    """The groups above the columns, each with the number of its columns; empty if no column has a group."""
    if not any(column.group for column in columns):
        return []
    found: list[tuple[str, int]] = []
    for group, members in groupby(column.group for column in columns):
        count = len(list(members))
        found += [(group, count)] if group else [("", 1)] * count
    return found


def pictures(drawn: Iterable[Picture | None], nothing: str, kind: str = "") -> Markup:
    """Pictures side by side, as many as fit; `nothing` in words if there are none."""
    found = [picture for picture in drawn if picture is not None]
    if not found:
        return paragraph(nothing, "empty")
    return rendered("pictures.html", pictures=found, kind=kind)


def facts(items: Iterable[tuple[str, str, str]]) -> Markup:
    """Names with values; the third part is the value's kind in the style sheet."""
    return rendered("facts.html", items=items)


def paragraph(text: str, kind: str = "") -> Markup:
    """A paragraph, of a kind that the style sheet knows."""
    return Markup('<p class="{}">{}</p>').format(kind, text) if kind else Markup("<p>{}</p>").format(text)


def heading(level: int, text: str) -> Markup:
    """A heading."""
    return Markup("<h{0}>{1}</h{0}>").format(level, text)


def preformatted(text: str) -> Markup:
    """Text whose lines and spaces matter."""
    return Markup("<pre>{}</pre>").format(text)


def details(summary: str, content: Markup) -> Markup:
    """HTML that shows when the reader asks for it."""
    return Markup("<details><summary>{}</summary>\n{}\n</details>").format(summary, content)


def number(value: float) -> str:
    """Four significant digits, whole from 1000 on; a dash for what is not known."""
    if math.isnan(value):
        return "–"
    text = f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"
    return text.replace(",", "\u202f").replace("-", "−")


def fixed(value: float, digits: int) -> str:
    """A number for a column; a dash for what is not known."""
    return "–" if math.isnan(value) else f"{value:.{digits}f}"


def span(seconds: float) -> str:
    """A time as people say it."""
    if seconds < 120:
        return f"{seconds:g} s"
    minutes, rest = divmod(seconds, 60)
    return f"{minutes:.0f} min" + (f" {rest:g} s" if rest else "")
