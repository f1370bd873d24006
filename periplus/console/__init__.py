"""The console: what people see of `periplus serve`, from `/` on.

Pages are routers, collected here in `PAGES`; each module beside this one has the pages its name says. What
they share (templates, roles, forms, errors) is in `shell`. They show what the desk (`mcp_server`) and the stores
know, and decide nothing by themselves.
"""

from __future__ import annotations

from fastapi import APIRouter

from periplus.console import (
    demos,
    front,
    proposals,
    reports,
    runs,
    screens,
    searching,
    signing,
    sites,
    stores,
    ways,
    where,
    work,
)

PAGES: list[APIRouter] = [
    signing.router, front.router, sites.router, screens.router, searching.router, where.router, ways.router,
    work.router, runs.router, proposals.router, demos.router, reports.router, stores.router,
]  # fmt: skip
"""In the order in which they are asked."""
