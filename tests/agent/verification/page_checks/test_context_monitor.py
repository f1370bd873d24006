"""What is recorded of a context under verification, and what is no longer heard."""

from __future__ import annotations

from agent.verification.page_checks import context_monitor

WORKER = """oninstall = (e) => e.waitUntil((async () => {
  for (let n = 0; n < 30; n++) await fetch('/asked?' + n).catch(() => 0);
})())"""


async def test_requests_of_a_service_worker_without_end_are_heard_no_longer(
    site, open_site_page, monkeypatch
):
    monkeypatch.setattr(context_monitor, "SERVICE_WORKER_REQUESTS", 5)
    site.page("/", "<h1>Harbour</h1>")
    async with open_site_page() as site_page:
        heard, page = [], site_page.page
        await site_page.context.route(
            "**/worker.js", lambda route: route.fulfill(body=WORKER, content_type="text/javascript")
        )
        await page.goto(f"{site.base}/")
        kept = site_page.monitor._build_request
        monkeypatch.setattr(
            site_page.monitor,
            "_build_request",
            lambda request, **how: heard.append(request.url) or kept(request, **how),
        )
        await page.evaluate(
            "navigator.serviceWorker.register('/worker.js').then(() => navigator.serviceWorker.ready)"
        )
        assert not site_page.monitor.pending
        await page.evaluate("fetch('/none')")
        assert len([each for each in heard if "/asked" in each]) <= 10
        assert any(each.endswith("/none") for each in heard)
