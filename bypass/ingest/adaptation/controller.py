"""The controller of an adaptive policy: it looks at the load and submits the plans of the ladder.

A plan is carried out with a batch and is part of its offset, as plans of people are: a batch that is repeated
gives the same rows.
"""

from __future__ import annotations

import logging
import threading
import time

from bypass.ingest.adaptation.adaptive_policy import FACTS, LOAD, AdaptivePolicy
from bypass.ingest.adaptation.load import SampledLoad
from bypass.ingest.devices.own_mechanisms import bring_mechanisms
from bypass.ingest.folder import IngestFolder
from bypass.ingest.stream.plans import submit_plan
from bypass.support.durable_files import replace_file
from bypass.transitions import Firing, Plan, Record, RuleEngine

log = logging.getLogger(__name__)

LOOK_S = 5.0


def begin_adaptation(folder: IngestFolder, policy: AdaptivePolicy) -> None:
    """Have an installation follow a policy, from the first rung of its ladder on."""
    folder.path.mkdir(parents=True, exist_ok=True)
    replace_file(folder.adaptation, policy.to_yaml())
    submit_plan(folder.plans, policy.plan(0, "the ladder begins"))


def read_policy(folder: IngestFolder) -> AdaptivePolicy | None:
    """Read the policy that an installation follows; None if it follows none. Raises InvalidAdaptivePolicy."""
    bring_mechanisms(folder)
    try:
        return AdaptivePolicy.from_yaml(folder.adaptation.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None


def adapt(folder: IngestFolder) -> list[Firing]:
    """Look at the load, and submit a plan if a rule says so; gives what was decided.

    Raises InvalidAdaptivePolicy.
    """
    policy = read_policy(folder)
    if policy is None:
        return []
    load = SampledLoad(policy, folder.plans, folder.progress)
    if load.rung is None:
        submit_plan(folder.plans, policy.plan(0, "the ladder begins"))
        return []
    facts = load.facts()
    if facts is None:
        return []

    def execute(plan: Plan) -> list[Record]:
        submit_plan(folder.plans, plan)
        return []

    engine = RuleEngine(policy.rules(), execute, time.time, {LOAD: FACTS})
    return engine.observe(LOAD, "table", facts)


def run_controller(folder: IngestFolder, stop: threading.Event) -> None:
    """Adapt the policies of an installation until `stop` is set."""
    while not stop.wait(LOOK_S):
        try:
            for fired in adapt(folder):
                log.info("adaptive policy: %s: %s", fired.rule, fired.error or fired.why)
        except Exception:  # it is tried again, and the stream does not need it
            log.exception("the adaptive policy failed; it is tried again in %d s", LOOK_S)
