"""Takes the samples beside this file anew: `python tests/data/playwright_mcp/take.py CLI.js CHROMIUM`.

`CLI.js` is that of an installed `@playwright/mcp`; run it from the root of the repository.
"""

from __future__ import annotations

import asyncio
import re
import subprocess
import sys
from pathlib import Path

import httpx
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client

from seeds.spadeworks.site.settings import DEMO_EMAIL, DEMO_PASSWORD

HERE = Path(__file__).parent
SIGNED_OUT = {
    "login": "/login",
    "forgot_password": "/forgot-password",
    "authenticator": "/authenticator",
    "session_expired": "/session-expired?next=/agent",
    "error_not_found": "/nothing/here",
}
SIGNED_IN = {
    "dashboard": "/dashboard",
    "agent_list": "/agent",
    "agent_create": "/agent/create",
    "agent_detail": "/agent/agt-1002",
    "agent_edit": "/agent/agt-1002/edit",
    "contacts_list": "/contacts",
    "contacts_import": "/contacts/import",
    "campaign_list": "/campaign",
    "campaign_create_details": "/campaign/create",
    "email_inbox": "/inbox",
    "settings": "/settings",
}
FIELD = "const field = (name, value) => { document.querySelector(`[name=${name}]`).value = value; };"
DETAILS = (
    f"() => {{ {FIELD} field('campaign_name', 'Autumn'); field('start_date', '12/31/2030');"
    " const agent = document.querySelector('[name=agent_id]'); agent.selectedIndex = 1;"
    " agent.form.requestSubmit(); }"
)
AUDIENCE = (
    f"() => {{ {FIELD} document.querySelector('[name=contact_list][value=Renewals]').checked = true;"
    " field('daily_limit', '50'); document.querySelector('[name=daily_limit]').form.requestSubmit(); }"
)


class Visit:
    """One browser on the site, driven through Playwright MCP."""

    def __init__(self, client: Client, base: str) -> None:
        self.client, self.base = client, base

    async def call(self, tool: str, **arguments: object) -> str:
        """The text a tool answers."""
        answer = await self.client.call_tool(tool, arguments)
        return "\n".join(part.text for part in answer.content if part.type == "text")

    async def open(self, path: str) -> None:
        await self.call("browser_navigate", url=self.base + path)

    async def do(self, script: str, then: str) -> None:
        """Run a script that leads to another page, and wait for a text of that."""
        await self.call("browser_evaluate", function=script)
        await self.call("browser_wait_for", text=then)

    async def keep(self, name: str) -> None:
        text = await self.call("browser_snapshot")
        (HERE / f"{name}.md").write_text(text.replace(self.base, "http://127.0.0.1:8000"), encoding="utf-8")

    async def switch(self, what: str, body: object, method: str = "POST") -> None:
        async with httpx.AsyncClient() as control:
            (await control.request(method, f"{self.base}/__control/{what}", json=body)).raise_for_status()

    async def sign_in(self, then: str) -> None:
        await self.open("/login")
        script = f"() => {{ {FIELD} field('email', '{DEMO_EMAIL}'); field('password', '{DEMO_PASSWORD}');"
        await self.do(f"{script} document.querySelector('main form').requestSubmit(); }}", then)


async def take_all(visit: Visit, version: int) -> None:
    """Every screen in one version of the interface."""
    prefix = f"v{version}_"
    await visit.switch("ui-version", {"version": version})
    for name, path in SIGNED_OUT.items():
        await visit.open(path)
        await visit.keep(prefix + name)
    await visit.switch("otp", {"required": True})
    await visit.sign_in("one-time code")
    await visit.keep(f"{prefix}login_code")
    await visit.switch("otp", {"required": False})
    await visit.switch("faults", {"kind": "error_500", "path": "/dashboard"})
    await visit.open("/dashboard")
    await visit.keep(f"{prefix}error_server")
    await visit.switch("faults", None, "DELETE")
    await visit.sign_in("Quick links")
    for name, path in SIGNED_IN.items():
        await visit.open(path)
        await visit.keep(prefix + name)
    await visit.open("/campaign")
    await visit.do("() => document.querySelector('main tbody a').click()", "Progress")
    await visit.keep(f"{prefix}campaign_detail")
    await visit.open("/campaign/create")
    await visit.do(DETAILS, "Who should be called?")
    await visit.keep(f"{prefix}campaign_create_audience")
    await visit.do(AUDIENCE, "Ready to go?")
    await visit.keep(f"{prefix}campaign_create_review")
    await visit.call("browser_close")


async def take_from(base: str, cli: str, chromium: str) -> None:
    """Start Playwright MCP, take the samples, end it."""
    flags = ["--executable-path", chromium, "--no-sandbox", "--headless", "--isolated"]
    async with Client(stdio_client(StdioServerParameters(command="node", args=[cli, *flags]))) as client:
        for version in (1, 2):
            await take_all(Visit(client, base), version)


def main(cli: str, chromium: str) -> None:
    """Start the site, take the samples, end it."""
    site = [
        sys.executable,
        "-m",
        "seeds.spadeworks.site",
        "--port",
        "0",
        "--exit-with-stdin",
        "--test-controls",
    ]
    with subprocess.Popen(site, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        said = re.match(r"listening on (http://\S+)", process.stdout.readline())
        asyncio.run(take_from(said[1], cli, chromium))
        process.stdin.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
