"""A bus and its corridor: riders hear of trouble along the route, and of seats near the bus where it is."""

import asyncio

from bypass import Area, Event, PlanarLocation, attr, connect
from bypass.live.client.connection import Connection

BROKER = "ipc://buses.sock"
ROUTE = [(0, 0), (800, 0), (800, 600)]
CORRIDOR = Area.corridor(ROUTE, width=100)


async def main() -> None:
    stop, on_the_road = (790.0, 560.0), PlanarLocation(400, 30)
    async with (
        connect(BROKER, open=True, name="rider", location=lambda: stop) as rider,
        connect(BROKER, open=True, name="bus-7", interval=0.05) as bus,
    ):
        bus.moved((50.0, 0.0))
        bus.allow_following(everybody=True)
        trouble = await rider.subscribe(attr("kind") == "trouble", area=CORRIDOR)
        seats = await rider.subscribe(attr("kind") == "seat", radius=30, around="bus-7")

        await bus.publish(Event(kind="trouble", what="a fair"), PlanarLocation(400, 300))  # not on the route
        await bus.publish(Event(kind="trouble", what="a demonstration"), on_the_road)
        event = await anext(trouble)
        print(f"along the route: {event['what']} at {event.location}")

        for x in (50.0, 790.0):
            await drive(bus, x)
            await bus.publish(Event(kind="seat", free=0), PlanarLocation(420, 0))  # another bus, far away
            await bus.publish_local(Event(kind="seat", free=3))
            event = await anext(seats)
            print(f"seats near bus 7: {event['free']} at {event.location}")

        async with rider.watch({"stop": Area.circle(stop, 60)}, whom=["bus-7"], interval=0.05) as borders:
            await drive(bus, 790.0, 580.0)
            border = await anext(borders)
            print(f"{border.name}: {border.kind} {border.area}")


async def drive(bus: Connection, x: float, y: float = 0.0) -> None:
    bus.moved((x, y))
    await asyncio.sleep(0.2)


asyncio.run(main())
