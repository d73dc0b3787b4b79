"""The stream: every message of the log ends in one way, once, whatever happens to those who work on it."""

import gc
import json
import sqlite3
from base64 import b64encode
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bypass.ingest.devices.device import Device
from bypass.ingest.devices.key_store import KeyStore
from bypass.ingest.devices.policy import DevicePolicy
from bypass.ingest.devices.registry import DeviceRegistry, UnknownRegistryVersion
from bypass.ingest.parsers.parser import Parsed, Parser
from bypass.ingest.sealing import Sealer
from bypass.ingest.security.suite import find_suite
from bypass.ingest.service.status import read_status
from bypass.ingest.stream import plans
from bypass.ingest.stream.plans import plans_between, submit_plan
from bypass.ingest.stream.progress import BatchMismatch, StreamProgress, read_warnings
from bypass.transitions import Action, Plan
from tests.ingest.pipeline import Pipeline, message

T = 1_763_459_000_000
DEVICES = [f"device{number}" for number in range(6)]


def total(progress: StreamProgress) -> int:
    return (
        progress.stored
        + progress.filtered
        + progress.duplicates
        + sum(progress.dead_letters.values())
        + progress.held
    )


def plan(to: str, *members: str, **values: object) -> Plan:
    action = {"proxy": "precompute", "to": to, "set": values} | ({"members": members} if members else {})
    return Plan(plan=f"to {to}", actions=(Action.model_validate(action),))


@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_each_message_is_stored_once_whatever_breaks_off(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    pipeline = Pipeline(tmp_path_factory.mktemp("ingest"), *(Device(id=name) for name in DEVICES))
    sent: list[tuple[str, bytes]] = []
    for step in range(data.draw(st.integers(1, 6))):
        fresh = [
            (name, message(name, T + 1000 * step + number, a=number, b=1.5))
            for number, name in enumerate(data.draw(st.lists(st.sampled_from(DEVICES), max_size=6)))
        ]
        again = data.draw(st.lists(st.sampled_from(sent), max_size=3)) if sent else []
        pipeline.append(*fresh, *again)
        sent += fresh
        fail_at = data.draw(st.sampled_from(["", "tasks", "commit", "offset"]))
        pipeline.step(fail_at)
        if data.draw(st.booleans()):
            pipeline.restart()
        if data.draw(st.booleans()):
            pipeline.tasks = data.draw(st.integers(1, 4))
    progress = pipeline.run()
    assert sorted((row["device"], row["time"]) for row in pipeline.rows() if row["metric"] == "a") == sorted(
        {(name, T + 1000 * step) for name, payload in sent for step in [_step(payload)]}
    )
    assert progress.stored == len({payload for _, payload in sent})
    assert total(progress) == progress.read == pipeline.log.sequence


def _step(payload: bytes) -> float:
    """The time of a message, in seconds behind T."""
    return float(json.loads(payload)["timestamp"] - T) / 1000


def test_what_cannot_be_read_is_a_dead_letter_with_its_reason(tmp_path: Path) -> None:
    pipeline = Pipeline(tmp_path, Device(id="device0"), Device(id="sum", suite="NULL_CKSM-FLETCHER16"))
    pipeline.append(
        ("device0", b"{"),
        ("stranger", b"?"),
        ("sum", b"\0\0garbage"),
        ("device0", message("device0", T, a=1)),
    )
    progress = pipeline.run()
    assert (progress.stored, sum(progress.dead_letters.values()), total(progress)) == (1, 3, 4)
    found = {(letter["device"], letter["stage"]): letter["payload"] for letter in pipeline.letters()}
    assert found == {
        ("device0", "parse"): b"{",
        ("stranger", "registry"): b"?",
        ("sum", "integrity"): b"\0\0garbage",
    }


def test_a_change_of_the_registry_counts_with_the_next_batch_and_not_in_one_that_is_repeated(
    tmp_path: Path,
) -> None:
    pipeline = Pipeline(tmp_path, Device(id="device0"))
    pipeline.append(("device1", message("device1", T, a=1)))
    pipeline.step("commit")
    with DeviceRegistry(pipeline.folder.registry) as registry:
        registry.register(Device(id="device1"))
    pipeline.append(("device1", message("device1", T + 1, a=1)))
    progress = pipeline.run()
    assert (progress.stored, sum(progress.dead_letters.values())) == (1, 1)


def test_batches_are_no_larger_than_allowed_by_more_than_a_block(tmp_path: Path) -> None:
    pipeline = Pipeline(tmp_path, Device(id="device0"), most=3)
    for number in range(10):
        pipeline.append(
            ("device0", message("device0", T + number, a=1)),
            ("device0", message("device0", T - number - 1, a=1)),
        )
    pipeline.step()
    assert pipeline.progress().read == 4
    assert pipeline.run().stored == 20


def test_keeping_batching_and_keeping_again_loses_and_doubles_nothing(tmp_path: Path) -> None:
    pipeline = Pipeline(tmp_path, *(Device(id=name) for name in DEVICES))
    number = 0
    for policy in ("keep-everything", "batch", "every-nth", "batch", "keep-everything"):
        if policy != "every-nth":
            submit_plan(pipeline.folder.plans, plan(policy))
        for _ in range(3):
            pipeline.append(*((name, message(name, T + number, a=number)) for name in DEVICES))
            number += 1
            pipeline.step()
            pipeline.restart()
        progress = pipeline.progress()
        assert total(progress) == progress.read
        assert (progress.held > 0) == (policy in ("batch", "every-nth"))
    assert progress.stored == number * len(DEVICES)
    assert [(row["device"], row["time"]) for row in pipeline.rows()] == [
        (name, T + at) for name in DEVICES for at in range(number)
    ]


def test_a_filter_for_some_devices_leaves_the_others_alone(tmp_path: Path) -> None:
    pipeline = Pipeline(tmp_path, *(Device(id=name) for name in DEVICES))
    submit_plan(pipeline.folder.plans, plan("every-nth", "device1", "device2", n=3))
    for number in range(10):
        pipeline.append(*((name, message(name, T + number, a=number)) for name in DEVICES))
        pipeline.step()
        pipeline.restart()
    times = {name: [row["time"] - T for row in pipeline.rows() if row["device"] == name] for name in DEVICES}
    assert times["device0"] == list(range(10))
    assert times["device1"] == times["device2"] == [0, 3, 6, 9]
    progress = pipeline.progress()
    assert (progress.filtered, total(progress)) == (12, progress.read)


def test_a_policy_of_the_registry_serves_its_device_from_the_next_batch_on(tmp_path: Path) -> None:
    pipeline = Pipeline(tmp_path, Device(id="device0"), Device(id="device1", policy="by-metric"))
    pipeline.append(("device0", message("device0", T, a=1)), ("device1", message("device1", T, a=1)))
    pipeline.step()
    with DeviceRegistry(pipeline.folder.registry) as registry:
        registry.update("device1", {"policy": "keep-everything"})
    pipeline.append(("device1", message("device1", T + 1, a=2)))
    progress = pipeline.run()
    assert [(row["device"], row["time"] - T) for row in pipeline.rows()] == [("device0", 0), ("device1", 1)]
    assert (progress.stored, progress.filtered) == (2, 1)


def test_one_mechanism_serves_devices_with_parameters_of_their_own(tmp_path: Path) -> None:
    third = Device(id="device3", policy=DevicePolicy(to="every-nth", set={"n": 5}))
    pipeline = Pipeline(tmp_path, *(Device(id=name) for name in DEVICES[:3]), third)
    submit_plan(pipeline.folder.plans, plan("every-nth", "device1", n=10))
    submit_plan(pipeline.folder.plans, plan("every-nth", "device2", n=2))

    def send(numbers: range) -> None:
        for number in numbers:
            pipeline.append(*((name, message(name, T + number, a=number)) for name in DEVICES[:4]))
            pipeline.step()
            pipeline.restart()

    def kept(name: str) -> list[int]:
        return [row["time"] - T for row in pipeline.rows() if row["device"] == name]

    send(range(20))
    assert [len(kept(name)) for name in DEVICES[:4]] == [20, 2, 10, 4]
    assert read_status(pipeline.folder).policies == {
        "keep-everything": 1,
        "every-nth n=10": 1,
        "every-nth n=2": 1,
        "every-nth n=5": 1,
    }
    submit_plan(
        pipeline.folder.plans, plan("every-nth", "device1", n=3)
    )  # those that it serves go on counting
    submit_plan(pipeline.folder.plans, plan("every-nth", "device2", n=5))
    send(range(20, 30))
    assert kept("device1") == [0, 10, 21, 24, 27]
    assert kept("device2") == [*range(0, 20, 2), 20, 25]
    assert kept("device3") == [*range(0, 30, 5)]
    assert total(pipeline.progress()) == pipeline.progress().read
    submit_plan(pipeline.folder.plans, plan("every-nth", n=1))
    send(range(30, 32))
    assert all(kept(name)[-2:] == [30, 31] for name in DEVICES[:3])
    assert kept("device3")[-2:] == [25, 30]  # it goes back to the policy that the registry gives it
    assert read_status(pipeline.folder).policies == {"every-nth n=1": 3, "every-nth n=5": 1}


def test_a_policy_that_cannot_be_used_is_told_once_and_its_device_keeps_everything(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    pipeline = Pipeline(tmp_path, Device(id="device0"))
    older = Device(id="device1").model_copy(update={"policy": "of-a-package-that-is-gone"})
    with DeviceRegistry(pipeline.folder.registry) as registry:
        registry.register(older)  # as versions that did not look have done
    for number in range(3):
        pipeline.append(*((name, message(name, T + number, a=1)) for name in DEVICES[:2]))
        pipeline.step()
        pipeline.restart()
    assert pipeline.progress().stored == 6
    told = [record.getMessage() for record in caplog.records if "device1" in record.getMessage()]
    (line,) = told
    assert "its policy of-a-package-that-is-gone cannot be used: 'precompute' has no mechanism" in line
    assert read_status(pipeline.folder).unusable_policies == {"of-a-package-that-is-gone": 1}


def test_a_device_whose_configuration_cannot_be_used_is_told_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    pipeline = Pipeline(tmp_path, Device(id="device0"), Device(id="device1", suite="AES256-GCM", keys="none"))
    for number in range(3):
        pipeline.append(*((name, message(name, T + number, a=1)) for name in DEVICES[:2]))
        pipeline.step()
        pipeline.restart()
    assert pipeline.progress().dead_letters == {"unusable configuration": 3}
    ((_, line),) = read_warnings(pipeline.folder.progress, 0)
    assert line in caplog.text
    assert "its configuration cannot be used: device1: " in line


def test_a_repeated_batch_has_the_keys_that_it_had(tmp_path: Path) -> None:
    device = Device(id="device0", suite="AES256-CBC_HMAC-SHA256", keys="fleet")
    pipeline = Pipeline(tmp_path, device)
    store = KeyStore(pipeline.folder.keys)
    keys = store.generate("fleet", find_suite(device.suite).roles)
    pipeline.append(("device0", Sealer(suite=device.suite, keys=keys).seal(message("device0", T, a=1))))
    pipeline.step("commit")
    fresh = {role: role.encode().ljust(len(key)) for role, key in keys.items()}
    store.rotate("fleet", fresh)
    store.retire("fleet")
    pipeline.restart()
    pipeline.append(("device0", Sealer(suite=device.suite, keys=fresh).seal(message("device0", T + 1, a=1))))
    pipeline.append(("device0", Sealer(suite=device.suite, keys=keys).seal(message("device0", T + 2, a=1))))
    progress = pipeline.run()
    assert [row["time"] - T for row in pipeline.rows()] == [0, 1]
    assert (progress.stored, sum(progress.dead_letters.values())) == (2, 1)
    secrets = [b64encode(key) for key in keys.values()]
    kept = [path.read_bytes() for path in pipeline.folder.path.rglob("*") if path.is_file()]
    assert not any(secret in content for secret in secrets for content in kept)  # nobody needs it any more


def test_what_no_batch_needs_any_more_is_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plans, "_KEPT", 2)
    pipeline = Pipeline(tmp_path, Device(id="device0"))
    for number in range(5):
        with DeviceRegistry(pipeline.folder.registry) as registry:
            registry.update("device0", {"metadata": {"number": str(number)}})
        submit_plan(pipeline.folder.plans, plan("every-nth", "device0", n=number + 1))
        pipeline.append(("device0", message("device0", T + number, a=1)))
        pipeline.step("commit")
        pipeline.restart()
        pipeline.step()
    assert len(list(pipeline.folder.snapshots.iterdir())) == 1
    assert [number for number, _ in plans_between(pipeline.folder.plans, 0, 100)] == [4, 5]
    with DeviceRegistry(pipeline.folder.registry) as registry, pytest.raises(UnknownRegistryVersion):
        registry.snapshot(tmp_path / "other", registry.version - 1)


def test_numbered_messages_are_known_again_however_they_are_sealed(tmp_path: Path) -> None:
    device = Device(id="device0", sequenced=True)
    pipeline = Pipeline(tmp_path, device)
    sealed = [Sealer().seal(message("device0", T + n, a=n), n) for n in range(3)]
    pipeline.append(*(("device0", frame) for frame in (*sealed, sealed[1])))
    pipeline.step()
    pipeline.restart()
    pipeline.append(
        ("device0", sealed[0]),
        ("device0", Sealer().seal(message("device0", T + 9, a=9), 5000)),
    )
    pipeline.append(("device0", sealed[2]))
    progress = pipeline.run()
    assert (progress.stored, progress.duplicates) == (4, 3)
    assert progress.dead_letters == {}


def test_rows_of_the_batched_model_read_like_those_of_the_standard_one(tmp_path: Path) -> None:
    standard, batched = (Pipeline(tmp_path / name, Device(id="device0")) for name in ("standard", "batched"))
    model = Plan(plan="rows", actions=(Action(proxy="row-model", to="batched"),))
    submit_plan(batched.folder.plans, model)
    for pipeline in (standard, batched):
        for number in range(5):
            pipeline.append(
                *(
                    ("device0", message("device0", T + 20_000 * number + i % 2, a=i, b=i / 2, c=str(i)))
                    for i in range(4)
                )
            )
        pipeline.run()
    seen = [
        sorted(
            (row["time"], row["metric"], row["type"], str((row["long"], row["double"], row["label"])))
            for row in pipeline.rows()
        )
        for pipeline in (standard, batched)
    ]
    assert seen[0] == seen[1]
    assert len(seen[0]) == 60


def test_a_message_that_ends_its_own_window_is_counted_once(tmp_path: Path) -> None:
    pipeline = Pipeline(tmp_path, Device(id="device0", policy="mean-per-window"))
    telemetries = [{"metric": "a", "value": 1.0, "type": "Double"}]
    both = {"id": "device0", "timestamp": T, "telemetries": telemetries}
    late = {**both, "telemetries": [*telemetries, {**telemetries[0], "timestamp": T + 600_000}]}
    pipeline.append(("device0", json.dumps(both).encode()), ("device0", json.dumps(late).encode()))
    progress = pipeline.run()
    assert total(progress) == progress.read == 2


class CollectorWatch(Parser):
    """Says in a measurement whether the collector of cycles runs while a message is read."""

    def parse(self, data: bytes, received: int) -> Parsed:
        if data == b"fail":
            raise SystemExit
        return Parsed(None, [self.measurement(received, "collects", "Long", int(gc.isenabled()), None)])


def test_the_collector_rests_while_a_task_runs(tmp_path: Path) -> None:
    watch = f"{__name__}:CollectorWatch"
    pipeline = Pipeline(tmp_path, Device(id="device0", parser=watch))
    pipeline.append(("device0", b"?"))
    pipeline.run()
    assert [row["long"] for row in pipeline.rows()] == [0]
    assert gc.isenabled()
    pipeline.append(("device0", b"fail"))
    with pytest.raises(SystemExit):
        pipeline.run()
    assert gc.isenabled()


def test_a_table_is_made_when_it_gets_its_first_rows(tmp_path: Path) -> None:
    pipeline = Pipeline(tmp_path, Device(id="device0"))
    pipeline.append(("device0", message("device0", T, a=1)))
    pipeline.run()
    assert pipeline.folder.measurements.exists()
    assert not pipeline.folder.dead_letters.exists()
    pipeline.append(("device0", b"{"))
    pipeline.run()
    assert len(pipeline.letters()) == 1


@pytest.mark.parametrize("noted", [True, False])
def test_a_batch_whose_number_the_tables_have_with_other_messages_is_refused(
    tmp_path: Path, noted: bool
) -> None:
    pipeline = Pipeline(tmp_path, Device(id="device0"))
    pipeline.append(("device0", message("device0", T, a=1)))
    pipeline.step()
    if not noted:  # killed between the commits of the tables and of the progress
        with closing(sqlite3.connect(pipeline.folder.progress)) as database, database:
            database.execute("DELETE FROM batches")
    pipeline.append(("device0", message("device0", T + 1, a=2)))
    pipeline.batch = 0  # the checkpoint has forgotten its latest offset
    for _ in range(2):
        with pytest.raises(BatchMismatch, match=r"batch 0: .* has it with another end: expected"):
            pipeline.step()
    pipeline.batch = 1
    pipeline.step()
    assert [row["long"] for row in pipeline.rows()] == [1, 2]
