"""Snapshots of brokers that are not there, for tests of what shows them."""

from __future__ import annotations

import random
from typing import Any

SCHEMES: dict[str, dict[str, Any]] = {
    "radial": {},
    "ste": {"alpha": 2.0},
    "egrid": {"grid": 10},
    "attract": {},
}
PLACES = (
    {"name": "Herrngarten", "x": 620.0, "y": 980.0, "radius": 130.0},
    {"name": "Luisenplatz", "x": 560.0, "y": 560.0, "radius": 110.0},
    {"name": "Hauptbahnhof", "x": 180.0, "y": 430.0, "radius": 140.0},
    {"name": "Woog", "x": 1180.0, "y": 420.0, "radius": 150.0},
)
AREA = (0.0, 0.0, 1400.0, 1200.0)
START = 1_790_000_000.0


def quiet(at: float = START, **changes: Any) -> dict[str, Any]:
    """The snapshot of a broker to which nobody has come; `changes` are keys of it with other values."""
    snapshot: dict[str, Any] = {
        "at": at,
        "started": START - 4000,
        "version": "0.1.0",
        "epoch": 1,
        "listen": ["tcp://127.0.0.1:7700"],
        "open": False,
        "region": {"area": [0.0, 0.0, 1000.0, 1000.0], "places": [], "origin": None},
        "schemes": [{"name": "radial", "set": {}, "clients": 0}],
        "clients": {"connected": 0, "sessions": 0},
        "subscriptions": 0,
        "rates": {"publications": 0.0, "deliveries": 0.0, "bytes_in": 0.0, "bytes_out": 0.0},
        "counters": {"publications": 0, "deliveries": 0, "acknowledged": 0, "waiting": 0, "missed": 0},
        "missed_by": {"too old": 0},
        "objects": {
            "path": "bypass.db-objects",
            "objects": 3,
            "bytes": 700,
            "queries": 1,
            "held_back": 0,
            "uploads": 0,
            "commits": 2,
            "commit_ms": 1.5,
            "failing": None,
        },
        "store": {"path": "bypass.db", "bytes": 0, "commits": 0, "commit_ms": 0.0, "failing": None},
        "transitions": [],
        "positions": [],
    }
    return snapshot | changes


def transition(number: int, at: float, **changes: Any) -> dict[str, Any]:
    """A transition that all of 100 clients have made; `changes` are keys of it with other values."""
    done: dict[str, Any] = {
        "id": f"t{number}",
        "plan": "enter-attraction-point",
        "why": "a client came within reach of Herrngarten",
        "who": "rules",
        "at": at,
        "actions": [
            {"proxy": "filter", "from": "radial", "to": "ste", "set": {"alpha": 2.0}, "outcome": "done"}
        ],
        "epoch": number,
        "clients": 100,
        "done": 100,
        "failed": 0,
        "obsolete": 0,
        "pending": 0,
        "took_ms": 84.2,
        "isolated": [],
        "acknowledged": 1.0,
    }
    return done | changes


class Town:
    """A lively broker: people walk between the places, and every few seconds some change their scheme."""

    def __init__(self, people: int = 420, seed: int = 1) -> None:
        self._random = random.Random(seed)
        self._at = START
        self._people = [self._person(number) for number in range(people)]
        self._transitions: list[dict[str, Any]] = []
        self._published = 1_203_400
        self._load = 240.0
        for number, seconds in ((3, 340), (4, 95), (5, 31)):
            self._begin(number, self._at - seconds, 60)
            self._settle()

    def second(self) -> dict[str, Any]:
        """One second later."""
        self._at += 1.0
        for person in self._people:
            self._walk(person)
        second = round(self._at - START)
        if second % 8 == 3:
            self._begin(6 + second // 8, self._at, 70)
        elif second % 8 == 6:
            self._settle()
        self._load = max(60.0, self._load + self._random.gauss(0, 18))
        self._published += round(self._load)
        return self._snapshot()

    def _person(self, number: int) -> dict[str, Any]:
        goal = self._goal()
        x, y = self._goal() if number % 3 else goal
        scheme = "attract" if number % 9 == 0 else "egrid" if number % 4 == 0 else "radial"
        name = f"{self._random.choice(('phone', 'tablet', 'bike', 'watch'))}-{number:03d}"
        pace = self._random.uniform(0.7, 1.9) * (4 if name.startswith("bike") else 1)
        return {
            "number": number,
            "name": name,
            "x": x,
            "y": y,
            "goal": goal,
            "pace": pace,
            "scheme": scheme,
            "connected": number % 29 != 0,
        }

    def _goal(self) -> tuple[float, float]:
        if self._random.random() < 0.7:
            place: Any = self._random.choice(PLACES)
            spread = place["radius"] / 2
            return self._random.gauss(place["x"], spread), self._random.gauss(place["y"], spread)
        return self._random.uniform(30, AREA[2] - 30), self._random.uniform(30, AREA[3] - 30)

    def _walk(self, person: dict[str, Any]) -> None:
        dx, dy = person["goal"][0] - person["x"], person["goal"][1] - person["y"]
        left = max(1e-6, (dx * dx + dy * dy) ** 0.5)
        if left < person["pace"]:
            person["goal"] = self._goal()
        elif person["connected"]:
            person["x"] += dx / left * person["pace"]
            person["y"] += dy / left * person["pace"]

    def _begin(self, number: int, at: float, members: int) -> None:
        present = [person for person in self._people if person["connected"]]
        before = max(SCHEMES, key=lambda scheme: sum(p["scheme"] == scheme for p in present))
        after = self._random.choice([scheme for scheme in SCHEMES if scheme != before])
        chosen = [person for person in present if person["scheme"] == before][:members]
        for person in chosen:
            person["scheme"] = after
        action = {"proxy": "filter", "from": before, "to": after, "set": SCHEMES[after], "outcome": "done"}
        done = round(0.55 * len(chosen))
        begun = transition(
            number,
            at,
            actions=[action],
            clients=len(chosen),
            done=done,
            pending=len(chosen) - done,
            took_ms=None,
            acknowledged=None,
        )
        begun["chosen"] = [person["name"] for person in chosen]
        self._transitions.insert(0, begun)

    def _settle(self) -> None:
        newest = self._transitions[0]
        lost = newest["chosen"][:4] if int(newest["epoch"]) % 2 else []
        newest |= {
            "done": newest["clients"] - len(lost),
            "failed": len(lost),
            "pending": 0,
            "took_ms": 61.0 + 37 * len(lost),
            "isolated": lost,
            "acknowledged": 0.9931 if lost else 1.0,
        }

    def _snapshot(self) -> dict[str, Any]:
        members = {name: sum(p["scheme"] == name for p in self._people) for name in SCHEMES}
        connected = sum(p["connected"] for p in self._people)
        return quiet(
            self._at,
            epoch=self._transitions[0]["epoch"],
            region={"area": list(AREA), "places": list(PLACES), "origin": [49.87, 8.65]},
            schemes=[{"name": n, "set": SCHEMES[n], "clients": c} for n, c in members.items() if c],
            clients={"connected": connected, "sessions": len(self._people) + 9},
            subscriptions=3 * len(self._people) + 17,
            rates={
                "publications": self._load,
                "deliveries": self._load * 11.7,
                "bytes_in": self._load * 190,
                "bytes_out": self._load * 11.7 * 140,
            },
            counters={
                "publications": self._published,
                "deliveries": self._published * 12,
                "acknowledged": self._published * 12 - 214,
                "waiting": 214,
                "missed": 3,
                "malformed": 0,
                "refused": 2,
                "unauthorised": 1,
                "oversized": 0,
                "limited": 0,
                "stalled": 0,
            },
            store={
                "path": "bypass.db",
                "bytes": 48_300_000,
                "commits": 71_003,
                "commit_ms": 4.1 + self._random.random() / 3,
                "failing": None,
            },
            transitions=[{k: v for k, v in t.items() if k != "chosen"} for t in self._transitions[:20]],
            positions=[
                [p["number"], p["name"], round(p["x"], 1), round(p["y"], 1), p["scheme"], p["connected"]]
                for p in self._people
            ],
        )
