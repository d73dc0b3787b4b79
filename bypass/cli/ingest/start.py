"""`bypass ingest start`: the processes of an installation."""

from __future__ import annotations

import logging
import signal
import threading
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path

import click

from bypass.cli.ingest.group import folder_option, ingest
from bypass.cli.ingest.storage import SIZE


@ingest.command()
@folder_option
@click.option("--tcp", metavar="HOST:PORT", help="Take length-prefixed frames there, with replies.")
@click.option("--udp", metavar="HOST:PORT", help="Take datagrams there; nothing is promised.")
@click.option("--http", metavar="HOST:PORT", help="Take POST requests there.")
@click.option(
    "--mqtt",
    metavar="HOST:PORT",
    help="Take messages from an MQTT broker, of the topics app/CATEGORY/DEVICE.",
)
@click.option("--mqtt-user", metavar="NAME", help="The user that the MQTT broker knows.")
@click.option(
    "--mqtt-password",
    type=click.Path(path_type=Path),
    help="The file with its password, which is its owner's alone.",
)
@click.option(
    "--mqtt-ca",
    metavar="FILE",
    help="Speak TLS with the MQTT broker, which shows one of these certificates (PEM), or of the `system`.",
)
@click.option("--mqtt-version", type=click.Choice(["3.1.1", "5"]), help="[default: 5]")
@click.option("--files", type=click.Path(path_type=Path), help="Take files that appear in a folder.")
@click.option("--broker", metavar="ENDPOINT", help="Take events from a live broker, such as tcp://HOST:PORT.")
@click.option(
    "--keys",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="The key file for the live broker.  [default: it is open]",
)
@click.option("--serve", metavar="HOST:PORT", help="Answer queries over HTTP and WebSocket there.")
@click.option("--tls-cert", type=click.Path(path_type=Path), help="The certificate for --serve, in PEM.")
@click.option("--tls-key", type=click.Path(path_type=Path), help="Its key.")
@click.option("--insecure", is_flag=True, help="Serve other machines, or send them a password, without TLS.")
@click.option(
    "--archive",
    multiple=True,
    metavar="NAME=SINK",
    help="Hand on all that is stored: to parquet:FOLDER, jsonl:FOLDER, or module:Class; repeatable.",
)
@click.option(
    "--log",
    "log_name",
    metavar="NAME",
    help="The log: segments, nats://HOST:PORT,... or one of your own; a folder keeps the one that it has "
    "begun with. Servers on other machines need ?ca=FILE and one of credentials, nkey, token=FILE, or "
    "user=NAME&password=FILE; or insecure=yes.  [default: segments]",
)
@click.option(
    "--name",
    default="connectors",
    show_default=True,
    help="The name of these connectors; those of other machines have others.",
)
@click.option("--stream/--no-stream", default=True, help="Run the stream here, or connectors alone.")
@click.option("--master", metavar="URL", help="A Spark cluster.  [default: this machine's cores]")
@click.option("--most", default=200_000, show_default=True, help="Messages of a batch.")
@click.option(
    "--letter-days",
    type=click.IntRange(min=1),
    default=30,
    show_default=True,
    help="How long dead letters are kept.",
)
@click.option(
    "--letter-bytes",
    metavar="SIZE",
    default="10GB",
    show_default=True,
    callback=SIZE,
    help="How much of them: beyond that, the oldest are removed.",
)
@click.option(
    "--durability",
    type=click.Choice(["none", "log-only", "full-sync"]),
    default="log-only",
    show_default=True,
    help="What an acknowledged message survives: nothing, the process, or the machine. With full-sync, so "
    "does the stream.",
)
def start(
    folder: Path,
    log_name: str | None,
    name: str,
    stream: bool,
    master: str | None,
    most: int,
    letter_days: int,
    letter_bytes: int,
    durability: str,
    serve: str | None,
    tls_cert: Path | None,
    tls_key: Path | None,
    insecure: bool,
    archive: tuple[str, ...],
    **addresses: str | Path | None,
) -> None:
    """Run connectors and the stream until interrupted. Each is a process of its own, which is started
    again if it ends; what was acknowledged is not lost with it.

    \b
    Examples:
      bypass ingest start --tcp 127.0.0.1:7791 --http 127.0.0.1:7792
      bypass ingest start --mqtt 127.0.0.1:1883 --serve 127.0.0.1:7793
      bypass ingest start --mqtt mq:8883 --mqtt-ca ca.pem --mqtt-user ingest --mqtt-password secret
      bypass ingest start --http 0.0.0.0:7792 --serve 0.0.0.0:7793 --tls-cert cert.pem --tls-key key.pem
      bypass ingest start --tcp 127.0.0.1:7791 --archive cold=parquet:/var/archive
      bypass ingest start --tcp 127.0.0.1:7791 --log nats://127.0.0.1:4222
    """
    from bypass.ingest.connectors.connector import check_writer
    from bypass.ingest.folder import IngestFolder
    from bypass.ingest.folder_lock import only_one
    from bypass.ingest.log.catalogue import choose_log
    from bypass.ingest.service.supervisor import Supervisor
    from bypass.ingest.stream.plans import latest_plan

    if addresses["keys"] is not None and addresses["broker"] is None:
        raise click.UsageError("--keys without --broker: expected the broker that they are for")
    _check_mqtt(addresses, insecure)
    check_writer(name)
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
    folder = folder.resolve()  # other processes may have other directories
    if log_name is not None:
        choose_log(IngestFolder(folder), log_name)
    folder.mkdir(parents=True, exist_ok=True)
    given = [f"--{kind.replace('_', '-')}={value}" for kind, value in addresses.items() if value is not None]
    processes: dict[str, list[str]] = {}
    if stream:
        command = ["bypass.ingest.service.stream_process", str(folder), f"--most={most}"]
        command += [f"--letter-days={letter_days}", f"--letter-bytes={letter_bytes}"]
        command += ["--synced"] if durability == "full-sync" else []
        processes["stream"] = [*command, *([f"--master={master}"] if master else [])]
    if given:
        # Connectors that are started again go on with the plans that came since this command was given.
        after = latest_plan(IngestFolder(folder).plans)
        given += [f"--name={name}", f"--durability={durability}", f"--plans-after={after}"]
        given += ["--insecure"] if insecure else []
        processes["connectors"] = ["bypass.ingest.service.connector_process", str(folder), *given]
    if serve is not None:
        processes["serving"] = _serving(folder, serve, tls_cert, tls_key, insecure)
    for each in archive:
        from bypass.ingest.exposure.archives.archive import parse_archive

        archived, sink = parse_archive(each)
        processes[f"archive {archived}"] = [
            "bypass.ingest.exposure.archives.process",
            str(folder),
            archived,
            sink,
        ]
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    with ExitStack() as locks:
        if stream:
            locks.enter_context(only_one(folder / "start.lock", "another `bypass ingest start` runs here"))
        if given:
            lock = folder / f"start.{name}.lock"
            locks.enter_context(only_one(lock, f"another `bypass ingest start --name {name}` runs here"))
        click.echo(f"Ingesting into {folder}; Ctrl-C ends it.")
        Supervisor(processes).run(stop)


def _check_mqtt(given: Mapping[str, str | Path | None], insecure: bool) -> None:
    """Check the options for an MQTT broker. Raises UsageError, InvalidConnector and InvalidKeyFile."""
    named = [option for option, value in given.items() if option.startswith("mqtt_") and value is not None]
    if not named:
        return
    if given["mqtt"] is None:
        raise click.UsageError(f"--{named[0].replace('_', '-')} without --mqtt: expected the broker")
    if (given["mqtt_user"] is None) != (given["mqtt_password"] is None):
        raise click.UsageError("--mqtt-user and --mqtt-password: expected both, or none of them")
    from bypass.ingest.connectors.mqtt import check_password
    from bypass.ingest.security.private_file import read_secret

    if given["mqtt_password"] is not None:
        read_secret(Path(given["mqtt_password"]))
    authority = given["mqtt_ca"]
    if authority not in (None, "system") and not Path(str(authority)).is_file():
        raise click.UsageError(f"--mqtt-ca {authority}: is not there: expected certificates in PEM")
    is_safe = insecure or authority is not None
    check_password(str(given["mqtt"]), given["mqtt_password"] is not None, is_safe)


def _serving(
    folder: Path, address: str, certificate: Path | None, key: Path | None, insecure: bool
) -> list[str]:
    """The command of the process that serves. Raises InvalidServing and InvalidConnector."""
    from bypass.ingest.exposure.server import check_serving

    check_serving(address, certificate, key, insecure)
    command = ["bypass.ingest.exposure.serving_process", str(folder), f"--serve={address}"]
    for name, value in (("cert", certificate), ("key", key)):
        if value is not None:
            command.append(f"--tls-{name}={value.resolve()}")
    return [*command, *(["--insecure"] if insecure else [])]
