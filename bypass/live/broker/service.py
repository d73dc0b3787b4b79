"""A live broker with all that belongs to it: control, rules, status, metrics and the page to watch."""

from __future__ import annotations

from bypass.core.adaptation import Adaptation
from bypass.core.rule_sources import combined, read_rules
from bypass.live.broker.config import BrokerConfig
from bypass.live.broker.operations.control import OperatorControl
from bypass.live.broker.operations.plan_log import PlanLog
from bypass.live.broker.operations.status import Status
from bypass.live.broker.operations.web import Web
from bypass.live.broker.server import BrokerServer


class Service:
    """Made from a configuration; `run` serves until the server is stopped."""

    def __init__(self, config: BrokerConfig) -> None:
        """Raises what is wrong with the configuration, the keys, the store or an address."""
        rules = combined(map(read_rules, config.rule_sources)) if config.rule_sources else None
        self.server = BrokerServer(config)
        self.plans = PlanLog(
            self.server.broker.rollout.tracker, self.server.deliveries, self.server.loop.after
        )
        self.status = Status(self.server, self.plans)
        self.control = OperatorControl(self.server, self.plans, self.status)
        self.adaptation = None
        self.web: Web | None = None
        try:
            if rules is not None:
                book, more = rules
                self.adaptation = Adaptation(self.server.broker, book, self.server.broker.places.all)
                self.adaptation.rules.add(*more)
            if config.web_address is not None:
                self.web = Web(config.web_address, lambda: self.status.snapshot, config.dashboard)
                self.web.start()
        except BaseException:
            self.server.close()
            raise

    def run(self) -> None:
        """Serve until the server is stopped, from any thread or by a signal."""
        try:
            self.server.run()
        finally:
            if self.web is not None:
                self.web.close()
