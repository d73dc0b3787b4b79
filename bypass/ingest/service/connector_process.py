"""The process of the connectors: they share an intake and its log."""

from __future__ import annotations

import argparse
import asyncio
import logging
import socket
from pathlib import Path

from bypass.ingest.categories import Node
from bypass.ingest.connectors.broker import EVERYTHING, BrokerConnector
from bypass.ingest.connectors.connector import Connector, check_writer
from bypass.ingest.connectors.durability import LogDurability
from bypass.ingest.connectors.files import FilesConnector
from bypass.ingest.connectors.filters import ApplicationFilters
from bypass.ingest.connectors.http import HttpConnector
from bypass.ingest.connectors.intake import LogIntake
from bypass.ingest.connectors.membership import Membership
from bypass.ingest.connectors.mqtt import MqttConnector
from bypass.ingest.connectors.tcp import TcpConnector
from bypass.ingest.connectors.udp import UdpConnector
from bypass.ingest.devices.own_mechanisms import bring_mechanisms
from bypass.ingest.folder import IngestFolder
from bypass.ingest.log.catalogue import find_log
from bypass.ingest.log.segment_log import SegmentLog
from bypass.ingest.security.private_file import read_secret
from bypass.ingest.service.connector_plans import ConnectorPlans
from bypass.ingest.service.process import process_arguments, until_terminated
from bypass.ingest.service.status import REFUSED

log = logging.getLogger(__name__)


async def run_connectors(
    folder: IngestFolder, name: str, connectors: list[Connector], durability: str, plans_after: int
) -> None:
    """Run connectors until the task is cancelled, and carry out the plans with a higher number than
    `plans_after`. What they have taken is in the log when it ends.

    Raises LogInUse if another process has this name, InvalidConnector, LogFailed and InvalidLog.
    """
    check_writer(name)
    writer = find_log(folder).open_writer(name, synced=durability == "full-sync")
    registry = bring_mechanisms(folder)
    settled = None
    if isinstance(writer, SegmentLog):  # servers have one durability, that of their configuration
        settled = LogDurability(writer, registry, durability)
    intake = LogIntake(writer, folder.logs / name / REFUSED)
    started: list[Connector] = []
    try:
        for connector in connectors:
            await connector.start(intake)
            started.append(connector)
        log.info("%d connectors run", len(started))
        balances = [each.balance for each in started if isinstance(each, MqttConnector)]
        await ConnectorPlans(folder, plans_after, intake, settled, balances).run()
    finally:
        for connector in reversed(started):
            await connector.stop()
        intake.close()
        writer.close()


def main() -> None:
    """Run the connectors that the arguments name, until SIGTERM."""
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--name", default="connectors")
    parser.add_argument("--durability", default="log-only")
    parser.add_argument("--tcp")
    parser.add_argument("--udp")
    parser.add_argument("--http")
    parser.add_argument("--mqtt")
    parser.add_argument("--mqtt-version", default="5")
    parser.add_argument("--mqtt-user")
    parser.add_argument("--mqtt-password", type=Path)
    parser.add_argument("--mqtt-ca")
    parser.add_argument("--insecure", action="store_true")
    parser.add_argument("--application", default="app")
    parser.add_argument("--files", type=Path)
    parser.add_argument("--broker")
    parser.add_argument("--keys", type=Path)
    parser.add_argument("--plans-after", type=int, default=0)
    given = process_arguments("connectors", parser)
    folder = IngestFolder(given.folder)
    connectors: list[Connector] = []
    if given.tcp:
        connectors.append(TcpConnector(given.tcp))
    if given.udp:
        connectors.append(UdpConnector(given.udp))
    if given.http:
        connectors.append(HttpConnector(given.http))
    if given.files:
        connectors.append(FilesConnector(given.files))
    if given.mqtt:
        connectors.append(_mqtt(folder, given))
    if given.broker:
        connectors.append(BrokerConnector(given.broker, EVERYTHING, name=given.name, keys=given.keys))
    asyncio.run(
        until_terminated(run_connectors(folder, given.name, connectors, given.durability, given.plans_after))
    )


def _mqtt(folder: IngestFolder, given: argparse.Namespace) -> MqttConnector:
    """The connector of the MQTT broker that arguments name. Raises InvalidConnector and InvalidKeyFile."""
    node = Node(given.name, socket.gethostname())
    return MqttConnector(
        given.mqtt,
        Membership(find_log(folder).leases(), ApplicationFilters(given.application), node),
        version=given.mqtt_version,
        credentials=(given.mqtt_user, read_secret(given.mqtt_password)) if given.mqtt_password else None,
        authority=given.mqtt_ca,
        insecure=given.insecure,
        registry=bring_mechanisms(folder),
    )


if __name__ == "__main__":
    main()
