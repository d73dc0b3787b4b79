import subprocess
import sys
import tomllib
from importlib import import_module
from pathlib import Path

import pytest

import bypass
from bypass import errors

HEAVY = {
    "google",
    "matplotlib",
    "numba",
    "numpy",
    "pandas",
    "pyarrow",
    "pydantic",
    "pyproj",
    "pyspark",
    "scipy",
}


def modules_after(code: str) -> set[str]:
    """The top-level packages that a fresh interpreter has loaded after `code`."""
    probe = f"{code}\nimport sys\nprint(*{{name.partition('.')[0] for name in sys.modules}})"
    done = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


@pytest.mark.parametrize("code", ["import bypass", "import bypass.scenarios", "import bypass.cli"])
def test_imports_that_must_stay_light_load_nothing_heavy(code: str) -> None:
    assert not modules_after(code) & HEAVY


def test_a_plan_needs_no_compiler_and_no_table_format() -> None:
    loaded = modules_after("from bypass import Event, Plan, attr")
    assert not loaded & {"matplotlib", "numba", "pyarrow", "scipy"}
    assert "pydantic" in loaded


TOP = {
    "connections": (
        "BlockingConnection Connection LiveSubscription Neighbours connect connect_blocking gpsd gpx nmea"
    ),
    "events": "Event Filter Publisher SubHandle Subscription attr matches",
    "places": "Area GeoLocation Place PlanarLocation Region",
    "transitions": "Action Mechanism MechanismState Plan Record Rule RuleBook TransferState",
    "mechanisms": "Disseminator FilterScheme GatewayChoice Publish Registry Unless",
    "experiments": "Result SimulatedSystem Trace evaluate run sweep write_trace",
    "errors": "BypassError",
}
"""The names at the top: what applications, mechanisms of one's own and experiments mostly need."""

PACKAGES = {
    "bypass.core": "Adaptation Broker Client",
    "bypass.events": (
        "BOOLEAN FLOAT INTEGER OPERATORS SET STRING AttributeType Event Filter Publisher Subscription "
        "attr matches register_type"
    ),
    "bypass.ingest": (
        "ArchiveSink Connector CursorExpired Device DeviceRegistry IngestFolder IngestStatus "
        "InvalidCursor InvalidSelection KeySet KeyStore LogIntake LogWriter Measurement MeasurementPage "
        "MeasurementReader MessageLog Parsed Parser ParserSchema QueryCursor Rejected Sealer "
        "SecuritySuite Selection category_of encode_frame encode_message find_suite issue_token "
        "make_device parse_time plain_rows read_status submit_plan subscribe topic_of"
    ),
    "bypass.live": (
        "BlockingConnection BlockingMatch BlockingMatches BlockingSubscription Connection ConnectionRefused "
        "InvalidArgument InvalidEndpoint InvalidGroupKey InvalidInterface InvalidKeys LiveSubscription "
        "Neighbours NoSuchRadio NotConnected ObjectMatch ObjectMatches OutboxFull PublicationRefused "
        "SubscriptionRefused Unsupported connect connect_blocking gpsd gpx nmea"
    ),
    "bypass.models": (
        "InvalidMap InvalidTrace LocalEngine SparkEngine SparkUnavailable Trace WorkerLost lay_out "
        "spark_engine write_trace"
    ),
    "bypass.mechanisms.routing": "CellRouting Dsdv OneHop RoutingMechanism",
    "bypass.mechanisms.storage": (
        "BrokerStorage Cells ExternalStorage LastK Local Pull StorageMechanism Transient Ttl"
    ),
    "bypass.objects": (
        "Metadata NodeStore ObjectCatalogue ObjectKey ObjectQuery PageCursor Replica StoredObject TagFormula "
        "TimeWindow Tombstone"
    ),
    "bypass.places": (
        "EVERYBODY Area BorderEvent Fix GeoLocation LocationRequest Place PlanarLocation Projection Region"
    ),
    "bypass.ports": "Host SubHandle Unless",
    "bypass.protocol": "ContextMessage MalformedMessage Publish SchemeContext",
    "bypass.scenarios": (
        "ExperimentFailed InvalidEvaluation InvalidScenario InvalidSweep Result SweepFailed builtin_names "
        "evaluate load run sweep"
    ),
    "bypass.sim": "SimulatedSystem",
    "bypass.testing": (
        "CacheSuite ChurnSuite ConnectorSuite DisseminationSuite FilterSchemeSuite FrameProtectionSuite "
        "GatewayLogicSuite GatewaySelectionSuite InsertionSuite LiveWorld LocatedSubscriber LogSuite "
        "MatchingSuite MobilitySuite ModeSuite ParserSuite PartitionSuite PrecomputeSuite ProvisioningSuite "
        "RankingSuite RoutingSuite SimulatedWorld StorageSuite SystemMachine TransportSuite "
        "UnknownCapability Waypoint WorkloadSuite events filters places plans radii scenarios subscriptions "
        "walks write_replay"
    ),
}

MOVED = {
    "bypass.core": "Adaptation Broker Client",
    "bypass.errors": (
        "AttributeConflict EmptySubscription InvalidAttribute InvalidCallback InvalidEvent InvalidFilter "
        "InvalidInterval InvalidLocation InvalidRadius MissingExtra OperatorConflict UnknownHandle "
        "UnknownOperator UnknownType UnusableMechanism"
    ),
    "bypass.events": "AttributeType BOOLEAN FLOAT INTEGER OPERATORS SET STRING register_type",
    "bypass.live": (
        "BlockingSubscription ConnectionRefused InvalidEndpoint InvalidGroupKey InvalidInterface "
        "InvalidKeys NoSuchRadio NotConnected OutboxFull PublicationRefused SubscriptionRefused "
        "Unsupported"
    ),
    "bypass.models": (
        "InvalidMap InvalidTrace LocalEngine SparkEngine SparkUnavailable WorkerLost lay_out spark_engine"
    ),
    "bypass.places": "LocationRequest Projection",
    "bypass.protocol": "MalformedMessage",
    "bypass.scenarios": "ExperimentFailed InvalidEvaluation InvalidScenario InvalidSweep SweepFailed",
    "bypass.transitions": (
        "InvalidParameter InvalidPlan InvalidRule MissingState RuleLike TransitionError TransitionFailed "
        "UnknownMechanism UnknownProxy"
    ),
}
"""What was at the top of 0.1.1, by where it is now."""


def test_the_names_at_the_top_are_these() -> None:
    assert sorted(bypass.__all__) == sorted(" ".join(TOP.values()).split())


@pytest.mark.parametrize("package", PACKAGES)
def test_the_names_of_a_package_are_these(package: str) -> None:
    assert sorted(import_module(package).__all__) == sorted(PACKAGES[package].split())


@pytest.mark.parametrize("package", ["bypass", "bypass.mechanisms", *PACKAGES])
def test_every_public_name_is_there_and_is_the_one_of_its_module(package: str) -> None:
    names = import_module(package).__all__
    assert len(set(names)) == len(names)
    for name in names:
        value = getattr(import_module(package), name)
        home = getattr(value, "__module__", None)
        if home is not None and hasattr(value, "__qualname__"):
            assert getattr(sys.modules[home], name) is value


def test_names_are_imported_once() -> None:
    first = bypass.Plan
    assert vars(bypass)["Plan"] is first


def test_what_is_not_public_is_no_attribute() -> None:
    with pytest.raises(AttributeError, match="module 'bypass' has no attribute 'Cleint'"):
        bypass.Cleint  # type: ignore[attr-defined] # noqa: B018


@pytest.mark.parametrize("package", MOVED)
def test_what_has_moved_from_the_top_is_where_the_error_says(package: str) -> None:
    for name in MOVED[package].split():
        with pytest.raises(AttributeError, match=rf"^bypass\.{name} has moved: expected {package}\.{name}$"):
            getattr(bypass, name)
        assert hasattr(import_module(package), name)
        assert not hasattr(bypass, name)


def test_all_public_errors_have_one_root() -> None:
    public = [
        value
        for package in ("bypass", "bypass.errors", "bypass.mechanisms", "bypass.transitions", *PACKAGES)
        for value in map(import_module(package).__dict__.get, dir(import_module(package)))
        if isinstance(value, type) and issubclass(value, Exception)
    ]
    assert len(public) > 40
    assert all(issubclass(error, bypass.BypassError) for error in public)


def test_the_version_is_that_of_the_package() -> None:
    project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())["project"]
    assert bypass.__version__ == project["version"]


WITHOUT = """
from importlib.machinery import PathFinder
found = PathFinder.find_spec
def find_spec(name, path=None, target=None):
    return None if name.partition(".")[0] in {lab!r} else found(name, path, target)
PathFinder.find_spec = find_spec
"""


@pytest.mark.parametrize(
    "code", ["from bypass import *", "from bypass import evaluate", "import bypass; bypass.run"]
)
def test_who_has_not_the_extra_is_told_which(code: str) -> None:
    probe = WITHOUT.format(lab=set(errors.LAB)) + code
    done = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True)
    last = done.stderr.splitlines()[-1]
    assert "MissingExtra" in last
    assert "needs the extra lab: pip install 'bypass-pubsub[lab]'" in last


def test_who_tests_without_the_extra_is_told_which() -> None:
    probe = WITHOUT.format(lab={"hypothesis"}) + "import bypass.testing"
    done = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True)
    last = done.stderr.splitlines()[-1]
    assert "MissingExtra" in last
    assert "needs the extra testing: pip install 'bypass-pubsub[testing]'" in last


@pytest.mark.parametrize(
    "command", [["run", "total-transitions"], ["sweep", "total-transitions", "--seeds", "1", "--out", "out"]]
)
def test_a_command_that_needs_the_extra_says_so_in_one_line(command: list[str]) -> None:
    probe = WITHOUT.format(lab=set(errors.LAB)) + f"from bypass.cli import main\nmain({command!r})"
    done = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True)
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1
    assert "needs the extra lab: pip install 'bypass-pubsub[lab]'" in done.stderr
