import pytest

from tests.benchmarks.runs import FOLDER, SMALL, run_here

HELPERS = {
    *("common", "ns3_peer", "servers", "bare_router"),
    *("fanout_places", "fanout_clients", "fanout_streams", "fanout_systems", "fanout_turns"),
    *("load_clients", "connectivity_pairs", "fidelity_record"),
    *("ingest_load", "ingest_stream", "ingest_postgres", "ingest_senders", "ingest_service"),
    *("objects_postgres", "attributes_servers", "attributes_databases"),
    *("areas_load", "areas_oracle", "areas_osm", "areas_peers"),
    *("regression_checkout", "regression_difference", "regression_probe"),
}


def test_each_is_tested() -> None:
    assert {path.stem for path in FOLDER.glob("*.py")} == {*SMALL, *HELPERS}


@pytest.mark.parametrize("name", SMALL)
def test_it_explains_itself(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        run_here(name, ["--help"], monkeypatch)
    assert ended.value.code == 0
    assert "--out DIR" in capsys.readouterr().out
