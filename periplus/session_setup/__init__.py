"""Opens browsers, browser contexts and sessions for the commands, and closes them in order.

`BrowserOptions` says which browser: one that is started, or one that is given (`--cdp-endpoint`). A name is imported
when it is used first (decision 0116): options are checked without Playwright.
"""

from typing import TYPE_CHECKING

from kb_schema.public_names import import_on_use

if TYPE_CHECKING:
    from periplus.session_setup.browser_contexts import (
        open_browser_context,
        open_fresh_context,
        open_working_context,
    )
    from periplus.session_setup.browser_options import BrowserOptions
    from periplus.session_setup.browser_start import start_browser
    from periplus.session_setup.sessions import open_session

_MODULES = {
    "BrowserOptions": "browser_options",
    "open_browser_context": "browser_contexts",
    "open_fresh_context": "browser_contexts",
    "open_session": "sessions",
    "open_working_context": "browser_contexts",
    "start_browser": "browser_start",
}

__all__ = [
    "BrowserOptions",
    "open_browser_context",
    "open_fresh_context",
    "open_session",
    "open_working_context",
    "start_browser",
]

__getattr__ = import_on_use(__name__, _MODULES)
