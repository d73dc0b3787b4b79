"""Location-based publish/subscribe whose mechanisms can be exchanged while it runs.

What applications and experiments need is here. Names whose modules need more than the standard library are
imported when they are first used, so that `import bypass` costs next to nothing.
"""

from typing import TYPE_CHECKING

from bypass.errors import (
    AttributeConflict,
    BypassError,
    EmptySubscription,
    InvalidAttribute,
    InvalidCallback,
    InvalidEvent,
    InvalidFilter,
    InvalidInterval,
    InvalidLocation,
    InvalidRadius,
    MissingExtra,
    OperatorConflict,
    UnknownHandle,
    UnknownOperator,
    UnknownType,
)
from bypass.events.attributes import BOOLEAN, FLOAT, INTEGER, SET, STRING, AttributeType, register_type
from bypass.events.event import Event, Publisher
from bypass.events.filters import Filter, Subscription, attr
from bypass.events.matching import matches
from bypass.events.operators import OPERATORS
from bypass.places.region import Place, Region
from bypass.support.lazy import lazy_names

if TYPE_CHECKING:
    from bypass.core.adaptation import Adaptation
    from bypass.core.broker import Broker
    from bypass.core.client import Client
    from bypass.live.adhoc.datagrams import InvalidGroupKey
    from bypass.live.adhoc.udp import InvalidInterface, Neighbours, NoSuchRadio
    from bypass.live.client.blocking import BlockingConnection, BlockingSubscription, connect_blocking
    from bypass.live.client.connection import Connection, connect
    from bypass.live.client.errors import (
        ConnectionRefused,
        InvalidArgument,
        InvalidEndpoint,
        NotConnected,
        OutboxFull,
        PublicationRefused,
        SubscriptionRefused,
        Unsupported,
    )
    from bypass.live.client.sources.gps import gpsd, nmea
    from bypass.live.client.sources.gpx import gpx
    from bypass.live.client.subscription import LiveSubscription
    from bypass.live.keys import InvalidKeys
    from bypass.mechanisms import UnusableMechanism
    from bypass.mechanisms.dissemination import Disseminator
    from bypass.mechanisms.gateways import GatewayChoice
    from bypass.models.compute.engines import LocalEngine, SparkEngine, WorkerLost, spark_engine
    from bypass.models.compute.spark_session import SparkUnavailable
    from bypass.models.maps.street_map import InvalidMap
    from bypass.models.traces import Trace, lay_out, write_trace
    from bypass.models.traces.errors import InvalidTrace
    from bypass.places.geo import GeoLocation, PlanarLocation, Projection
    from bypass.places.sensor import LocationRequest
    from bypass.ports.local_access import Unless
    from bypass.ports.subscriptions import SubHandle
    from bypass.protocol.messages import Publish
    from bypass.protocol.wire import MalformedMessage
    from bypass.scenarios.evaluation import evaluate
    from bypass.scenarios.evaluation.schemes import InvalidEvaluation
    from bypass.scenarios.report.result import Result
    from bypass.scenarios.runs.experiment import ExperimentFailed
    from bypass.scenarios.runs.loader import InvalidScenario
    from bypass.scenarios.runs.runner import run
    from bypass.scenarios.runs.sweep import InvalidSweep, sweep
    from bypass.scenarios.runs.trial import SweepFailed
    from bypass.sim.system import SimulatedSystem
    from bypass.transitions import (
        Action,
        InvalidParameter,
        InvalidPlan,
        InvalidRule,
        MechanismState,
        MissingState,
        Plan,
        Record,
        Rule,
        RuleBook,
        RuleLike,
        TransitionError,
        TransitionFailed,
        UnknownMechanism,
        UnknownProxy,
    )
else:
    __getattr__ = lazy_names(
        __name__,
        {
            "Action": "bypass.transitions",
            "Adaptation": "bypass.core.adaptation",
            "BlockingConnection": "bypass.live.client.blocking",
            "BlockingSubscription": "bypass.live.client.blocking",
            "Broker": "bypass.core.broker",
            "Client": "bypass.core.client",
            "Connection": "bypass.live.client.connection",
            "ConnectionRefused": "bypass.live.client.errors",
            "Disseminator": "bypass.mechanisms.dissemination",
            "ExperimentFailed": "bypass.scenarios.runs.experiment",
            "GatewayChoice": "bypass.mechanisms.gateways",
            "GeoLocation": "bypass.places.geo",
            "InvalidArgument": "bypass.live.client.errors",
            "InvalidEndpoint": "bypass.live.client.errors",
            "InvalidEvaluation": "bypass.scenarios.evaluation.schemes",
            "InvalidGroupKey": "bypass.live.adhoc.datagrams",
            "InvalidInterface": "bypass.live.adhoc.udp",
            "InvalidKeys": "bypass.live.keys",
            "InvalidMap": "bypass.models.maps.street_map",
            "InvalidParameter": "bypass.transitions",
            "InvalidPlan": "bypass.transitions",
            "InvalidRule": "bypass.transitions",
            "InvalidScenario": "bypass.scenarios.runs.loader",
            "InvalidSweep": "bypass.scenarios.runs.sweep",
            "InvalidTrace": "bypass.models.traces.errors",
            "LiveSubscription": "bypass.live.client.subscription",
            "LocalEngine": "bypass.models.compute.engines",
            "LocationRequest": "bypass.places.sensor",
            "MalformedMessage": "bypass.protocol.wire",
            "MechanismState": "bypass.transitions",
            "MissingState": "bypass.transitions",
            "Neighbours": "bypass.live.adhoc.udp",
            "NoSuchRadio": "bypass.live.adhoc.udp",
            "NotConnected": "bypass.live.client.errors",
            "OutboxFull": "bypass.live.client.errors",
            "Plan": "bypass.transitions",
            "PlanarLocation": "bypass.places.geo",
            "Projection": "bypass.places.geo",
            "PublicationRefused": "bypass.live.client.errors",
            "Publish": "bypass.protocol.messages",
            "Record": "bypass.transitions",
            "Result": "bypass.scenarios.report.result",
            "Rule": "bypass.transitions",
            "RuleBook": "bypass.transitions",
            "RuleLike": "bypass.transitions",
            "SimulatedSystem": "bypass.sim.system",
            "SparkEngine": "bypass.models.compute.engines",
            "SparkUnavailable": "bypass.models.compute.spark_session",
            "SubHandle": "bypass.ports.subscriptions",
            "SubscriptionRefused": "bypass.live.client.errors",
            "SweepFailed": "bypass.scenarios.runs.trial",
            "Trace": "bypass.models.traces",
            "TransitionError": "bypass.transitions",
            "TransitionFailed": "bypass.transitions",
            "UnknownMechanism": "bypass.transitions",
            "UnknownProxy": "bypass.transitions",
            "Unless": "bypass.ports.local_access",
            "Unsupported": "bypass.live.client.errors",
            "UnusableMechanism": "bypass.mechanisms",
            "WorkerLost": "bypass.models.compute.engines",
            "connect": "bypass.live.client.connection",
            "connect_blocking": "bypass.live.client.blocking",
            "evaluate": "bypass.scenarios.evaluation",
            "gpsd": "bypass.live.client.sources.gps",
            "gpx": "bypass.live.client.sources.gpx",
            "lay_out": "bypass.models.traces",
            "nmea": "bypass.live.client.sources.gps",
            "run": "bypass.scenarios.runs.runner",
            "spark_engine": "bypass.models.compute.engines",
            "sweep": "bypass.scenarios.runs.sweep",
            "write_trace": "bypass.models.traces",
        },
    )

__version__ = "0.1.1"

__all__ = [
    "BOOLEAN",
    "FLOAT",
    "INTEGER",
    "OPERATORS",
    "SET",
    "STRING",
    "Action",
    "Adaptation",
    "AttributeConflict",
    "AttributeType",
    "BlockingConnection",
    "BlockingSubscription",
    "Broker",
    "BypassError",
    "Client",
    "Connection",
    "ConnectionRefused",
    "Disseminator",
    "EmptySubscription",
    "Event",
    "ExperimentFailed",
    "Filter",
    "GatewayChoice",
    "GeoLocation",
    "InvalidArgument",
    "InvalidAttribute",
    "InvalidCallback",
    "InvalidEndpoint",
    "InvalidEvaluation",
    "InvalidEvent",
    "InvalidFilter",
    "InvalidGroupKey",
    "InvalidInterface",
    "InvalidInterval",
    "InvalidKeys",
    "InvalidLocation",
    "InvalidMap",
    "InvalidParameter",
    "InvalidPlan",
    "InvalidRadius",
    "InvalidRule",
    "InvalidScenario",
    "InvalidSweep",
    "InvalidTrace",
    "LiveSubscription",
    "LocalEngine",
    "LocationRequest",
    "MalformedMessage",
    "MechanismState",
    "MissingExtra",
    "MissingState",
    "Neighbours",
    "NoSuchRadio",
    "NotConnected",
    "OperatorConflict",
    "OutboxFull",
    "Place",
    "Plan",
    "PlanarLocation",
    "Projection",
    "PublicationRefused",
    "Publish",
    "Publisher",
    "Record",
    "Region",
    "Result",
    "Rule",
    "RuleBook",
    "RuleLike",
    "SimulatedSystem",
    "SparkEngine",
    "SparkUnavailable",
    "SubHandle",
    "Subscription",
    "SubscriptionRefused",
    "SweepFailed",
    "Trace",
    "TransitionError",
    "TransitionFailed",
    "UnknownHandle",
    "UnknownMechanism",
    "UnknownOperator",
    "UnknownProxy",
    "UnknownType",
    "Unless",
    "Unsupported",
    "UnusableMechanism",
    "WorkerLost",
    "attr",
    "connect",
    "connect_blocking",
    "evaluate",
    "gpsd",
    "gpx",
    "lay_out",
    "matches",
    "nmea",
    "register_type",
    "run",
    "spark_engine",
    "sweep",
    "write_trace",
]


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
