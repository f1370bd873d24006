"""All pages of the console. To add a page, write its module with a `router` and add the router to `PAGES`."""

from __future__ import annotations

from fastapi import APIRouter

from periplus.console import (
    audit_page,
    demo_pages,
    health_page,
    home_page,
    identification_page,
    job_pages,
    lead_page,
    path_page,
    proposal_pages,
    report_pages,
    review_page,
    run_pages,
    screen_page,
    search_page,
    sentence_page,
    sign_in_page,
    signature_page,
    single_sign_on_page,
    site_page,
    task_pages,
    text_page,
    trend_page,
)

PAGES: list[APIRouter] = [
    sign_in_page.router,
    single_sign_on_page.router,
    home_page.router,
    site_page.router,
    screen_page.router,
    signature_page.router,
    search_page.router,
    identification_page.router,
    path_page.router,
    task_pages.router,
    sentence_page.router,
    text_page.router,
    trend_page.router,  # before `/runs/{run_id}`
    run_pages.router,
    job_pages.router,
    proposal_pages.router,
    review_page.router,
    demo_pages.router,
    lead_page.router,
    report_pages.router,
    health_page.router,
    audit_page.router,
]
"""The routers, in the order in which FastAPI matches them."""
