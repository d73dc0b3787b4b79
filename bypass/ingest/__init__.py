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
    from bypass.ingest.exposure.archives.sinks import ArchiveSink
    from bypass.ingest.exposure.tokens import issue_token
    from bypass.ingest.folder import IngestFolder
    from bypass.ingest.log.message_log import LogWriter, MessageLog
    from bypass.ingest.parsers.parser import Parsed, Parser
    from bypass.ingest.parsers.schema import ParserSchema
    from bypass.ingest.queries.cursor import QueryCursor
    from bypass.ingest.queries.invalid import CursorExpired, InvalidCursor, InvalidSelection
    from bypass.ingest.queries.plain_rows import plain_rows
    from bypass.ingest.queries.reader import MeasurementPage, MeasurementReader
    from bypass.ingest.queries.selection import Selection, parse_time
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
            "ArchiveSink": "bypass.ingest.exposure.archives.sinks",
            "Connector": "bypass.ingest.connectors.connector",
            "CursorExpired": "bypass.ingest.queries.invalid",
            "Device": "bypass.ingest.devices.device",
            "DeviceRegistry": "bypass.ingest.devices.registry",
            "IngestFolder": "bypass.ingest.folder",
            "IngestStatus": "bypass.ingest.service.status",
            "InvalidCursor": "bypass.ingest.queries.invalid",
            "InvalidSelection": "bypass.ingest.queries.invalid",
            "KeySet": "bypass.ingest.security.key_set",
            "KeyStore": "bypass.ingest.devices.key_store",
            "LogIntake": "bypass.ingest.connectors.intake",
            "LogWriter": "bypass.ingest.log.message_log",
            "Measurement": "bypass.ports.measurements",
            "MeasurementPage": "bypass.ingest.queries.reader",
            "MeasurementReader": "bypass.ingest.queries.reader",
            "MessageLog": "bypass.ingest.log.message_log",
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
            "issue_token": "bypass.ingest.exposure.tokens",
            "make_device": "bypass.ingest.devices.device",
            "parse_time": "bypass.ingest.queries.selection",
            "plain_rows": "bypass.ingest.queries.plain_rows",
            "read_status": "bypass.ingest.service.status",
            "submit_plan": "bypass.ingest.stream.plans",
            "subscribe": "bypass.ingest.queries.subscription",
            "topic_of": "bypass.ingest.categories",
        },
    )

__all__ = [
    "ArchiveSink",
    "Connector",
    "CursorExpired",
    "Device",
    "DeviceRegistry",
    "IngestFolder",
    "IngestStatus",
    "InvalidCursor",
    "InvalidSelection",
    "KeySet",
    "KeyStore",
    "LogIntake",
    "LogWriter",
    "Measurement",
    "MeasurementPage",
    "MeasurementReader",
    "MessageLog",
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
    "issue_token",
    "make_device",
    "parse_time",
    "plain_rows",
    "read_status",
    "submit_plan",
    "subscribe",
    "topic_of",
]
