# SPDX-License-Identifier: GPL-2.0-only
"""Drives a headless Chromium by the DevTools protocol, over two pipes."""

import base64
import json
import os
import shutil
import subprocess
import tempfile
from typing import Any, Sequence

CHROMIUM = shutil.which("chromium")


class Browser:
    """One page of a browser. @errors: messages of its console and uncaught exceptions."""

    def __init__(self, width: int = 1280, height: int = 900, dark: bool = False) -> None:
        self.errors: list[str] = []
        self.loaded, self.number = False, 0
        self.rest = b""
        self.profile = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        requests, self.requests = os.pipe()
        self.answers, answers = os.pipe()
        # Chromium reads descriptor 3 and writes descriptor 4.
        self.process = subprocess.Popen(
            ["sh", "-c", 'exec "$@" 3<&%d 4>&%d' % (requests, answers), "sh", CHROMIUM or "",
             "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
             "--remote-debugging-pipe",
             "--user-data-dir=" + self.profile.name], pass_fds=(requests, answers),
            env={**os.environ, "TMPDIR": self.profile.name},
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(requests)
        os.close(answers)
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)[
            "sessionId"]
        for domain in "Page", "Runtime", "Log":
            self.call(domain + ".enable")
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height,
                  deviceScaleFactor=1, mobile=False)
        self.call("Emulation.setEmulatedMedia", features=[
            {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])

    def __enter__(self) -> "Browser":
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self.requests)
        os.close(self.answers)
        self.process.terminate()
        self.process.wait()
        self.profile.cleanup()

    def receive(self) -> dict[str, Any]:
        """Returns the next message; notes errors of the page."""
        while b"\0" not in self.rest:
            options = os.read(self.answers, 1 << 20)
            if not options:
                raise EOFError("the browser has ended")
            self.rest += options
        text, _, self.rest = self.rest.partition(b"\0")
        message: dict[str, Any] = json.loads(text)
        method, event = message.get("method"), message.get("params", {})
        if method == "Runtime.exceptionThrown":
            self.errors.append(json.dumps(event["exceptionDetails"]))
        elif method in ("Runtime.consoleAPICalled", "Log.entryAdded"):
            self.errors.append(json.dumps(event))
        self.loaded |= method == "Page.loadEventFired"
        return message

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        self.number += 1
        request = {"id": self.number, "method": method, "params": parameters}
        if not method.startswith("Target."):
            request["sessionId"] = self.session
        os.write(self.requests, json.dumps(request).encode() + b"\0")
        while True:
            message = self.receive()
            if message.get("id") == self.number:
                if "error" in message:
                    raise ValueError("%s: %s" % (method, message["error"]))
                return dict(message["result"])

    def open(self, url: str) -> None:
        """Opens an address and waits until its scripts have run."""
        # Leave the page first: moving within one page would load nothing.
        for address in "about:blank", url:
            self.loaded = False
            self.call("Page.navigate", url=address)
            while not self.loaded:
                self.receive()

    def evaluate(self, expression: str) -> Any:
        result = self.call("Runtime.evaluate", expression=expression, returnByValue=True,
                           awaitPromise=True)
        if "exceptionDetails" in result:
            raise ValueError(json.dumps(result["exceptionDetails"]))
        return result["result"].get("value")

    def read_text(self, selector: str) -> str:
        return str(self.evaluate("document.querySelector(%s).innerText" % json.dumps(selector)))

    def click(self, selector: str) -> None:
        """Clicks on the middle of an element, as a user does."""
        x, y = self.evaluate(
            "(() => { const element = document.querySelector(%s); element.scrollIntoView("
            "{block: 'center'}); const box = element.getBoundingClientRect(); "
            "return [box.x + box.width / 2, box.y + box.height / 2]; })()" % json.dumps(selector))
        for kind in "mousePressed", "mouseReleased":
            self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def press(self, key: str) -> None:
        text = {"text": key} if len(key) == 1 else {}
        self.call("Input.dispatchKeyEvent", type="keyDown", key=key, **text)
        self.call("Input.dispatchKeyEvent", type="keyUp", key=key)

    def find_area(self, selectors: Sequence[str], height: int) -> dict[str, float]:
        """Returns the smallest area of the page that holds the first elements of the selectors,
        cut at @height pixels unless that is 0."""
        boxes = [self.evaluate("(() => { const box = document.querySelector(%s)."
                               "getBoundingClientRect(); return [box.x + scrollX, box.y + scrollY,"
                               "box.right + scrollX, box.bottom + scrollY]; })()" %
                               json.dumps(selector)) for selector in selectors]
        left, top, right, bottom = (least_or_most(box[i] for box in boxes) for i, least_or_most
                                    in enumerate((min, min, max, max)))
        return {"x": left, "y": top, "width": right - left,
                "height": min(bottom - top, height or bottom)}

    def take_screenshot(self, path: str, selectors: Sequence[str], height: int = 0) -> None:
        """Writes the area of find_area() as PNG."""
        shot = self.call("Page.captureScreenshot", captureBeyondViewport=True,
                         clip={**self.find_area(selectors, height), "scale": 1})
        with open(path, "wb") as file:
            file.write(base64.b64decode(shot["data"]))
