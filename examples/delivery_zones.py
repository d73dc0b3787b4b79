"""Delivery zones: couriers hear of orders in their own, and the dispatcher of who enters and leaves one."""

from bypass import Action, Area, Event, Plan, PlanarLocation, Region, SimulatedSystem, SubHandle, attr
from bypass.places import EVERYBODY, BorderEvent

BLOCKS, YARD = [(0, 0), (600, 0), (600, 400), (0, 400)], [(200, 100), (300, 100), (250, 250)]
ZONES = {
    "centre": Area.polygon(BLOCKS, holes=[YARD]),
    "harbour": Area.polygon([(600, 0), (1000, 0), (1000, 700), (700, 700)]),
}
NAMES = ("dispatcher", "Ada", "Ben")
WAYS = (  # from where, to where, and how fast (m/s)
    ((500, 900), (500, 900), 0),
    ((100, 200), (900, 200), 10),  # through the yard in the middle of the centre, then to the harbour
    ((800, 600), (800, 50), 5),
)


class Walk:
    """Everybody goes along a straight way and stops at its end."""

    def position(self, client: int, at: float) -> tuple[float, float]:
        (x0, y0), (x1, y1), speed = WAYS[client]
        length = ((x1 - x0) ** 2 + (y1 - y0) ** 2) ** 0.5
        share = min(1.0, speed * at / length) if length else 0.0
        return x0 + share * (x1 - x0), y0 + share * (y1 - y0)

    def velocity(self, client: int, at: float) -> tuple[float, float]:
        (x, y), (then_x, then_y) = self.position(client, at), self.position(client, at + 0.1)
        return (then_x - x) * 10, (then_y - y) * 10


def passed(border: BorderEvent) -> None:
    who, where = NAMES[border.client], f"({border.x:.0f}, {border.y:.0f})"
    if border.why == "initial":
        print(f"         {who} is in the {border.area}")
    else:
        verb = {"enter": "enters", "exit": "leaves"}[border.kind]
        print(f"{border.at:5.1f} s  {who} {verb} the {border.area} at {where}")


def offered(event: Event, handle: SubHandle) -> None:
    print(f"         offered to {COURIERS[handle]}: {event['what']} for ({event['x']}, {event['y']})")


system = SimulatedSystem(len(NAMES), Walk(), Region((0, 0, 1000, 1000)))
dispatcher, ada, ben = system.clients
centre = ada.subscribe(attr("kind") == "order", offered, area=ZONES["centre"])
harbour = ben.subscribe(attr("kind") == "order", offered, area=ZONES["harbour"])
COURIERS = {centre: "Ada", harbour: "Ben"}
system.run_until(1)
dispatcher.watch(ZONES, passed, whom=EVERYBODY, interval=1, initial=True)

ORDERS = {10: ("soup", 550, 390), 30: ("books", 250, 150), 60: ("tea", 650, 100), 80: ("nails", 250, 150)}
for second in range(5, 100, 5):
    system.run_until(second)
    if second in ORDERS:
        what, x, y = ORDERS[second]
        print(f"{second:5.1f} s  somebody at ({x}, {y}) orders {what}")
        dispatcher.publish(Event(kind="order", what=what, x=x, y=y), PlanarLocation(x, y))
    if second == 40:
        system.broker.execute(Plan(plan="cells", actions=(Action(proxy="filter", to="egrid"),)))
    if second == 70:
        print(f"{second:5.1f} s  the yard belongs to the centre from now on")
        ada.change(centre, area=Area.polygon(BLOCKS))
