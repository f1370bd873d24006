"""The pages of MiniWoB++: serves them, sets a goal by its seed, and tells how an episode ended.

A task's page is `miniwob/TASK.html`, or the wrapper of a task in another folder (`flight/AA`), whose form is in a frame.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http import HTTPStatus
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

from playwright.async_api import Page

PAGES = Path(__file__).parents[1] / ".tools/miniwob/miniwob/html"
READY_MS = 10_000.0
"""How long a form in a frame may take to load."""
_START = """(seed) => {
    const query = document.getElementById('query');
    query.innerHTML = window.wholeQuery ?? query.innerHTML;  // some pages say it once and for all
    Math.seedrandom(seed); core.EPISODE_MAX_TIME = 600000; core.startEpisodeReal();
    const said = core.getUtterance();
    // What tells the goal and the score is no part of the page that was demonstrated.
    window.wholeQuery = query.innerHTML;
    query.textContent = '';
    for (const id of ['reward-display', 'click-canvas', 'query-wrap']) {
        const found = document.getElementById(id);
        if (found) found.style.display = 'none';
    }
    return said;
}"""
_READY = "() => WOB_TASK_READY"
_ENDED = "() => [WOB_DONE_GLOBAL, WOB_RAW_REWARD_GLOBAL]"


def path_of(task: str) -> str:
    """Return the path of a task's page below the folder of the pages."""
    return f"{task}/wrapper.html" if "/" in task else f"miniwob/{task}.html"


class _Quiet(SimpleHTTPRequestHandler):
    def do_POST(self) -> None:  # the name it has there
        """Take a form that a page sends, as its own server would: the page that is shown stays."""
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self.send_response(HTTPStatus.NO_CONTENT)
        self.end_headers()

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the name it has there
        pass


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """The base URL of a folder's files, on this machine only."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(_Quiet, directory=str(folder)))
    thread = Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


async def open_task(page: Page, base_url: str, task: str) -> None:
    """Show a task's page."""
    await page.goto(f"{base_url}/{path_of(task)}", wait_until="load")


async def set_goal(page: Page, seed: str) -> str:
    """Set the goal of a seed on the page that is shown; return its sentence."""
    told: str = await page.evaluate(_START, seed)
    await page.wait_for_function(_READY, timeout=READY_MS)
    return told


async def read_reward(page: Page) -> tuple[bool, float]:
    """Return whether the episode is over, and its reward: 1 is all of it."""
    over, reward = await page.evaluate(_ENDED)
    return bool(over), float(reward)
