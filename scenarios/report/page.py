"""The parts of a report's page: its looks, tables, pictures and numbers. Whatever is text is escaped."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape

from bypass.scenarios.report.plots.style import Picture

CSS = """
:root { color-scheme: light dark; --paper: #fdfdfb; --ink: #1d2126; --muted: #666e78; --rule: #dfe2e6;
  --wash: #f2f3f4; --good: #0b6e4f; --bad: #b3261e;
  --sans: system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif;
  --mono: ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; }
@media (prefers-color-scheme: dark) { :root { --paper: #14171a; --ink: #e6e8ea; --muted: #9aa3ad;
  --rule: #343a41; --wash: #1e2226; --good: #5fc79f; --bad: #ff8a80; } }
@media print { :root { color-scheme: light; --paper: #fff; --ink: #000; --muted: #555; --rule: #ccc;
  --wash: #f4f4f4; --good: #0b6e4f; --bad: #b3261e; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--paper); color: var(--ink); font: 1rem/1.55 var(--sans);
  -webkit-text-size-adjust: 100%; }
main { max-width: 72rem; margin: 0 auto; padding: 2.5rem 1.25rem 4rem; }
h1 { font-size: 2rem; line-height: 1.2; margin: 0 0 .4rem; overflow-wrap: anywhere; }
h2 { font-size: 1.35rem; line-height: 1.3; margin: 3rem 0 .6rem; padding-top: .9rem;
  border-top: 1px solid var(--rule); }
h3 { font-size: 1.05rem; margin: 2rem 0 .3rem; }
p { margin: .4rem 0 .9rem; max-width: 46rem; }
.about { font-size: 1.15rem; }
.verdict { font-size: 1.05rem; padding: .7rem 1rem; background: var(--wash); border-radius: .4rem;
  max-width: none; }
.note, figcaption, .empty { color: var(--muted); font-weight: 400; }
dl { display: grid; grid-template-columns: repeat(auto-fit, minmax(8rem, 1fr)); gap: .8rem 1.5rem;
  margin: 1.4rem 0; }
dt { color: var(--muted); font-size: .85rem; }
dd { margin: 0; overflow-wrap: anywhere; }
dl .wide { grid-column: 1 / -1; }
.chip { display: inline-block; width: .7em; height: .7em; border-radius: .15em; margin-right: .3em; }
.label { white-space: nowrap; }
.scroll { overflow-x: auto; margin: .8rem 0 1.2rem; }
.scroll tbody th { white-space: nowrap; }
.scroll .cards tbody th { white-space: normal; }
table { border-collapse: collapse; width: 100%; font-size: .9rem; font-variant-numeric: tabular-nums; }
th, td { padding: .35rem .5rem; text-align: left; vertical-align: top; border-bottom: 1px solid var(--rule); }
thead th { color: var(--muted); font-weight: 500; vertical-align: bottom; line-height: 1.25; }
th.group { text-align: center; border-bottom: 0; padding-bottom: 0; white-space: nowrap; }
tbody th { font-weight: 600; position: sticky; left: 0; background: var(--paper); }
.number { text-align: right; }
td.number { white-space: nowrap; }
.holds { color: var(--good); white-space: nowrap; }
.differs { color: var(--bad); font-weight: 700; white-space: nowrap; }
.unknown, .explained { white-space: nowrap; }
.plots { display: grid; gap: 1.2rem 2rem; margin: 1rem 0; align-items: start;
  grid-template-columns: repeat(auto-fill, minmax(min(100%, 29rem), 1fr)); }
.plots.small { gap: 1.2rem 1.5rem;
  grid-template-columns: repeat(auto-fill, minmax(min(100%, 15.5rem), 1fr)); }
figure { margin: 0; break-inside: avoid; }
.title { font-weight: 600; font-size: .9rem; margin-bottom: .3rem; overflow-wrap: anywhere; }
figure svg { display: block; width: 100%; height: auto; overflow: visible; }
figcaption { font-size: .85rem; line-height: 1.4; margin-top: .2rem; }
pre { background: var(--wash); padding: .8rem 1rem; border-radius: .4rem; overflow-x: auto;
  font: .85rem/1.45 var(--mono); }
summary { cursor: pointer; padding: .3rem 0; }
@media (max-width: 44rem) {
  main { padding: 1.2rem .9rem 3rem; }
  h1 { font-size: 1.6rem; }
  .cards thead { display: none; }
  .cards, .cards tbody, .cards tr, .cards th { display: block; border: 0; }
  .cards tr { border-bottom: 1px solid var(--rule); padding: .6rem 0; }
  .cards th, .cards td { padding: .1rem 0; }
  .cards td { display: inline-block; border: 0; margin-right: 1.2rem; }
  .cards td::before { content: attr(data-of) ": "; color: var(--muted); font-weight: 400; }
}
@media print {
  body { font-size: 10pt; }
  main { max-width: none; padding: 0; }
  h2, h3 { break-after: avoid; }
  tr { break-inside: avoid; }
  .scroll { overflow: visible; }
  table { font-size: 7pt; }
  th, td { padding: .2rem; }
  .plots { grid-template-columns: 1fr 1fr; }
  .plots.small { grid-template-columns: 1fr 1fr 1fr; }
}
"""


@dataclass(frozen=True, slots=True)
class Html:
    """Text that is HTML already."""

    text: str


@dataclass(frozen=True, slots=True)
class Column:
    """The head of a table's column; `group` stands above columns that belong together."""

    name: str
    number: bool = False
    group: str = ""


Cell = str | Html


def html_of(content: Cell) -> str:
    """What stands in the page for a text or a piece of HTML."""
    return content.text if isinstance(content, Html) else escape(content)


def page(title: str, parts: Iterable[str]) -> str:
    """A whole page."""
    body = "\n".join(parts)
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n<style>{CSS}</style>\n</head>\n"
        f"<body>\n<main>\n{body}\n</main>\n</body>\n</html>\n"
    )


def paragraph(text: Cell, kind: str = "") -> str:
    """A paragraph, of a kind that the style sheet knows."""
    return f'<p class="{kind}">{html_of(text)}</p>' if kind else f"<p>{html_of(text)}</p>"


def table(columns: Sequence[Column], rows: Iterable[Sequence[Cell]], kind: str = "") -> str:
    """A table; the first cell of each row is its head."""
    lines = [f'<div class="scroll"><table class="{kind}"><thead>', *_head(columns), "</thead><tbody>"]
    for head, *cells in rows:
        line = f'<tr><th scope="row">{html_of(head)}</th>'
        for column, cell in zip(columns[1:], cells, strict=True):
            label = escape(f"{column.group} {column.name}".strip())
            line += f'<td{_align(column)} data-of="{label}">{html_of(cell)}</td>'
        lines.append(line + "</tr>")
    return "\n".join([*lines, "</tbody></table></div>"])


def _head(columns: Sequence[Column]) -> list[str]:
    """One row of names, and above it one of groups where there are any."""
    lines = []
    if any(column.group for column in columns):
        line, i = "<tr>", 0
        while i < len(columns):
            group, width = columns[i].group, 1
            while group and i + width < len(columns) and columns[i + width].group == group:
                width += 1
            line += f'<th class="group" scope="colgroup" colspan="{width}">{escape(group)}</th>'
            i += width
        lines.append(line + "</tr>")
    heads = "".join(f'<th scope="col"{_align(column)}>{escape(column.name)}</th>' for column in columns)
    return [*lines, f"<tr>{heads}</tr>"]


def _align(column: Column) -> str:
    return ' class="number"' if column.number else ""


def pictures(drawn: Iterable[Picture | None], nothing: str, kind: str = "") -> str:
    """Pictures side by side, as many as fit; `nothing` in words if there are none."""
    figures = [
        f'<figure><div class="title">{escape(picture.title)}</div>{picture.svg}{_note(picture.note)}</figure>'
        for picture in drawn
        if picture is not None
    ]
    if not figures:
        return paragraph(nothing, "empty")
    return "\n".join([f'<div class="plots {kind}">', *figures, "</div>"])


def _note(text: str) -> str:
    return f"<figcaption>{escape(text)}</figcaption>" if text else ""


def heading(level: int, text: str) -> str:
    """A heading."""
    return f"<h{level}>{escape(text)}</h{level}>"


def preformatted(text: str) -> str:
    """Text whose lines and spaces matter."""
    return f"<pre>{escape(text)}</pre>"


def details(summary: str, content: str) -> str:
    """HTML that shows when the reader asks for it."""
    return f"<details><summary>{escape(summary)}</summary>\n{content}\n</details>"


def facts(items: Iterable[tuple[str, Cell, str]]) -> str:
    """Names with values; the third part is the value's kind in the style sheet."""
    return (
        "<dl>\n"
        + "\n".join(
            f'<div class="{kind}"><dt>{escape(name)}</dt><dd>{html_of(value)}</dd></div>'
            for name, value, kind in items
        )
        + "\n</dl>"
    )


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
