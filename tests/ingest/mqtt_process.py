"""A process with an MQTT connector: FOLDER ADDRESS NAME VERSION. It runs until it is killed."""

import asyncio
import sys
from pathlib import Path

from bypass.ingest.categories import Node
from bypass.ingest.connectors.filters import ApplicationFilters
from bypass.ingest.connectors.intake import LogIntake
from bypass.ingest.connectors.membership import Membership
from bypass.ingest.connectors.mqtt import MqttConnector
from bypass.ingest.folder import IngestFolder
from bypass.ingest.log.catalogue import find_log


async def main(folder: IngestFolder, address: str, name: str, version: str) -> None:
    log = find_log(folder)
    intake = LogIntake(log.open_writer(name), folder.logs / name / "refused.json")
    members = Membership(log.leases(), ApplicationFilters("App"), Node(name, "host"), lease_s=1.0)
    connector = MqttConnector(address, members, version="5" if version == "5" else "3.1.1")
    await connector.start(intake)
    await asyncio.Event().wait()


if __name__ == "__main__":
    path, address, name, version = sys.argv[1:]
    asyncio.run(main(IngestFolder(Path(path)), address, name, version))
