"""`bypass warm-up` leaves nothing to compile for the broker and the experiment that come after it."""

import subprocess
import sys

import pytest

from tests.command import bypass

pytestmark = pytest.mark.slow

MISSES = """
import gc

from numba.core.dispatcher import Dispatcher

known = [each for each in gc.get_objects() if isinstance(each, Dispatcher)]
hits = sum(sum(each.stats.cache_hits.values()) for each in known)
misses = sorted(each.__name__ for each in known if each.stats.cache_misses)
print(hits > 20, misses)
"""
BROKER = "from bypass.live.broker.warmup import warm_up\nwarm_up()\n"
EXPERIMENT = """
from bypass.scenarios.runs.experiment import Experiment
from bypass.scenarios.runs.loader import load

Experiment(load("total-transitions", duration=8.0, clients=12), seed=2).run()
"""


def test_brokers_and_experiments_find_what_it_has_compiled(capsys: pytest.CaptureFixture[str]) -> None:
    assert bypass("warm-up") == 0
    out, _ = capsys.readouterr()
    assert out.startswith("kernels for brokers and experiments are there after ")
    for program in (BROKER, EXPERIMENT):
        done = subprocess.run(
            (sys.executable, "-c", program + MISSES), capture_output=True, text=True, check=True
        )
        assert done.stdout == "True []\n"
