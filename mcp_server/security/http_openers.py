"""Openers of `urllib` that follow no redirect: the new address was not judged."""

from __future__ import annotations

import urllib.request
from typing import Any


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_: Any, **__: Any) -> None:
        """Follow none; the redirect is the answer."""
        return


def build_opener(*, proxies: bool) -> urllib.request.OpenerDirector:
    """Return an opener that follows no redirect. `proxies`: whether those of the environment are used."""
    handler = urllib.request.ProxyHandler() if proxies else urllib.request.ProxyHandler({})
    return urllib.request.build_opener(handler, _NoRedirects())
