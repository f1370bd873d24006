"""What the browser tools refuse."""

from __future__ import annotations

from mcp_server.errors import KnowledgeServerError, UnknownName


class NoPage(KnowledgeServerError):
    """The tab shows no page yet, or is closed."""

    code = "no_page"


class NotFoundOnPage(KnowledgeServerError):
    """No element of the page is meant, or several may be."""

    code = "not_found"


class NothingCalledThat(NotFoundOnPage):
    """No element of the page is called by these words."""


class NeedsConfirmation(KnowledgeServerError):
    """The act may not be undone: it needs `sure`."""

    code = "needs_confirmation"


class ActFailed(KnowledgeServerError):
    """The act was refused, or did not come off; the message says whether anything was done."""

    code = "act_failed"


class UnknownTab(UnknownName):
    """No tab has this id."""

    code = "unknown_tab"
