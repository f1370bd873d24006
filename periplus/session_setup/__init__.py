"""Opens browsers, browser contexts and sessions for the commands, and closes them in order.

`BrowserOptions` says which browser: one that is started, or one that is given (`--cdp-endpoint`).
"""

from periplus.session_setup.browser_options import BrowserOptions
from periplus.session_setup.browser_start import (
    open_browser_context,
    open_fresh_context,
    open_working_context,
    start_browser,
)
from periplus.session_setup.sessions import open_session

__all__ = [
    "BrowserOptions",
    "open_browser_context",
    "open_fresh_context",
    "open_session",
    "open_working_context",
    "start_browser",
]
