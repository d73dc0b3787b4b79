"""The built-in modes, transports and gateway logics pass the suites that others' are tested with, and the
examples do; wrong ones are caught."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

import pytest

from bypass import Publish
from bypass.mechanisms.gateways.logic import RelayLogic
from bypass.mechanisms.modes import LOCAL, HybridMode
from bypass.mechanisms.transports import RadioTransport
from bypass.protocol.messages import Kind
from bypass.testing.suites.gateway_logics import GatewayLogicSuite
from bypass.testing.suites.gateway_selections import GatewaySelectionSuite
from bypass.testing.suites.modes import ModeSuite
from bypass.testing.suites.suite import MechanismSuite
from bypass.testing.suites.transports import TransportSuite
from tests.testing.catching import failures

EXAMPLES = Path(__file__).parents[2] / "examples"


class BuiltInMode(ModeSuite):
    examples = 6


class TestCloud(BuiltInMode):
    mechanism = "cloud"


class TestAdHoc(BuiltInMode):
    mechanism = "ad-hoc"


class TestOffload(BuiltInMode):
    mechanism = "offload"


class TestAugment(BuiltInMode):
    mechanism = "augment"


class TestGateway(BuiltInMode):
    mechanism = "gateway"


class TestWifi(TransportSuite):
    mechanism = "wifi"
    examples = 6


class TestBluetooth(TransportSuite):
    mechanism = "bluetooth"
    examples = 6


class TestRelay(GatewayLogicSuite):
    mechanism = "relay"
    examples = 6


class TestLora(TransportSuite):
    mechanism = f"{EXAMPLES}/lora.py:Lora"
    examples = 6


class TestWhisper(BuiltInMode):
    mechanism = f"{EXAMPLES}/whisper.py:Whisper"


class TestTwice(GatewayLogicSuite):
    mechanism = f"{EXAMPLES}/twice.py:Twice"
    examples = 6


class TestLowest(GatewaySelectionSuite):
    mechanism = f"{EXAMPLES}/lowest.py:Lowest"
    examples = 6


class ForgetsPlain(HybridMode):
    """Sends events without a place nowhere."""

    by_radio, by_broker = LOCAL, frozenset({Kind.PLACED})


class StaysOn(RadioTransport):
    """Does not turn its radio off."""

    radio = "wifi"

    def stop(self) -> None:
        pass


class ServesOne(RelayLogic):
    """Passes events on to one of those whom it serves."""

    def relay(self, publication: Publish, targets: Collection[int]) -> None:
        self.host.link.disseminate_locally(publication, [*targets][:1])


@pytest.mark.parametrize(
    ("suite", "mechanism", "test"),
    [
        (ModeSuite, ForgetsPlain, "test_everybody_is_told_once"),
        (TransportSuite, StaysOn, "test_who_has_another_one_hears_nothing"),
        (GatewayLogicSuite, ServesOne, "test_everybody_hears_once"),
    ],
)
def test_a_wrong_one_is_caught(suite: type[MechanismSuite], mechanism: type, test: str) -> None:
    assert "heard by" in failures(type("Wrong", (suite,), {"mechanism": mechanism}))[test]
