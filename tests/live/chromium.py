"""A real browser for tests: headless Chromium, driven over its DevTools pipe."""

from __future__ import annotations

import base64
import fcntl
import json
import os
import select
import shutil
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

CHROMIUM = shutil.which("chromium")
OPTIONS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
    "--remote-debugging-pipe",
)
PATIENCE = 60.0  # s; a browser takes its time on a busy machine
READ, WRITE = 3, 4  # where Chromium expects its pipe


class Browser:
    """One tab. `complaints` are what the page has thrown or written to the console as errors."""

    def __init__(self, commands: int, answers: int) -> None:
        self.complaints: list[str] = []
        self._commands = commands
        self._answers = answers
        self._rest = b""
        self._host = ""
        self._earlier: set[str] = set()  # hosts of pages before this one, which may be gone
        self._loaded: set[str] = set()
        self._count = 0
        self._session: str | None = None
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log"):
            self.call(f"{domain}.enable")
        self.call("Page.setLifecycleEventsEnabled", enabled=True)

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """One DevTools command; gives its result."""
        self._count += 1
        command = {"id": self._count, "method": method, "params": parameters}
        if self._session is not None:
            command["sessionId"] = self._session
        os.write(self._commands, json.dumps(command).encode() + b"\0")
        deadline = time.monotonic() + PATIENCE
        while True:
            message = self._read(deadline)
            if message.get("id") == self._count:
                assert "error" not in message, f"{method}: {message['error']}"
                result: dict[str, Any] = message["result"]
                return result
            self._note(message)

    def screen(self, width: int, height: int, *, dark: bool = False, still: bool = False) -> None:
        """From now on the page is seen like this."""
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=False,
        )
        features = [
            {"name": "prefers-color-scheme", "value": "dark" if dark else "light"},
            {"name": "prefers-reduced-motion", "value": "reduce" if still else "no-preference"},
        ]
        self.call("Emulation.setEmulatedMedia", features=features)

    def open(self, url: str) -> None:
        """Go there; returns when the page has loaded. Raises AssertionError if nobody answers there."""
        self._earlier |= {self._host} - {""}
        self._host = urlsplit(url).netloc
        self._earlier -= {self._host}
        answer = self.call("Page.navigate", url=url)
        assert "errorText" not in answer, f"{url}: {answer['errorText']}"
        deadline = time.monotonic() + PATIENCE
        while answer["loaderId"] not in self._loaded:
            self._note(self._read(deadline))

    def evaluate(self, expression: str) -> Any:
        """The value of a JavaScript expression in the page; a promise is waited for."""
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in answer, f"{expression}: {answer['exceptionDetails']}"
        return answer["result"].get("value")

    def text(self, selector: str) -> str:
        """The text of the first element that fits, as a person sees it, on one line; "" if none is seen."""
        return " ".join(self.evaluate(_text(selector)).split())

    def shows(self, selector: str, *wanted: str) -> None:
        """Wait until the element's text has all of these in it."""
        self.until(_text(selector), lambda text: all(part in " ".join(text.split()) for part in wanted))

    def until(self, expression: str, holds: Callable[[Any], bool] = bool) -> Any:
        """Wait until an expression's value is as wanted; gives it."""
        deadline = time.monotonic() + PATIENCE
        while True:
            value = self.evaluate(expression)
            if holds(value):
                return value
            assert time.monotonic() < deadline, f"{expression} is still {value!r}; {self.complaints}"
            self.evaluate("new Promise((resolve) => setTimeout(resolve, 50))")

    def screenshot(self, path: Path, *, whole: bool = True) -> None:
        data = self.call("Page.captureScreenshot", captureBeyondViewport=whole)["data"]
        path.write_bytes(base64.b64decode(data))

    def _read(self, deadline: float) -> dict[str, Any]:
        while b"\0" not in self._rest:
            ready, _, _ = select.select([self._answers], [], [], max(0.0, deadline - time.monotonic()))
            assert ready, "Chromium does not answer"
            data = os.read(self._answers, 1 << 16)
            assert data, "Chromium has ended"
            self._rest += data
        line, _, self._rest = self._rest.partition(b"\0")
        message: dict[str, Any] = json.loads(line)
        return message

    def _note(self, message: dict[str, Any]) -> None:
        parameters = message.get("params", {})
        if message["method"] == "Page.lifecycleEvent" and parameters["name"] == "load":
            self._loaded.add(parameters["loaderId"])
        elif message["method"] == "Runtime.exceptionThrown":
            self.complaints.append(json.dumps(parameters["exceptionDetails"]))
        elif message["method"] == "Log.entryAdded" and parameters["entry"]["level"] == "error":
            self._complain(parameters["entry"])

    def _complain(self, entry: dict[str, Any]) -> None:
        if urlsplit(entry.get("url", "")).netloc not in self._earlier:
            self.complaints.append(json.dumps(entry))


def _text(selector: str) -> str:
    seen = f"document.querySelector({json.dumps(selector)})"
    return f"({seen}?.checkVisibility() ? {seen}.innerText : '')"


@contextmanager
def chromium(profile: Path) -> Iterator[Browser]:
    """A fresh browser with an empty profile, and its end."""
    assert CHROMIUM is not None
    from_us, to_it = os.pipe()
    from_it, to_us = os.pipe()
    # Out of the way of the numbers that they get in the browser.
    theirs = [fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 10) for fd in (from_us, to_us)]
    os.close(from_us)
    os.close(to_us)
    process = os.posix_spawn(
        CHROMIUM,
        [CHROMIUM, *OPTIONS, f"--user-data-dir={profile}"],
        os.environ | {"HOME": str(profile)},
        file_actions=[
            (os.POSIX_SPAWN_DUP2, theirs[0], READ),
            (os.POSIX_SPAWN_DUP2, theirs[1], WRITE),
            (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0),
            (os.POSIX_SPAWN_OPEN, 2, os.devnull, os.O_WRONLY, 0),
        ],
        setsid=True,
    )
    for fd in theirs:
        os.close(fd)
    try:
        yield Browser(to_it, from_it)
    finally:
        os.close(to_it)
        os.close(from_it)
        with suppress(ProcessLookupError):
            os.killpg(process, signal.SIGKILL)
        os.waitpid(process, 0)
