"""Everything that listens gets damaged input for 5 s, side by side: it is refused, and that is all.

`make soak` goes on.
"""

import subprocess
import sys

import pytest

from tests.live.fuzzing import INTERFACES

pytestmark = pytest.mark.slow

SECONDS = 5.0
LIMIT_S = 240.0


def test_damaged_input_is_refused_and_all_goes_on() -> None:
    """20 s of it in all. Each has a process of its own, so that none slows down what the others do."""
    source = "import sys; from tests.live.fuzzing import INTERFACES; print(INTERFACES[sys.argv[1]](1, {}))"
    command = [sys.executable, "-c", source.format(SECONDS)]
    running = {
        name: subprocess.Popen([*command, name], stdout=subprocess.PIPE, text=True) for name in INTERFACES
    }
    try:
        for name, process in running.items():
            said, _ = process.communicate(timeout=LIMIT_S)
            assert process.returncode == 0, name
            assert int(said.split()[-1]) > 100, name
    finally:
        for process in running.values():
            process.kill()
            process.wait()
