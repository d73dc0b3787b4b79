"""Location-based publish/subscribe whose mechanisms can be exchanged while it runs.

What applications and experiments need is here. Names whose modules need more than the standard library are
imported when they are first used, so that `import bypass` costs next to nothing.
"""

from typing import TYPE_CHECKING

from bypass.attributes import BOOLEAN, FLOAT, INTEGER, SET, STRING, AttributeType, register_type
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
    MetricConflict,
    MissingExtra,
    OperatorConflict,
    UnknownHandle,
    UnknownOperator,
    UnknownType,
)
from bypass.events import Event, Publisher
from bypass.filters import Filter, Subscription, attr
from bypass.lazy import lazy_names
from bypass.matching import matches
from bypass.operators import OPERATORS
from bypass.region import Place, Region

if TYPE_CHECKING:
    from bypass.adaptation import Adaptation
    from bypass.adhoc import Unless
    from bypass.broker import Broker
    from bypass.client import Client
    from bypass.geo import GeoLocation, PlanarLocation, Projection
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
    from bypass.live.client.gps import gpsd, nmea
    from bypass.live.client.gpx import gpx
    from bypass.live.client.inbox import LiveSubscription
    from bypass.live.datagrams import InvalidGroupKey
    from bypass.live.keys import InvalidKeys
    from bypass.live.neighbours import InvalidInterface, Neighbours, NoSuchRadio
    from bypass.location import LocationRequest
    from bypass.mechanisms import UnusableMechanism
    from bypass.mechanisms.dissemination import Disseminator
    from bypass.mechanisms.gateways import GatewayChoice
    from bypass.messages import Publish
    from bypass.models.engines import LocalEngine, SparkEngine, WorkerLost, spark_engine
    from bypass.models.maps.street_map import InvalidMap
    from bypass.models.spark_session import SparkUnavailable
    from bypass.models.traces import Trace, lay_out, write_trace
    from bypass.models.traces.errors import InvalidTrace
    from bypass.scenarios.evaluation import evaluate
    from bypass.scenarios.evaluation.schemes import InvalidEvaluation
    from bypass.scenarios.experiment import ExperimentFailed
    from bypass.scenarios.loader import InvalidScenario
    from bypass.scenarios.result import Result
    from bypass.scenarios.runner import run
    from bypass.scenarios.sweep import InvalidSweep, sweep
    from bypass.scenarios.trial import SweepFailed
    from bypass.sim.system import SimulatedSystem
    from bypass.subscriptions import SubHandle
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
    from bypass.wire import MalformedMessage
else:
    __getattr__ = lazy_names(
        __name__,
        {
            "Action": "bypass.transitions",
            "Adaptation": "bypass.adaptation",
            "BlockingConnection": "bypass.live.client.blocking",
            "BlockingSubscription": "bypass.live.client.blocking",
            "Broker": "bypass.broker",
            "Client": "bypass.client",
            "Connection": "bypass.live.client.connection",
            "ConnectionRefused": "bypass.live.client.errors",
            "Disseminator": "bypass.mechanisms.dissemination",
            "ExperimentFailed": "bypass.scenarios.experiment",
            "GatewayChoice": "bypass.mechanisms.gateways",
            "GeoLocation": "bypass.geo",
            "InvalidArgument": "bypass.live.client.errors",
            "InvalidEndpoint": "bypass.live.client.errors",
            "InvalidEvaluation": "bypass.scenarios.evaluation.schemes",
            "InvalidGroupKey": "bypass.live.datagrams",
            "InvalidInterface": "bypass.live.neighbours",
            "InvalidKeys": "bypass.live.keys",
            "InvalidMap": "bypass.models.maps.street_map",
            "InvalidParameter": "bypass.transitions",
            "InvalidPlan": "bypass.transitions",
            "InvalidRule": "bypass.transitions",
            "InvalidScenario": "bypass.scenarios.loader",
            "InvalidSweep": "bypass.scenarios.sweep",
            "InvalidTrace": "bypass.models.traces.errors",
            "LiveSubscription": "bypass.live.client.inbox",
            "LocalEngine": "bypass.models.engines",
            "LocationRequest": "bypass.location",
            "MalformedMessage": "bypass.wire",
            "MechanismState": "bypass.transitions",
            "MissingState": "bypass.transitions",
            "Neighbours": "bypass.live.neighbours",
            "NoSuchRadio": "bypass.live.neighbours",
            "NotConnected": "bypass.live.client.errors",
            "OutboxFull": "bypass.live.client.errors",
            "Plan": "bypass.transitions",
            "PlanarLocation": "bypass.geo",
            "Projection": "bypass.geo",
            "PublicationRefused": "bypass.live.client.errors",
            "Publish": "bypass.messages",
            "Record": "bypass.transitions",
            "Result": "bypass.scenarios.result",
            "Rule": "bypass.transitions",
            "RuleBook": "bypass.transitions",
            "RuleLike": "bypass.transitions",
            "SimulatedSystem": "bypass.sim.system",
            "SparkEngine": "bypass.models.engines",
            "SparkUnavailable": "bypass.models.spark_session",
            "SubHandle": "bypass.subscriptions",
            "SubscriptionRefused": "bypass.live.client.errors",
            "SweepFailed": "bypass.scenarios.trial",
            "Trace": "bypass.models.traces",
            "TransitionError": "bypass.transitions",
            "TransitionFailed": "bypass.transitions",
            "UnknownMechanism": "bypass.transitions",
            "UnknownProxy": "bypass.transitions",
            "Unless": "bypass.adhoc",
            "Unsupported": "bypass.live.client.errors",
            "UnusableMechanism": "bypass.mechanisms",
            "WorkerLost": "bypass.models.engines",
            "connect": "bypass.live.client.connection",
            "connect_blocking": "bypass.live.client.blocking",
            "evaluate": "bypass.scenarios.evaluation",
            "gpsd": "bypass.live.client.gps",
            "gpx": "bypass.live.client.gpx",
            "lay_out": "bypass.models.traces",
            "nmea": "bypass.live.client.gps",
            "run": "bypass.scenarios.runner",
            "spark_engine": "bypass.models.engines",
            "sweep": "bypass.scenarios.sweep",
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
    "MetricConflict",
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
