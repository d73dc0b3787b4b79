"""Location-based publish/subscribe whose mechanisms can be exchanged while it runs.

What most applications and experiments need is here. The rest is in `bypass.events`, `bypass.objects`,
`bypass.places`, `bypass.live`, `bypass.transitions`, `bypass.mechanisms`, `bypass.core`, `bypass.models` and
`bypass.scenarios`, each with its errors, and in `bypass.errors`; all errors derive from `BypassError`.
Names whose modules need more than the standard library are imported when they are first used, so that
`import bypass` costs next to nothing.
"""

from typing import TYPE_CHECKING

from bypass.errors import BypassError
from bypass.events import Event, Filter, Publisher, Subscription, attr, matches
from bypass.places import Place, Region
from bypass.support.lazy import lazy_names

if TYPE_CHECKING:
    from bypass.live import (
        BlockingConnection,
        Connection,
        LiveSubscription,
        Neighbours,
        connect,
        connect_blocking,
        gpsd,
        gpx,
        nmea,
    )
    from bypass.mechanisms import Registry
    from bypass.mechanisms.dissemination import Disseminator
    from bypass.mechanisms.filters import FilterScheme
    from bypass.mechanisms.gateways import GatewayChoice
    from bypass.models import Trace, write_trace
    from bypass.places import Area, GeoLocation, PlanarLocation
    from bypass.ports import SubHandle, Unless
    from bypass.protocol import Publish
    from bypass.scenarios import Result, evaluate, run, sweep
    from bypass.sim import SimulatedSystem
    from bypass.transitions import (
        Action,
        Mechanism,
        MechanismState,
        Plan,
        Record,
        Rule,
        RuleBook,
        TransferState,
    )
else:
    __getattr__ = lazy_names(
        __name__,
        {
            "Action": "bypass.transitions",
            "Area": "bypass.places",
            "BlockingConnection": "bypass.live",
            "Connection": "bypass.live",
            "Disseminator": "bypass.mechanisms.dissemination",
            "FilterScheme": "bypass.mechanisms.filters",
            "GatewayChoice": "bypass.mechanisms.gateways",
            "GeoLocation": "bypass.places",
            "LiveSubscription": "bypass.live",
            "Mechanism": "bypass.transitions",
            "MechanismState": "bypass.transitions",
            "Neighbours": "bypass.live",
            "Plan": "bypass.transitions",
            "PlanarLocation": "bypass.places",
            "Publish": "bypass.protocol",
            "Record": "bypass.transitions",
            "Registry": "bypass.mechanisms",
            "Result": "bypass.scenarios",
            "Rule": "bypass.transitions",
            "RuleBook": "bypass.transitions",
            "SimulatedSystem": "bypass.sim",
            "SubHandle": "bypass.ports",
            "Trace": "bypass.models",
            "TransferState": "bypass.transitions",
            "Unless": "bypass.ports",
            "connect": "bypass.live",
            "connect_blocking": "bypass.live",
            "evaluate": "bypass.scenarios",
            "gpsd": "bypass.live",
            "gpx": "bypass.live",
            "nmea": "bypass.live",
            "run": "bypass.scenarios",
            "sweep": "bypass.scenarios",
            "write_trace": "bypass.models",
        },
        moved={  # in 0.2.0, and said for one version
            "Adaptation": "bypass.core",
            "AttributeConflict": "bypass.errors",
            "AttributeType": "bypass.events",
            "BOOLEAN": "bypass.events",
            "BlockingSubscription": "bypass.live",
            "Broker": "bypass.core",
            "Client": "bypass.core",
            "ConnectionRefused": "bypass.live",
            "EmptySubscription": "bypass.errors",
            "ExperimentFailed": "bypass.scenarios",
            "FLOAT": "bypass.events",
            "INTEGER": "bypass.events",
            "InvalidAttribute": "bypass.errors",
            "InvalidCallback": "bypass.errors",
            "InvalidEndpoint": "bypass.live",
            "InvalidEvaluation": "bypass.scenarios",
            "InvalidEvent": "bypass.errors",
            "InvalidFilter": "bypass.errors",
            "InvalidGroupKey": "bypass.live",
            "InvalidInterface": "bypass.live",
            "InvalidInterval": "bypass.errors",
            "InvalidKeys": "bypass.live",
            "InvalidLocation": "bypass.errors",
            "InvalidMap": "bypass.models",
            "InvalidParameter": "bypass.transitions",
            "InvalidPlan": "bypass.transitions",
            "InvalidRadius": "bypass.errors",
            "InvalidRule": "bypass.transitions",
            "InvalidScenario": "bypass.scenarios",
            "InvalidSweep": "bypass.scenarios",
            "InvalidTrace": "bypass.models",
            "LocalEngine": "bypass.models",
            "LocationRequest": "bypass.places",
            "MalformedMessage": "bypass.protocol",
            "MissingExtra": "bypass.errors",
            "MissingState": "bypass.transitions",
            "NoSuchRadio": "bypass.live",
            "NotConnected": "bypass.live",
            "OPERATORS": "bypass.events",
            "OperatorConflict": "bypass.errors",
            "OutboxFull": "bypass.live",
            "Projection": "bypass.places",
            "PublicationRefused": "bypass.live",
            "RuleLike": "bypass.transitions",
            "SET": "bypass.events",
            "STRING": "bypass.events",
            "SparkEngine": "bypass.models",
            "SparkUnavailable": "bypass.models",
            "SubscriptionRefused": "bypass.live",
            "SweepFailed": "bypass.scenarios",
            "TransitionError": "bypass.transitions",
            "TransitionFailed": "bypass.transitions",
            "UnknownHandle": "bypass.errors",
            "UnknownMechanism": "bypass.transitions",
            "UnknownOperator": "bypass.errors",
            "UnknownProxy": "bypass.transitions",
            "UnknownType": "bypass.errors",
            "Unsupported": "bypass.live",
            "UnusableMechanism": "bypass.errors",
            "WorkerLost": "bypass.models",
            "lay_out": "bypass.models",
            "register_type": "bypass.events",
            "spark_engine": "bypass.models",
        },
    )

__version__ = "0.2.0.dev0"

__all__ = [
    "Action",
    "Area",
    "BlockingConnection",
    "BypassError",
    "Connection",
    "Disseminator",
    "Event",
    "Filter",
    "FilterScheme",
    "GatewayChoice",
    "GeoLocation",
    "LiveSubscription",
    "Mechanism",
    "MechanismState",
    "Neighbours",
    "Place",
    "Plan",
    "PlanarLocation",
    "Publish",
    "Publisher",
    "Record",
    "Region",
    "Registry",
    "Result",
    "Rule",
    "RuleBook",
    "SimulatedSystem",
    "SubHandle",
    "Subscription",
    "Trace",
    "TransferState",
    "Unless",
    "attr",
    "connect",
    "connect_blocking",
    "evaluate",
    "gpsd",
    "gpx",
    "matches",
    "nmea",
    "run",
    "sweep",
    "write_trace",
]


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
