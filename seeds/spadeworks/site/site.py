"""One running instance of the site: what its routes, middleware and control endpoint share."""

from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import jinja2
from starlette.requests import HTTPConnection

from seeds.spadeworks.site.bugs import BugBoard
from seeds.spadeworks.site.faults import FaultBoard
from seeds.spadeworks.site.otp import OneTimeCodes
from seeds.spadeworks.site.settings import Settings, UiVersion
from seeds.spadeworks.site.state import Visitor, VisitorStore
from seeds.spadeworks.site.ui_labels import Ui

HERE = Path(__file__).parent


@cache
def _templates() -> jinja2.Environment:
    return jinja2.Environment(
        loader=jinja2.FileSystemLoader(HERE / "templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


@dataclass
class Site:
    """The mutable whole of one instance. All of it lives on one event loop."""

    settings: Settings
    visitors: VisitorStore
    codes: OneTimeCodes
    ui_version: UiVersion
    faults: FaultBoard = field(default_factory=FaultBoard)
    bugs: BugBoard = field(default_factory=BugBoard)
    templates: jinja2.Environment = field(default_factory=_templates)

    @classmethod
    def from_settings(cls, settings: Settings) -> "Site":
        """Return an instance nobody has visited yet."""
        return cls(
            settings=settings,
            visitors=VisitorStore(settings.max_visitors, settings.clock),
            codes=OneTimeCodes(settings.clock),
            ui_version=settings.ui_version,
        )

    @property
    def ui(self) -> Ui:
        """The markup choices of the present UI version."""
        return Ui(self.ui_version)

    def reset(self) -> None:
        """Forget all visitors, faults and bugs, and go back to the UI version of the start."""
        self.visitors.clear()
        self.faults.clear()
        self.bugs.clear()
        self.ui_version = self.settings.ui_version


def site_of(connection: HTTPConnection) -> Site:
    """Return the instance that serves this request."""
    site = connection.app.state.site
    assert isinstance(site, Site)  # noqa: S101 - app.py puts it there
    return site


def visitor_of(connection: HTTPConnection) -> Visitor:
    """Return who sent this request; ``VisitorMiddleware`` has put them there."""
    visitor = connection.state.visitor
    assert isinstance(visitor, Visitor)  # noqa: S101 - the middleware puts it there
    return visitor
