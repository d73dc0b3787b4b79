"""`bypass broker`: a live broker."""

from __future__ import annotations

import json
import logging
import os
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import click

from bypass.cli.group import INTERRUPTED, commands, explained, need_broker

if TYPE_CHECKING:
    from bypass.live.broker.config import BrokerConfig

log = logging.getLogger(__name__)

SWITCH_S = 0.0005
OPEN_WARNING = (
    "WARNING: this broker is OPEN: nothing is encrypted and everybody who reaches it is let in, "
    "as an operator too. Listening on {}."
)


@commands.command()
@click.option(
    "--config",
    type=click.Path(path_type=Path),
    help="A YAML file; keys that are missing have their defaults.  [default: none]",
)
@click.option("--listen", multiple=True, metavar="ADDRESS", help="tcp://HOST:PORT or ipc://PATH; repeatable.")
@click.option("--store", type=click.Path(path_type=Path), help="The file that keeps sessions and events.")
@click.option("--open", "is_open", is_flag=True, help="No encryption, no authentication. For trying out.")
@click.option("--dashboard", is_flag=True, help="Serve a page to watch, on 127.0.0.1:7780 unless configured.")
def broker(
    config: Path | None, listen: tuple[str, ...], store: Path | None, is_open: bool, dashboard: bool
) -> None:
    """Run a live broker until it is interrupted.

    Clients must have a key that it admits: `bypass keygen` makes them. What clients have subscribed, and
    events that they have not got yet, are kept in the store: a broker that is started again goes on where it
    ended. Every key of the file can also be set by an environment variable.

    \b
    Examples:
      bypass keygen && bypass keygen alice && bypass broker
      bypass broker --config broker.yaml --dashboard
      BYPASS_BROKER_LIMITS__CLIENT_RATE=50 bypass broker
      bypass broker --open --listen ipc:///tmp/bypass.sock
    """
    signal.signal(signal.SIGTERM, _not_serving_yet)
    need_broker()
    from bypass.live.broker.config_file import load_config
    from bypass.live.broker.loop.descriptors import raise_limit
    from bypass.live.broker.operations.logs import configure_logs

    environ = dict(os.environ)
    if listen:
        environ["BYPASS_BROKER_LISTEN"] = json.dumps(listen)
    if store is not None:
        environ["BYPASS_BROKER_STORE"] = json.dumps(str(store))
    if is_open:
        environ["BYPASS_BROKER_OPEN"] = "true"
    if dashboard:
        environ["BYPASS_BROKER_DASHBOARD"] = "true"
    settings = load_config(config, environ)
    raise_limit()
    configure_logs(settings.log.level, settings.log.format)
    try:
        _serve(settings)
    except (Exception, KeyboardInterrupt) as error:
        explanation = "interrupted" if isinstance(error, KeyboardInterrupt) else explained(error)
        if explanation is None or settings.log.format == "text":  # both are said elsewhere
            raise
        log.critical("%s", " ".join(explanation.split()))
        sys.exit(INTERRUPTED if isinstance(error, KeyboardInterrupt) else 2)


def _serve(settings: BrokerConfig) -> None:
    from bypass.live.broker.operations.logs import announcement
    from bypass.live.broker.service import Service

    signal.signal(signal.SIGHUP, _hung_up)
    service = Service(settings)
    endpoints, form = ", ".join(service.server.endpoints), settings.log.format
    if settings.open:
        click.echo(announcement(OPEN_WARNING.format(endpoints), form), err=True)
    for name in (signal.SIGINT, signal.SIGTERM):
        signal.signal(name, lambda *_: service.server.stop())
    click.echo(announcement(f"bypass broker listens on {endpoints}", form))
    if service.web is not None:
        click.echo(announcement(f"bypass broker serves http://{service.web.address}/", form))
    sys.stdout.flush()
    # The thread that writes to the store must not wait long for the one that serves clients.
    sys.setswitchinterval(SWITCH_S)
    service.run()


def _not_serving_yet(*_: object) -> NoReturn:
    """End well after SIGTERM, as a broker that serves does: nothing was begun."""
    sys.exit(0)


def _hung_up(*_: object) -> None:
    """Log SIGHUP and go on: neither a closed terminal nor a request to read files again ends a broker."""
    log.warning("SIGHUP: ignored: keys are read as they change, all else at the next start")
