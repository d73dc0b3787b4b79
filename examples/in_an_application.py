"""An application subscribes once and does not notice that the broker exchanges its filter scheme."""

from bypass import Action, Event, Plan, Region, SimulatedSystem, SubHandle, attr


class Walk:
    """Client 0 stands at (100, 100); client 1 walks past it at 2 m/s."""

    def position(self, client: int, at: float) -> tuple[float, float]:
        return (100.0, 100.0) if client == 0 else (2.0 * at, 100.0)

    def velocity(self, client: int, at: float) -> tuple[float, float]:
        return (0.0, 0.0) if client == 0 else (2.0, 0.0)


def appeared(event: Event, handle: SubHandle) -> None:
    print(f"  a {event['kind']} of level {event['level']} within {handle.radius} m")


system = SimulatedSystem(2, Walk(), Region((0, 0, 500, 500)))
stroller, hunter = system.clients
stroller.subscribe((attr("kind") == "monster") & (attr("level") >= 12), appeared, radius=50)
for second in range(0, 100, 10):
    system.run_until(second)
    print(f"{second} s")
    hunter.publish_local(Event(kind="monster", level=second))
    if second == 50:
        plan = Plan(plan="look-ahead", actions=(Action(proxy="filter", to="ste", set={"alpha": 2.0}),))
        [record] = system.broker.execute(plan)
        print(f"  {record.source} -> {record.target}: {record.outcome}")
