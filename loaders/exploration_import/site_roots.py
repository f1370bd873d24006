"""The folder below which all addresses of an explored website lie: one of several applications of a host.

Rules on addresses count the parts below it: what stands at `/quarry/users` is as far from the root as `/users` is elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import re2

from kb_schema.url_patterns import find_site_root
from loaders.screen_learner.observed_pages import ObservedPage


@dataclass(frozen=True, slots=True)
class SiteRoot:
    """The root of a website. `folder`: `/quarry`, or nothing."""

    folder: str

    @classmethod
    def of(cls, pages: Iterable[ObservedPage]) -> SiteRoot:
        """Return the root of all pages of a website, its entry among them."""
        return cls(find_site_root(page.path for page in pages))

    def path(self, path: str) -> str:
        """Return a path below the root; of another part of the host it is unchanged.

        >>> [SiteRoot("/quarry").path(each) for each in ("/quarry/issue4", "/quarry?x=1", "/other")]
        ['/issue4', '/?x=1', '/other']
        """
        if not self.folder or not path.startswith(self.folder):
            return path
        rest = path[len(self.folder) :]
        if rest.startswith("/"):
            return rest
        return path if rest and rest[0] not in "?#" else f"/{rest}"

    def page(self, page: ObservedPage) -> ObservedPage:
        """Return a page with its path below the root."""
        return replace(page, path=self.path(page.path)) if self.folder else page

    def pattern(self, pattern: str) -> str:
        """Return a pattern of paths below the root as one of paths of the host.

        >>> SiteRoot("/quarry").pattern("^/issue[0-9]+/?(?:[?#].*)?$")
        '^/quarry/issue[0-9]+/?(?:[?#].*)?$'
        """
        if not self.folder:
            return pattern
        folder = "/".join(map(re2.escape, self.folder.split("/")))
        return f"^{folder}{pattern.removeprefix('^')}"
