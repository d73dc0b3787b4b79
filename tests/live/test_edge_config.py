"""The configuration of a live edge, from YAML and from the properties file of the source."""

from __future__ import annotations

from pathlib import Path

import pytest

from bypass.live.config_files import InvalidConfig
from bypass.live.edge.config import EdgeConfig, OtherEdge
from bypass.live.edge.config_file import load_edge_config
from bypass.live.edge.properties import FIELDS
from bypass.mechanisms import Registry
from bypass.mechanisms.storage.infra.edge.needs import TimeEnvelope
from bypass.mechanisms.storage.infra.edge.service.settings import EdgeSettings

SAMPLE = """\
# Listing 4.3
infra.own.ip=192.168.1.67
infra.own.mobile.port=9500
infra.own.mobile.nThreads=10
infra.own.interinfra.port=9501
infra.own.interinfra.nThreads=5
infra.own.discoveryMulticast.ip=227.7.12.95
infra.own.discoveryMulticast.port=8999
infra.own.cache.localPopularity.size=100
infra.own.cache.prefetch.metadata.size=101
infra.own.cache.prefetch.data.size=102
infra.own.cache.global.metadata.size=103
infra.own.cache.global.data.size=104
infra.own.cache.mobileAddresses.size=100
infra.own.cache.mobileAddresses.writeTTL=300000
infra.own.subNeedsDisseminationDelay=60000
infra.own.subNeedsReplyDisseminationTimeWindow=60000
infra.own.retrieveLocalPopItemsToCacheDelay=30000
infra.own.maxLocalPopularItemsToOffload=100
infra.own.popularItemsActiveWindow=3
infra.own.numberofBatchInsertsToLocalPopularityCache=3
infra.own.localNodesRequestsTimeout=3000
infra.own.infraRequestsTimeout=3000
infra.own.popularityEntryMaxStorageLocations=10
infra.own.localDataGloballyConsumedInitialIgnoreCounter=5
infra.own.usesPopRankingAlgorithm=false
infra.own.usesConsumptionNotification=false
mobiles.inSimulationEnvironment=true
infra.other.0.ip=2.2.2.3
infra.other.0.port=9502
infra.other.1.ip=2.2.2.4
infra.other.1.port=9603
"""


def written(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_text(text)
    return path


def beside(folder: Path, config: EdgeConfig) -> EdgeConfig:
    """A configuration whose files are in a folder."""
    paths = {name: folder / getattr(config, name) for name in ("keys", "group", "store")}
    return config.model_copy(update=paths)


def test_the_sample_of_the_source_is_read(tmp_path: Path) -> None:
    found = load_edge_config(written(tmp_path, "infra.properties", SAMPLE))
    expected = EdgeConfig(
        host="192.168.1.67",
        client_port=9500,
        client_requests=10,
        edge_requests=5,
        prefetch_metadata_entries=101,
        prefetch_data_entries=102,
        global_metadata_entries=103,
        global_data_entries=104,
        ranking="everything",
        consumption_notices=False,
        simulated=True,
        edges=(OtherEdge(host="2.2.2.3", port=9502), OtherEdge(host="2.2.2.4", port=9603)),
    )
    assert found == beside(tmp_path, expected)
    assert found.model_fields_set >= {field.name for field in FIELDS.values()} - {"keys", "group", "store"}


def test_every_key_stands_for_a_field_of_its_own() -> None:
    names = [field.name for field in FIELDS.values()]
    assert len(names) == len(set(names)) == 30  # 27 of the source, and three of ours
    assert set(names) <= EdgeConfig.model_fields.keys()


def test_the_defaults_that_the_source_states(tmp_path: Path) -> None:
    found = load_edge_config(written(tmp_path, "infra.properties", "\n! nothing\n"))
    assert (found.ranking, found.consumption_notices, found.simulated) == ("popular", True, False)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("infra.own.ipp=1", "line 1: infra.own.ipp is unknown: expected one of infra.own.ip, "),
        ("infra.own.ip", "line 1: 'infra.own.ip': expected a key, = and a value"),
        ("infra.own.mobile.port=a", ": infra.own.mobile.port is 'a': expected a whole number"),
        ("infra.own.mobile.port=0", ": infra.own.mobile.port is 0: "),
        ("infra.own.infraRequestsTimeout=0", ": infra.own.infraRequestsTimeout is 0.0: "),
        ("infra.own.usesPopRankingAlgorithm=yes", "is 'yes': expected true or false"),
        ("infra.other.0.ip=a", ": infra.other.0.port is missing"),
        ("infra.other.5.ip=a\ninfra.other.5.port=0", ": infra.other.5.port is 0: "),
        ("infra.own.ip=a\ninfra.own.ip=b", "line 2: infra.own.ip is there twice: expected it once"),
        ("infra.own.discoveryMulticast.ip=1.2.3.4", "discoveryMulticast.ip is '1.2.3.4': "),
    ],
)
def test_errors_name_the_key_the_value_and_what_was_expected(tmp_path: Path, text: str, problem: str) -> None:
    with pytest.raises(InvalidConfig) as caught:
        load_edge_config(written(tmp_path, "infra.properties", text))
    assert problem in str(caught.value)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("local_entries: 0", "edge.yaml: local_entries is 0: "),
        ("local: 1", "edge.yaml: local is unknown: expected one of local_entries, "),
        ("retrieval_slack_s: 30", "retrieval_slack_s is 30.0: expected less than retrieval_period_s, which"),
        ("slot_guard_s: 30", "slot_guard_s is 30.0: expected less than half of slot_s, which is 60.0"),
        ("edges: [{host: a}]", "edges.0.port is missing"),
        ("mechanisms: [none.py:None]", "edge.yaml: mechanisms.0 is '"),
        ("edges: [{host: a, port: 1}, {host: a, port: 1}]", "edges.1 is 'a:1': expected another edge"),
        ("- 1", "expected keys and values"),
    ],
)
def test_yaml_is_checked(tmp_path: Path, text: str, problem: str) -> None:
    with pytest.raises(InvalidConfig) as caught:
        load_edge_config(written(tmp_path, "edge.yaml", text))
    assert problem in str(caught.value)


def test_yaml_has_the_fields_of_the_configuration(tmp_path: Path) -> None:
    text = "batches: 6\nenvelope: single\ndistances: {101: 2.5}\ncell_map: cells-by-clients\n"
    found = load_edge_config(written(tmp_path, "edge.yaml", text))
    assert (found.batches, found.envelope, found.distances) == (6, TimeEnvelope.SINGLE, {101: 2.5})
    assert load_edge_config(written(tmp_path, "edge.yaml", "")) == beside(tmp_path, EdgeConfig())


@pytest.mark.parametrize("name", ["hall", "yard"])
def test_the_examples_can_be_used(name: str) -> None:
    folder = Path(__file__).parents[2] / "examples" / "edges"
    found = load_edge_config(folder / f"{name}.yaml")
    assert found.keys == folder / "keys" / f"{name}.key"
    (other,) = found.edges
    assert other.key == folder / "keys" / "edges" / f"{'yard' if name == 'hall' else 'hall'}.pub"


def test_mechanisms_that_settings_begin_with_are_there() -> None:
    settings = EdgeSettings()
    for proxy, values in settings.parameters.items():
        kinds = Registry().catalogue("edge")[proxy].values()
        known = {name for kind in kinds for name in kind.parameters()}
        assert values.keys() <= known


def test_the_page_about_infrastructure_has_every_field_with_its_default_and_key() -> None:
    page = (Path(__file__).parents[2] / "docs" / "infrastructure.md").read_text()
    section = page.partition("### Settings")[2].partition("### Invariants")[0]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in section.splitlines()]
    found = {row[0].strip("`"): row[1:] for row in rows if row[0].startswith("`") and len(row) == 3}
    assert found.keys() == EdgeConfig.model_fields.keys()
    keys = {field.name: key for key, field in FIELDS.items()}
    for name, (default, key) in found.items():
        assert default == said(EdgeConfig.model_fields[name].default)
        assert key.startswith(f"`{keys[name]}`" if name in keys else ("none", "`infra.other"))


def said(value: object) -> str:
    """A default as the page has it."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if value is None or value in ((), {}):
        return "none"
    return f"{value:g}" if isinstance(value, int | float) else f"`{getattr(value, 'value', value)}`"
