"""The data pipeline: messages of devices are logged, normalised on Spark, kept in tables, and queried.

Needs the extra `ingest`: a name whose package is not installed raises MissingExtra at its first use."""

from typing import TYPE_CHECKING

from bypass.support.lazy import lazy_names

if TYPE_CHECKING:
    from bypass.ingest.categories import category_of, topic_of
    from bypass.ingest.connectors.connector import Connector
    from bypass.ingest.connectors.frames import encode_frame, encode_message
    from bypass.ingest.connectors.intake import LogIntake
    from bypass.ingest.devices.device import Device, make_device
    from bypass.ingest.devices.key_store import KeyStore
    from bypass.ingest.devices.registry import DeviceRegistry
    from bypass.ingest.folder import IngestFolder
    from bypass.ingest.parsers.parser import Parsed, Parser
    from bypass.ingest.parsers.schema import ParserSchema
    from bypass.ingest.queries.cursor import QueryCursor
    from bypass.ingest.queries.reader import MeasurementReader
    from bypass.ingest.queries.selection import Selection
    from bypass.ingest.queries.subscription import subscribe
    from bypass.ingest.rejection import Rejected
    from bypass.ingest.sealing import Sealer
    from bypass.ingest.security.key_set import KeySet
    from bypass.ingest.security.suite import SecuritySuite, find_suite
    from bypass.ingest.service.status import IngestStatus, read_status
    from bypass.ingest.stream.plans import submit_plan
    from bypass.ports.measurements import Measurement
else:
    __getattr__ = lazy_names(
        __name__,
        {
            "Connector": "bypass.ingest.connectors.connector",
            "Device": "bypass.ingest.devices.device",
            "DeviceRegistry": "bypass.ingest.devices.registry",
            "IngestFolder": "bypass.ingest.folder",
            "IngestStatus": "bypass.ingest.service.status",
            "KeySet": "bypass.ingest.security.key_set",
            "KeyStore": "bypass.ingest.devices.key_store",
            "LogIntake": "bypass.ingest.connectors.intake",
            "Measurement": "bypass.ports.measurements",
            "MeasurementReader": "bypass.ingest.queries.reader",
            "Parsed": "bypass.ingest.parsers.parser",
            "Parser": "bypass.ingest.parsers.parser",
            "ParserSchema": "bypass.ingest.parsers.schema",
            "QueryCursor": "bypass.ingest.queries.cursor",
            "Rejected": "bypass.ingest.rejection",
            "Sealer": "bypass.ingest.sealing",
            "SecuritySuite": "bypass.ingest.security.suite",
            "Selection": "bypass.ingest.queries.selection",
            "category_of": "bypass.ingest.categories",
            "encode_frame": "bypass.ingest.connectors.frames",
            "encode_message": "bypass.ingest.connectors.frames",
            "find_suite": "bypass.ingest.security.suite",
            "make_device": "bypass.ingest.devices.device",
            "read_status": "bypass.ingest.service.status",
            "submit_plan": "bypass.ingest.stream.plans",
            "subscribe": "bypass.ingest.queries.subscription",
            "topic_of": "bypass.ingest.categories",
        },
    )

__all__ = [
    "Connector",
    "Device",
    "DeviceRegistry",
    "IngestFolder",
    "IngestStatus",
    "KeySet",
    "KeyStore",
    "LogIntake",
    "Measurement",
    "MeasurementReader",
    "Parsed",
    "Parser",
    "ParserSchema",
    "QueryCursor",
    "Rejected",
    "Sealer",
    "SecuritySuite",
    "Selection",
    "category_of",
    "encode_frame",
    "encode_message",
    "find_suite",
    "make_device",
    "read_status",
    "submit_plan",
    "subscribe",
    "topic_of",
]
