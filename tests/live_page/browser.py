"""Headless Chromium, driven over a pipe by the DevTools protocol."""

import base64
import json
import os
import shutil
import subprocess
import tempfile
import time

PROGRAM = shutil.which("chromium")


class Browser:
    """A browser with one page. Use it in a `with` statement."""

    def __enter__(self):
        self.folder = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        commands, self.to = os.pipe()
        self.out, answers = os.pipe()
        # The browser reads commands from descriptor 3, and writes answers to descriptor 4.
        script = f'exec 5<&{commands} 6>&{answers}; exec 3<&5 4>&6; exec "$@"'
        self.process = subprocess.Popen(
            ["bash", "-c", script, "bash", PROGRAM, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
             "--no-first-run", f"--user-data-dir={self.folder.name}", "--remote-debugging-pipe", "about:blank"],
            pass_fds=(commands, answers), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(commands)
        os.close(answers)
        self.buffer, self.number, self.session = b"", 0, None
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        os.close(self.to)
        os.close(self.out)
        self.folder.cleanup()

    def call(self, method, **parameters):
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.to, json.dumps(message).encode() + b"\0")
        while True:
            while b"\0" not in self.buffer:
                some = os.read(self.out, 65536)
                if not some:
                    raise RuntimeError("the browser has ended")
                self.buffer += some
            text, self.buffer = self.buffer.split(b"\0", 1)
            answer = json.loads(text)
            if answer.get("id") == self.number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]

    def open(self, address):
        self.call("Page.navigate", url=address)
        if not self.until(f"location.href === '{address}' && document.readyState === 'complete'"):
            raise RuntimeError(f"{address} is not loaded")

    def get(self, expression):
        """Returns the value of an expression in JavaScript."""
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(f"{expression}: {answer['exceptionDetails']}")
        return answer["result"].get("value")

    def until(self, expression, seconds=60):
        """Waits until the value of an expression is true, and returns it. Returns None after so many seconds."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            try:
                if value := self.get(expression):
                    return value
            except RuntimeError:  # the page is still loaded
                if self.process.poll() is not None:
                    raise
            time.sleep(0.05)
        return None

    def picture(self, path, width, height, scheme):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 600)
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        data = self.call("Page.captureScreenshot", captureBeyondViewport=False)["data"]
        with open(path, "wb") as file:
            file.write(base64.b64decode(data))
