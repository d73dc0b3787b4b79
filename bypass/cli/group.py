"""The group of all commands, the checks that they share, and the one-line texts for requests that are
wrong."""

from __future__ import annotations

import os
from collections.abc import Iterable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import click

from bypass.errors import BypassError, MissingExtra

INTERRUPTED = 130
"""The exit code after the user has interrupted."""

BROKER = ("numba", "numpy", "prometheus_client")
LAB = ("jinja2", "matplotlib", "pyarrow", "rich", "scipy", "numba", "numpy")
INGEST = ("deltalake", "msgspec", "pyarrow", "pyspark", "rich", "scipy", "zstandard")
"""Modules that brokers, experiments and the pipeline need beyond a client's: they come with these extras."""


class Commands(click.Group):
    """The group of all commands. It leaves interruptions to `main`, because click would print an empty line
    first."""

    def invoke(self, context: click.Context) -> Any:
        try:
            return super().invoke(context)
        except (KeyboardInterrupt, SystemError) as error:
            if not _is_interruption(error):
                raise
            raise click.Abort from None


def _is_interruption(error: BaseException | None) -> bool:
    """Whether the user interrupted: compiled code raises a SystemError because of the KeyboardInterrupt."""
    while error is not None and not isinstance(error, KeyboardInterrupt):
        error = error.__cause__
    return error is not None


@click.group(
    cls=Commands,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(package_name="bypass-pubsub", message="%(prog)s %(version)s")
@click.pass_context
def commands(context: click.Context) -> None:
    """Location-based publish/subscribe whose mechanisms can be exchanged while it runs.

    \b
    Examples:
      bypass scenarios
      bypass run total-transitions
      bypass run total-transitions --clients 100 --duration 300 --seed 7
      bypass run my-experiment.yaml --set filter.scheme=egrid --set filter.grid=10
      bypass sweep total-transitions --seeds 1..10 --out out/sweep
      bypass traces darmstadt --out out/darmstadt
      bypass evaluate out/darmstadt --schemes radial,ste:2,grid:5 --out out/schemes
      bypass timeliness --subscriber-on 155.8 --subscriber-off 72.1
      bypass warm-up
      bypass keygen && bypass keygen alice && bypass broker --dashboard
      bypass transition filter ste --set alpha=1.5
      bypass status
    """
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


def need_broker() -> None:
    """Raise MissingExtra unless what brokers need is there."""
    _need("broker", BROKER)


def need_ingest() -> None:
    """Raise MissingExtra unless what the data pipeline needs is there."""
    _need("ingest", INGEST)


def need_lab(*also: str) -> None:
    """Raise MissingExtra unless what experiments need is there, and these modules besides."""
    _need("lab", (*LAB, *also))


def is_there(modules: Iterable[str]) -> bool:
    """Whether all of these modules are installed."""
    return all(map(find_spec, modules))


def _need(extra: str, modules: Iterable[str]) -> None:
    for module in modules:
        if find_spec(module) is None:
            raise MissingExtra(module, extra)


def parse_change(text: str, option: str = "--set", example: str = "filter.alpha=2.0") -> tuple[str, Any]:
    """The key and the value, in YAML, of an option. Raises UsageError and InvalidScenario."""
    from bypass.scenarios.experiments.files import InvalidScenario
    from bypass.transitions.yaml_text import load_yaml

    key, equals, value = text.partition("=")
    if not key or not equals:
        raise click.UsageError(f"{option} {text!r}: expected KEY=VALUE, such as {example}")
    return key.strip(), load_yaml(f"{option} {text!r}", value, InvalidScenario)


def refuse_unusable(out: Path) -> None:
    """Raises OSError if `out` could not be written to: after the run it would be too late."""
    nearest = next(path for path in (out, *out.absolute().parents) if path.exists())
    if not nearest.is_dir():
        raise NotADirectoryError(20, "is in the way: expected a directory", str(nearest))
    if not os.access(nearest, os.W_OK | os.X_OK):
        raise PermissionError(13, "cannot be written to: expected permission", str(nearest))


def explained(error: Exception) -> str | None:
    """Say why a request is wrong; None if the error is not the request's fault."""
    from bypass.transitions import TransitionError

    if isinstance(error, click.ClickException):
        return error.format_message()
    if isinstance(error, OSError):
        return f"{error.filename}: {error.strerror}" if error.filename else str(error)
    if isinstance(error, BypassError | TransitionError):
        return str(error)
    return None
