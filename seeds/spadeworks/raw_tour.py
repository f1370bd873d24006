"""The clicks of the flow `spadeworks_tour`, written by hand for plain Playwright.

What somebody would write who knows the site by heart: the baseline that the guide is measured
against in `benchmarks/bench_demo.py`. Nothing else uses it.
"""

from __future__ import annotations

from playwright.async_api import Page, expect


async def play(page: Page, base_url: str) -> None:
    """Sign in, look at the dashboard, create an agent, find it again."""
    await page.goto(f"{base_url}/login")
    await page.click("#cookie-accept")
    await page.fill("#email", "demo@spadeworks.example")
    await page.fill("#password", "spadeworks-demo")
    await page.click("#sign-in")
    await expect(page.locator("h1")).to_have_text("Dashboard")
    await page.click("#quick-create-agent")
    await expect(page.locator("h1")).to_have_text("Create Agent")
    await page.fill("#agent-name", "Agent Smith")
    await page.select_option("#language", "hi-IN")
    await page.click("#save-agent")
    await expect(page.locator(".toast")).to_contain_text("Agent created")
    await page.goto(f"{base_url}/agent")
    await page.fill("#agent-search", "Agent Smith")
    await page.click("#agent-search-button")
    await expect(page.locator(".agent-card .agent-name")).to_have_text(["Agent Smith"])
