"""The memory of a part: files have what has changed, are few, and give what a worker would know."""

from pathlib import Path
from time import process_time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bypass.ingest.devices.device import Device
from bypass.ingest.stream import memory
from bypass.ingest.stream.identities import IdentityWindow
from bypass.ingest.stream.memory import MemoryLost, PartMemory, forget_steps, part_memory
from bypass.ingest.stream.plans import submit_plan
from bypass.transitions import Action, Plan
from tests.ingest.pipeline import Pipeline, message

T = 1_763_459_000_000


def files(folder: Path) -> list[Path]:
    return sorted(folder.glob("0/*"))


def loaded(folder: Path, step: int) -> PartMemory:
    return memory._load(folder / "0", step)


@settings(max_examples=30)
@given(
    st.lists(
        st.tuples(st.lists(st.integers(1, 200), unique=True, max_size=8), st.booleans(), st.booleans()),
        min_size=1,
        max_size=40,
    )
)
def test_a_memory_that_is_read_again_knows_what_the_first_one_knew(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[list[int], bool, bool]]
) -> None:
    folder = tmp_path_factory.mktemp("state")
    taken: dict[str, int] = {}
    seen: set[int] = set()
    for step, (numbers, restart, forget) in enumerate(steps):
        if restart:
            memory._cache.clear()
        with part_memory(folder, 0, step, step + 1) as known:
            fresh = [number for number in numbers if number not in seen]
            assert known.identities.seen(np.array(numbers, np.int64)).tolist() == [n in seen for n in numbers]
            known.remember(step + 1, np.array(fresh, np.int64))
            for number in numbers[:2]:
                assert (known.sequences.take(f"d{number}", step) == "new") == (
                    taken.get(f"d{number}") != step
                )
                taken[f"d{number}"] = step
        seen.update(numbers)
        if forget:
            forget_steps(folder, step)
    memory._cache.clear()
    again = loaded(folder, len(steps))
    assert again.identities.seen(np.arange(1, 201)).tolist() == [n in seen for n in range(1, 201)]
    for device, latest in taken.items():
        assert again.sequences.take(device, latest) == "seen"


def test_files_are_few_and_each_change_is_written_few_times(tmp_path: Path) -> None:
    steps, written = 300, 0
    for step in range(steps):
        with part_memory(tmp_path, 0, step, step + 1) as known:
            known.remember(step + 1, np.arange(10 * step + 1, 10 * step + 11))
        written += next(tmp_path.glob(f"0/{step + 1}-*")).stat().st_size
        forget_steps(tmp_path, step)
    forget_steps(tmp_path, steps)
    assert len(files(tmp_path)) <= 8
    assert written < 10 * steps * 16 * 10  # sixteen bytes each, and not once for every step that follows
    assert len(loaded(tmp_path, steps).identities) == 10 * steps


def test_a_file_that_is_gone_or_damaged_is_named(tmp_path: Path) -> None:
    with part_memory(tmp_path, 0, 0, 1) as known:
        known.remember(1, np.array([1, 2], np.int64))
    (path,) = files(tmp_path)
    path.write_bytes(b"?")
    memory._cache.clear()
    with (
        pytest.raises(MemoryLost, match=r"0/1-0: .* expected what the stream remembers"),
        part_memory(tmp_path, 0, 1, 2),
    ):
        pass
    path.unlink()
    with (
        pytest.raises(MemoryLost, match="no file of step 1: expected what the stream remembers"),
        part_memory(tmp_path, 0, 1, 2),
    ):
        pass


def test_identities_of_many_steps_are_read_in_proportion() -> None:
    def reading(steps: int) -> float:
        identities = np.arange(steps, dtype=np.int64)
        spent = []
        for _ in range(3):
            window, begun = IdentityWindow(), process_time()
            window.load(identities, identities)
            spent.append(process_time() - begun)
        return min(spent)

    # Of 16 times as many steps: it would be 256 times if each step looked at all identities.
    assert reading(640_000) < 64 * reading(40_000)


def test_a_step_writes_what_it_has_done_however_much_is_held(tmp_path: Path) -> None:
    pipeline = Pipeline(tmp_path, *(Device(id=f"device{n}") for n in range(10)), tasks=1, most=100_000)
    hold = Action(proxy="precompute", to="batch", set={"hold": 3600})
    submit_plan(pipeline.folder.plans, Plan(plan="hold", actions=(hold,)))
    pipeline.append(*((f"device{n % 10}", message(f"device{n % 10}", T + n, a=n)) for n in range(5000)))
    pipeline.step()
    state = pipeline.folder.state
    held = sum(path.stat().st_size for path in state.rglob("*-*"))
    written = 0
    for step in range(2, 12):
        pipeline.append(*((f"device{n}", message(f"device{n}", T + 9000 + step, a=n)) for n in range(10)))
        pipeline.step()
        pipeline.restart()  # what is held is read again, and not written
        written += sum(path.stat().st_size for path in state.rglob(f"{step}-*"))
    assert pipeline.progress().held == 5100
    assert written < held / 4
    submit_plan(
        pipeline.folder.plans, Plan(plan="keep", actions=(Action(proxy="precompute", to="keep-everything"),))
    )
    progress = pipeline.run()
    assert (progress.held, progress.stored) == (0, 5100)


def test_parts_that_other_workers_have_had_since_are_not_kept(tmp_path: Path) -> None:
    def take(part: int, start: int) -> None:
        with part_memory(tmp_path, part, start, start + 1) as kept:
            kept.remember(start + 1, np.array([], np.int64))

    for part in (0, 1):
        take(part, 0)
    take(0, 1)
    assert {key[1] for key in memory._cache if key[0] == tmp_path} == {0, 1}  # a later task may have part 1
    take(0, 2)
    assert {key[1] for key in memory._cache if key[0] == tmp_path} == {0}
