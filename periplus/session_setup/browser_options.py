"""Which browser is used: one that is started, or one that is given. The names are those of Playwright's MCP server.

Imports no Playwright, so that a command can check its options at once.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from kb_schema.url_patterns import LOOPBACK
from periplus.errors import UserError


@dataclass(frozen=True, slots=True)
class BrowserOptions:
    """The browser of a command; the default is a new Chromium without cookies."""

    cdp_endpoint: str | None = None
    """The address of a running Chrome; None: start one."""
    allow_remote_cdp: bool = False
    user_data_dir: Path | None = None
    """The profile of the browser that is started; None: a new one without cookies."""
    channel: str | None = None
    """An installed browser, such as `chrome` or `msedge`."""
    storage_state: Path | None = None
    proxy_server: str | None = None
    headed: bool | None = None
    """None: with a window if there is a display."""
    webmcp: bool = False
    """Whether pages may offer tools; a given browser has its own setting."""

    @property
    def given(self) -> bool:
        """Whether the browser is running already, and belongs to a person."""
        return self.cdp_endpoint is not None

    def check(self) -> None:
        """Raise `UserError` for options that contradict each other, and for a browser on another machine."""
        if self.cdp_endpoint is None:
            if self.allow_remote_cdp:
                raise UserError(
                    "--allow-remote-cdp needs --cdp-endpoint", fix="add it, or leave --allow-remote-cdp out"
                )
            if self.user_data_dir is not None and self.storage_state is not None:
                raise UserError(
                    "--storage-state and --user-data-dir do not go together",
                    fix="a profile has its own cookies",
                )
            return
        values = {
            "--user-data-dir": self.user_data_dir,
            "--channel": self.channel,
            "--storage-state": self.storage_state,
            "--proxy-server": self.proxy_server,
            "--headless" if self.headed is False else "--headed": self.headed,
        }
        if wrong := [name for name, value in values.items() if value is not None]:
            raise UserError(
                f"{wrong[0]} is for a browser that is started",
                fix="leave it out, or leave --cdp-endpoint out",
            )
        parts = urlsplit(self.cdp_endpoint)
        if parts.scheme not in ("http", "https", "ws", "wss") or not parts.hostname:
            raise UserError(
                f"--cdp-endpoint {self.cdp_endpoint!r} is no address",
                fix="write http://127.0.0.1:9222, for example",
            )
        if parts.hostname not in LOOPBACK and not self.allow_remote_cdp:
            raise UserError(
                f"--cdp-endpoint: {parts.hostname} is another machine; what goes there is not protected",
                fix="add --allow-remote-cdp if you trust the way to it",
            )
