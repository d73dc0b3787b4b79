"""Makes the store of a broker with sessions, kept subscriptions, waiting events and a transition.

Run with the code of the version whose store it is to be: `PYTHONPATH=CHECKOUT python make_store.py OUT.db`.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from shutil import copyfile

from bypass.protocol.session import Bye
from bypass.transitions import Action, Plan
from tests.live.brokers import config, in_loop, peers, running, until

WAITING = 5
"""Events that wait for alice and for bob, who have got one before."""

MISSED = 2
"""Events in between that were too many."""


def main(out: Path) -> None:
    with tempfile.TemporaryDirectory() as folder, peers() as make:
        settings = config(Path(folder), limits={"pending_events": WAITING})
        with running(settings) as service:
            endpoint = service.server.endpoints[0]
            alice, bob = make(endpoint, "alice", life=11), make(endpoint, "bob", life=12)
            carol = make(endpoint, "carol", life=13)
            alice.subscribe(1)
            alice.subscribe(2, radius=None)
            bob.subscribe(1)
            carol.publish()
            assert alice.event() == bob.event() != 0
            until(lambda: service.server.deliveries.waiting == 0)
            for peer in (alice, bob):
                peer.send(Bye())
                peer.get(Bye)
            for _ in range(MISSED + WAITING):
                carol.publish()
            carol.send(Bye())
            carol.get(Bye)
            plan = Plan(plan="to-ste", actions=(Action(proxy="filter", to="ste"),))
            in_loop(service, lambda: service.server.broker.execute(plan))
            until(lambda: in_loop(service, lambda: service.server.store.records(1)))
        copyfile(settings.store, out)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
