"""A headless browser, driven over DevTools: real pages at any width, light or dark."""

import base64
import contextlib
import json
import os
import shutil
import signal
import subprocess
import tempfile
import time
import urllib.request

import websocket

DEADLINE_S = 20


def find_browser():
    """The path of a Chromium, or None."""
    for name in ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome"):
        path = shutil.which(name)
        if path:
            return path
    return None


class Browser:
    """Use it as a context: the browser and its profile are gone at the end."""

    def __init__(self):
        self._profile = tempfile.mkdtemp(prefix="rowhouse-browser-")
        # Root has no sandbox in containers; the pages are our own.
        self._process = subprocess.Popen(
            [find_browser(), "--headless=new", "--no-sandbox", "--disable-gpu",
             "--disable-dev-shm-usage", "--disable-quic", "--no-first-run",
             "--disable-background-networking", "--disable-component-update", "--disable-sync",
             "--hide-scrollbars", "--remote-debugging-port=0", "--user-data-dir=" + self._profile,
             "about:blank"],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
        try:
            port = self._wait_for_port()
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/json/list",
                                        timeout=DEADLINE_S) as answer:
                target = next(t for t in json.load(answer) if t["type"] == "page")
            self._socket = websocket.create_connection(
                target["webSocketDebuggerUrl"], timeout=DEADLINE_S, suppress_origin=True)
        except BaseException:
            self.close()
            raise
        self._last_id = 0
        self._events = []
        self.messages = []  # of the console: errors, warnings, exceptions
        for domain in ("Page", "Runtime", "Log"):
            self.call(domain + ".enable")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        # Debian's command is a script, whose child is the browser.
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        shutil.rmtree(self._profile, ignore_errors=True)

    def _wait_for_port(self):
        path = os.path.join(self._profile, "DevToolsActivePort")
        end = time.monotonic() + DEADLINE_S
        while time.monotonic() < end:
            if self._process.poll() is not None:
                raise RuntimeError(f"the browser ended with {self._process.returncode}")
            try:
                with open(path) as file:
                    lines = file.read().splitlines()
                if lines and lines[0]:
                    return int(lines[0])
            except FileNotFoundError:
                pass
            time.sleep(0.02)
        raise RuntimeError("the browser did not open its DevTools port")

    def call(self, method, **params):
        self._last_id += 1
        self._socket.send(json.dumps({"id": self._last_id, "method": method, "params": params}))
        while True:
            message = json.loads(self._socket.recv())
            if message.get("id") == self._last_id:
                if "error" in message:
                    raise RuntimeError(f"{method}: {message['error']}")
                return message["result"]
            self._take(message)

    def _take(self, message):
        method, params = message.get("method"), message.get("params", {})
        self._events.append(method)
        if method == "Runtime.exceptionThrown":
            details = params["exceptionDetails"]
            self.messages.append(details.get("exception", {}).get("description", details["text"]))
        elif method == "Runtime.consoleAPICalled" and params["type"] in ("error", "warning",
                                                                         "assert"):
            self.messages.append(" ".join(str(a.get("value", a.get("description")))
                                          for a in params["args"]))
        elif method == "Log.entryAdded" and params["entry"]["level"] in ("error", "warning"):
            self.messages.append(params["entry"]["text"])

    def open(self, path, width, height, is_dark):
        """Loads a file; what it says on the console is in `messages` then."""
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height,
                  deviceScaleFactor=1, mobile=width < 600)
        self.call("Emulation.setEmulatedMedia", features=[
            {"name": "prefers-color-scheme", "value": "dark" if is_dark else "light"}])
        self.messages, self._events = [], []
        self.call("Page.navigate", url="file://" + os.path.abspath(path))
        while "Page.loadEventFired" not in self._events:
            self._take(json.loads(self._socket.recv()))
        # Two frames: charts size themselves in the first.
        self.value("new Promise(r => requestAnimationFrame(() => requestAnimationFrame(r)))")

    def value(self, expression):
        result = self.call("Runtime.evaluate", expression=expression, returnByValue=True,
                           awaitPromise=True)
        if "exceptionDetails" in result:
            details = result["exceptionDetails"]
            raise RuntimeError(details.get("exception", {}).get("description", details["text"]))
        return result["result"].get("value")

    def move_to(self, x, y):
        self.call("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)

    def drag(self, x, y, to_x):
        self.call("Input.dispatchMouseEvent", type="mousePressed", x=x, y=y, button="left",
                  buttons=1, clickCount=1)
        self.call("Input.dispatchMouseEvent", type="mouseMoved", x=to_x, y=y, button="left",
                  buttons=1)
        self.call("Input.dispatchMouseEvent", type="mouseReleased", x=to_x, y=y, button="left",
                  clickCount=1)

    def picture(self, path, whole=True):
        data = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        with open(path, "wb") as file:
            file.write(base64.b64decode(data["data"]))
