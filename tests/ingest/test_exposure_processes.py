"""Exposure as users run it: the process that serves, with TLS, and the commands."""

import asyncio
import http.client
import json
import re
import signal
import ssl
import subprocess
import sys
import time
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from bypass.cli.group import commands
from bypass.ingest.devices.device import Device
from bypass.ingest.devices.key_store import KeyStore
from bypass.ingest.exposure.tokens import check_token
from tests.ingest.certificates import certificate
from tests.ingest.pipeline import Pipeline, message
from tests.product import ROOT

T = 1_763_459_000_000
BYPASS = [sys.executable, "-c", "from bypass.cli import main; main()"]


@pytest.fixture
def pipeline(tmp_path: Path) -> Pipeline:
    pipeline = Pipeline(
        tmp_path / "ingest", Device(id="a", metadata={"kind": "truck"}), Device(id="b", tenant="other")
    )
    append(pipeline, 0, 1, 2)
    return pipeline


def append(pipeline: Pipeline, *numbers: int) -> None:
    for device in ("a", "b"):
        pipeline.append(*((device, message(device, T + n, v=n, s="x")) for n in numbers))
    pipeline.run()


@pytest.mark.slow
def test_the_process_serves_with_tls_and_ends_when_told(pipeline: Pipeline, tmp_path: Path) -> None:
    cert, key = certificate(tmp_path)
    token = invoke(pipeline, "token", "--tenant", "other", "--for", "5m").strip()
    module = [sys.executable, "-m", "bypass.ingest.exposure.serving_process", str(pipeline.folder.path)]
    options = ["--serve=127.0.0.1:0", f"--tls-cert={cert}", f"--tls-key={key}"]
    with subprocess.Popen([*module, *options], stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        try:
            said = re.search(r"port (\d+)", process.stderr.readline())
            assert said is not None
            trusting = ssl.create_default_context(cafile=str(cert))
            connection = http.client.HTTPSConnection("127.0.0.1", int(said[1]), context=trusting)
            with closing(connection):
                connection.request("GET", "/devices", headers={"Authorization": f"Bearer {token}"})
                assert json.load(connection.getresponse()) == {"devices": ["b"], "cursor": None}
        finally:
            process.send_signal(signal.SIGTERM)
        assert process.wait(30) == 0


def listen_to_interrupts() -> None:
    """Have a process end by SIGINT also if the tests run in the background, where it is ignored."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


@pytest.mark.slow
def test_a_query_follows_and_goes_on(pipeline: Pipeline) -> None:
    command = [*BYPASS, "ingest", "query", "--folder", str(pipeline.folder.path), "--follow", "--cursors"]
    cursor: list[str] = []
    for numbers, metric in (((0, 1, 2, 3), "v"), ((4,), "v")):
        options = ["--metric", metric, *(["--cursor", cursor[-1]] if cursor else [])]
        with subprocess.Popen(
            [*command, *options],
            stdout=subprocess.PIPE,
            text=True,
            preexec_fn=listen_to_interrupts,
        ) as process:
            assert process.stdout is not None
            seen: list[int] = []
            line = {"time": 0}
            try:
                append(pipeline, numbers[-1])
                while len(seen) < len(numbers) or "time" in line:
                    line = json.loads(process.stdout.readline())
                    if "time" in line:
                        seen.append(line["value"])
                    else:
                        cursor.append(line["cursor"])
            finally:
                process.send_signal(signal.SIGINT)
            assert process.wait(30) == 130
        assert seen == list(numbers)


def invoke(pipeline: Pipeline, *arguments: str) -> str:
    done = CliRunner().invoke(
        commands, ["ingest", arguments[0], "--folder", str(pipeline.folder.path), *arguments[1:]]
    )
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    return done.output


def test_queries_print_what_they_find(pipeline: Pipeline) -> None:
    def values(*arguments: str) -> list[object]:
        return [json.loads(line)["value"] for line in invoke(pipeline, "query", *arguments).splitlines()]

    assert values("--where", "metric = v and value > 0") == [1, 2]
    assert values("--metric", "v", "--where", "value > 0", "--device", "a") == [1, 2]
    assert values("--device", "b") == []
    assert values("--tenant", "other", "--latest") == ["x", 2]
    assert values("--devices", "kind = truck", "--until", str(T + 1)) == ["x", 0]
    assert "expected one of them" in invoke(pipeline, "query", "--latest", "--follow")
    assert "expected --follow" in invoke(pipeline, "query", "--cursor", "x")


def test_the_program_in_the_page_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pipeline = Pipeline(tmp_path / "ingest", Device(id="a", tenant="fleet", metadata={"kind": "truck"}))
    now = int(time.time() * 1000)
    pipeline.append(*(("a", message("a", now - n, speed=80.0 + n)) for n in range(3)))
    pipeline.run()
    page = (ROOT / "docs" / "ingest.md").read_text()
    (program,) = re.findall(r"^```python\n(.*?)^```", page, re.DOTALL | re.MULTILINE)
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    exec(program, names)
    assert names["reader"].range(names["trucks"])["double"].to_pylist() == [82.0, 81.0]

    async def watched() -> None:
        with suppress(TimeoutError):
            await asyncio.wait_for(names["watch"](), 0.5)

    asyncio.run(watched())
    assert capsys.readouterr().out.startswith("2 up to cursor ")


def test_tokens_are_printed(pipeline: Pipeline) -> None:
    token = invoke(pipeline, "token", "--tenant", "fleet", "--allow", "query,register", "--for", "2h").strip()
    grant = check_token(KeyStore(pipeline.folder.keys), token)
    assert (grant.tenant, grant.operations) == ("fleet", frozenset({"query", "register"}))
    assert 7000 < grant.until - time.time() <= 7200
    assert "expected a duration such as 30m" in invoke(pipeline, "token", "--tenant", "a", "--for", "soon")


@pytest.mark.parametrize(
    ("options", "line"),
    [
        (("--serve", "0.0.0.0:7793"), "expected --tls-cert and --tls-key, or --insecure"),
        (("--serve", "127.0.0.1:7793", "--tls-cert", "x"), "expected both, or none of them"),
        (("--serve", "nowhere"), "expected HOST:PORT"),
        (("--archive", "cold=tape"), "expected parquet:FOLDER"),
    ],
)
def test_a_start_that_cannot_be_is_refused(pipeline: Pipeline, options: tuple[str, ...], line: str) -> None:
    with pytest.raises(Exception, match=re.escape(line)):
        invoke(pipeline, "start", *options)
