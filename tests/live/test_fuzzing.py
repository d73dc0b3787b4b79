"""Everything that listens gets damaged input for 2 s: it is refused, and that is all. `make soak` goes on."""

import pytest

from tests.live.fuzzing import INTERFACES

pytestmark = pytest.mark.slow

SECONDS = 2.0


@pytest.mark.parametrize("interface", INTERFACES)
def test_damaged_input_is_refused_and_all_goes_on(interface: str) -> None:
    assert INTERFACES[interface](1, SECONDS) > 100
