"""`bypass ingest keys`: a device gets its keys in a file, and changes over to new ones."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from bypass.cli.group import commands
from bypass.ingest import KeySet, KeyStore, Sealer
from bypass.ingest.devices.device import Device
from bypass.ingest.rejection import Rejected
from bypass.ingest.stages.chain import StageChain
from tests.ingest.senders import FIGURE, MEASURED, NOW

SUITE = "AES256-CBC_HMAC-SHA512"


def run(folder: Path, *arguments: str, code: int = 0) -> str:
    done = CliRunner().invoke(commands, ["ingest", "keys", "--folder", str(folder), *arguments])
    assert done.exit_code == code, done.output
    return done.output


def test_a_device_changes_over_to_new_keys(tmp_path: Path) -> None:
    device = Device(id="device1", suite=SUITE, keys="truck").record()
    store = KeyStore(tmp_path / "keys")

    def is_read(file: str) -> bool:
        frame = Sealer(suite=SUITE, keys=KeySet.read(tmp_path / file)).seal(FIGURE)
        try:
            return StageChain(device, store)(frame, NOW).measurements == MEASURED
        except Rejected:
            return False

    assert run(tmp_path) == "no key sets\n"
    run(tmp_path, "truck", "--suite", SUITE, "--out", str(tmp_path / "old"))
    run(tmp_path, "truck", "--rotate", "--out", str(tmp_path / "new"))
    assert (is_read("old"), is_read("new")) == (True, True)
    run(tmp_path, "truck", "--retire")
    assert (is_read("old"), is_read("new")) == (False, True)
    assert run(tmp_path) == "truck\n"
    assert (tmp_path / "new").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["truck"], "expected one of --suite, --rotate and --retire"),
        (["truck", "--suite", "NULL_NULL"], "expected one that has keys"),
        (["truck", "--suite", "NONE"], "expected one of NULL_NULL"),
        (["truck", "--suite", SUITE, "--retire"], "expected one of --suite, --rotate and --retire"),
    ],
)
def test_what_makes_no_sense_changes_nothing(tmp_path: Path, arguments: list[str], said: str) -> None:
    assert said in run(tmp_path, *arguments, code=2)
    assert run(tmp_path) == "no key sets\n"


def test_a_file_that_is_there_is_not_written_over(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    run(tmp_path, "truck", "--suite", SUITE, "--out", str(tmp_path / "file"), code=2)
    assert ((tmp_path / "file").read_text(), run(tmp_path)) == ("mine", "no key sets\n")


def test_a_file_that_has_no_keys_is_named_and_not_shown(tmp_path: Path) -> None:
    (tmp_path / "file").write_text('{"mac": "secret!"}')
    with pytest.raises(ValueError, match="expected JSON, with keys in Base64") as caught:
        KeySet.read(tmp_path / "file")
    assert "secret" not in str(caught.value)
