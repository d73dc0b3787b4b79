"""Tables and progress on the command line: plain text in files and pipes, with colours for people."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import click

UNLIMITED = 100_000
"""Columns of what is no terminal: nothing is wrapped there."""


def show_table(
    rows: Sequence[Sequence[str]], *, words: int = 1, head: bool = True, bars: bool = False
) -> None:
    """Print columns. The first `words` of them have text, and the last if those are `bars`, others numbers.

    The first row names the columns if the table has a `head`.
    """
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    width = None if sys.stdout.isatty() else UNLIMITED
    console = Console(file=sys.stdout, width=width)
    table = Table(box=None, pad_edge=False, show_header=head)
    for i in range(len(rows[0])):
        number = i >= words and not (bars and i == len(rows[0]) - 1)
        table.add_column(
            Text(rows[0][i]) if head else "", justify="right" if number else "left", overflow="fold"
        )
    for row in rows[head:]:
        table.add_row(*map(Text, row))
    with console.capture() as captured:
        console.print(table)
    for line in captured.get().splitlines():
        click.echo(line.rstrip())


@contextmanager
def watched(label: str) -> Iterator[Callable[[float, float], None]]:
    """Show a progress bar if the output is a terminal. Gives a function that takes the amounts done and to
    do."""
    with click.progressbar(length=100, label=label, file=sys.stderr, hidden=not sys.stderr.isatty()) as bar:
        yield lambda done, total: bar.update(round(100 * done / total) - bar.pos)
