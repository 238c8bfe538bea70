"""The page of `coldstart coverage --html` in headless Chromium: it renders, answers to mouse and keyboard, and has no script errors.

usage: coverage_page.py COLDSTART [SCREENSHOT_FOLDER]

Talks to the browser over a pipe, with real input events. Exit status 77: there is no Chromium here.
A page that is there already may take COLDSTART's place.
"""

import base64
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

NO_BROWSER = 77
MOST_BYTES, MOST_SECONDS = 2_000_000, 1.0
ALONE = "COLDSTART_ALONE" in os.environ  # nothing else runs beside the browser: .ci/nightly


class Browser:
    """Chromium's debugging protocol: messages of JSON, each ended by a NUL, on file descriptors 3 and 4."""

    def __init__(self, program, folder):
        to_read, self.to_browser = os.pipe()
        self.from_browser, to_write = os.pipe()

        def hand_over():
            os.dup2(to_read, 3, inheritable=True)
            os.dup2(to_write, 4, inheritable=True)

        to_read, to_write = (os.dup(os.dup(os.dup(fd))) for fd in (to_read, to_write))  # clear of 3 and 4
        self.process = subprocess.Popen(
            [program, "--headless=new", "--no-sandbox", "--disable-gpu", "--remote-debugging-pipe", "--no-first-run",
             "--disable-dev-shm-usage", f"--user-data-dir={folder}"],
            preexec_fn=hand_over, close_fds=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(to_read), os.close(to_write)
        self.n, self.session, self.waiting, self.events = 0, None, b"", []

    def receive(self):
        while b"\0" not in self.waiting:
            part = os.read(self.from_browser, 1 << 20)
            if not part:
                sys.exit("the browser is gone")
            self.waiting += part
        message, _, self.waiting = self.waiting.partition(b"\0")
        return json.loads(message)

    def call(self, method, **params):
        self.n += 1
        message = {"id": self.n, "method": method, "params": params} | ({"sessionId": self.session} if self.session else {})
        os.write(self.to_browser, json.dumps(message).encode() + b"\0")
        while True:
            answer = self.receive()
            if answer.get("id") == self.n:
                if "error" in answer:
                    sys.exit(f"{method}: {answer['error']}")
                return answer["result"]
            self.events.append(answer)

    def open(self, url, width):
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Runtime", "Page", "Network", "Log"):
            self.call(f"{domain}.enable")
        self.size(width)
        self.call("Page.navigate", url=url)

    def ask(self, expression):
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True)
        if "exceptionDetails" in answer:
            sys.exit(f"{expression}: {answer['exceptionDetails']}")
        return answer["result"].get("value")

    def wait(self, expression, seconds=20.0):
        end = time.monotonic() + seconds
        while not self.ask(expression):
            if time.monotonic() > end:
                sys.exit(f"after {seconds} s not true: {expression}; {self.problems()}")
            time.sleep(0.05)

    def click(self, selector):
        self.ask(f"document.querySelector({selector!r}).scrollIntoView({{block: 'center', inline: 'center'}})")
        x, y = self.ask(f"(r => [r.x + r.width / 2, r.y + r.height / 2])(document.querySelector({selector!r}).getBoundingClientRect())")
        for kind in ("mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def press(self, key):
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=key, code=key, windowsVirtualKeyCode={"ArrowRight": 39, "ArrowDown": 40}[key])

    def type(self, text):
        self.call("Input.insertText", text=text)

    def size(self, width, height=900):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)

    def screenshot(self, path):
        path.write_bytes(base64.b64decode(self.call("Page.captureScreenshot", captureBeyondViewport=False)["data"]))

    def problems(self):
        """Uncaught exceptions, console errors, and requests for anything but the page itself."""
        found = []
        for event in self.events:
            method, params = event.get("method"), event.get("params", {})
            if method == "Runtime.exceptionThrown":
                found.append(params["exceptionDetails"])
            if method == "Log.entryAdded" and params["entry"]["level"] == "error":
                found.append(params["entry"])
            if method == "Network.requestWillBeSent" and not params["request"]["url"].startswith(("file:", "data:", "about:")):
                found.append(params["request"]["url"])
        return found

    def close(self):
        self.session = None
        self.call("Browser.close")
        self.process.wait(timeout=20)


def expect(condition, text):
    if not condition:
        sys.exit(f"not so: {text}")


def make_page(coldstart, folder):
    run = [coldstart, "coverage", "--hit", "driver=direct,policy=none,device=ref,method=gpt_oss_mxfp4", "--html", folder / "page.html"]
    subprocess.run([*run, "--json", folder / "a.json", "--seed", "1"], check=True, stdout=subprocess.DEVNULL)
    page, kills = folder / "page.html", folder / "kills.json"
    seen = [["bytes"], None, ["bytes", "fill"], []]
    mutants = [{"mutant": "no_fill", "text": "nothing is filled", "killed": True, "proof": None, "cells": seen},
               {"mutant": "<b>", "text": "text that is no HTML", "killed": False, "proof": None, "cells": [None] * 4}]
    kills.write_text(json.dumps({"mutants": mutants}), encoding="utf-8")
    subprocess.run([coldstart, "coverage", folder / "a.json", "--next", "3", "--previous", folder / "a.json", "--html", page, "--gcovr", "report/index.html",
                    "--kill-matrix", kills], check=True, stdout=subprocess.DEVNULL)
    return page


def seconds_until_interactive(browser, page):
    browser.open(page.as_uri(), 1280)
    browser.wait("document.documentElement?.dataset.ready === '1'")
    return browser.ask("(performance.getEntriesByType('navigation')[0].domContentLoadedEventEnd) / 1000")


def look(browser, page, shots):
    ready = min(seconds_until_interactive(browser, page) for _ in range(5))  # other tests run beside it
    print(f"interactive after {ready:.2f} s")
    expect(ready < (MOST_SECONDS if ALONE else 20 * MOST_SECONDS), f"interactive after {ready:.2f} s, at most {MOST_SECONDS} s on a machine of its own")

    expect(browser.ask("document.querySelectorAll('.card b').length") >= 5, "five numbers")
    expect(browser.ask("document.querySelector('#heat').textContent.includes('flashinfer_trtllm')"), "the heat map shows back ends")
    browser.screenshot(shots / "light.png")

    browser.click("#heat td.v")
    expect("coldstart coverage --hit" in browser.ask("document.querySelector('#detail').textContent"), "a click shows what hits the cell")
    first = browser.ask("chosen")
    browser.press("ArrowRight")
    second = browser.ask("chosen")
    browser.press("ArrowDown")
    third = browser.ask("chosen")
    expect(len({first, second, third}) == 3, f"arrow keys go from cell to cell: {first}, {second}, {third}")
    expect(browser.ask("document.activeElement.tagName") == "TD", "the cell has the focus")

    browser.ask("(document.querySelector('#rows').value = 0, document.querySelector('#rows').dispatchEvent(new Event('change')))")
    expect(browser.ask("document.querySelector('#heat').textContent.includes('per_expert')"), "other axes can be chosen")
    hit = browser.ask("[...document.querySelectorAll('#heat td.v')].findIndex(td => td.textContent)")
    expect(hit >= 0, "some cell was hit")
    browser.ask(f"document.querySelectorAll('#heat td.v')[{hit}].focus()")
    expect(browser.ask("document.querySelectorAll('#detail li').length") >= 1, "a hit cell names its scenarios")

    before = browser.ask("document.querySelectorAll('#never tr').length")
    browser.click("#filter")
    browser.type("policy=record_and_fill")
    rows = browser.ask("[...document.querySelectorAll('#never code')].map(c => c.textContent)")
    expect(0 < len(rows) < before and all("policy=record_and_fill" in row for row in rows), "the list of cells never hit can be filtered")
    unseen = browser.ask("[...document.querySelectorAll('#unseen code')].map(c => c.textContent)")
    expect(unseen and all(row.startswith("coldstart coverage --hit order=") for row in unseen), f"orders never seen come with their commands: {unseen[:1]}")
    expect(browser.ask("document.querySelector('#gcovr a').getAttribute('href')") == "report/index.html", "gcovr's page is linked")
    expect(browser.ask("document.querySelector('#cards').textContent.includes('since the file before')"), "a trend against the file before")


def look_at_kills(browser):
    rows = browser.ask("[...document.querySelectorAll('#kills tr')].map(r => [...r.cells].map(c => c.textContent))")
    expect(rows == [["mutant", "bytes", "fill"], ["no_fill", "2", "1"], ["<b> survives", "", ""]], f"the kill matrix: {rows}")


def look_elsewhere(browser, shots):
    browser.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark"}])
    browser.ask("scrollTo(0, 0)")
    dark = browser.ask("getComputedStyle(document.body).backgroundColor")
    expect(dark == "rgb(20, 23, 26)", f"dark mode: the page is {dark}")
    browser.screenshot(shots / "dark.png")
    browser.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "light"}])
    browser.size(400)
    expect(browser.ask("document.documentElement.scrollWidth") <= 400, "400 pixels are wide enough")
    browser.screenshot(shots / "narrow.png")
    browser.ask("document.querySelector('#heat').scrollIntoView()")
    browser.screenshot(shots / "narrow_heat.png")


def main():
    program = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if not program:
        print("skipped: no Chromium; apt-get install chromium")
        return NO_BROWSER
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
        folder = pathlib.Path(name)
        shots = pathlib.Path(sys.argv[2]) if len(sys.argv) > 2 else folder
        page = pathlib.Path(sys.argv[1]) if sys.argv[1].endswith(".html") else make_page(sys.argv[1], folder)
        expect(page.stat().st_size < MOST_BYTES, f"{page.stat().st_size} bytes, at most {MOST_BYTES}")
        browser = Browser(program, folder / "profile")
        try:
            look(browser, page, shots)
            if not sys.argv[1].endswith(".html"):
                look_at_kills(browser)
            look_elsewhere(browser, shots)
            problems = browser.problems()
        finally:
            browser.close()
        expect(not problems, f"no script errors and no requests: {problems}")
    print("the page renders, and answers to mouse and keyboard")
    return 0


if __name__ == "__main__":
    sys.exit(main())
