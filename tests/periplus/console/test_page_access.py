"""Every page of the console asks who one is, every form whose it is, and what changes something asks for the role.

The routes are walked as the app has them, so that one that is added is asked of, too.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from mcp_server.security.bearer_tokens import TokenFile, mint_token
from periplus.console.page_registry import PAGES
from tests.periplus.service.service_support import served

PAGE = {"Accept": "text/html"}
ROLE_OF = {
    "/runs/{run_id}/stop": "operate",
    "/demos/links": "operate",
    "/demos/links/{visit_id}/end": "operate",
    "/jobs": "operate",
    "/jobs/{job_id}/cancel": "operate",
    "/jobs/{job_id}/repeat": "operate",
    "/sites/{site}/sentence": "operate",
    "/schedules/{schedule_id}/{what}": "operate",
    "/runs/{run_id}/accept": "review",
    "/sites/{site}/proposals/{proposal_id}": "review",
    "/sites/{site}/review": "review",
    "/sites/{site}/screens/{screen_id}/merge": "review",
    "/sites/{site}/screens/{screen_id}/rename": "review",
    "/sites/{site}/screens/{screen_id}/signature": "review",
    "/sites/{site}/screens/{screen_id}/signature/try": "review",
    "/sites/{site}/texts/{kind}/{document_id}": "review",
    "/sites/{site}/where": "read",  # asks, changes nothing
    "/sign-in": "read",
    "/sign-out": "read",
    "/theme": "read",
}
"""Whatever is sent to the console, and who may. What is not here is not known to be guarded."""
VALUES = {
    "site": "spadeworks", "screen_id": "dashboard", "task_id": "login", "run_id": "some-run", "proposal_id": "abc123",
    "visit_id": "0123456789abcdef", "number": "1", "side": "before", "part": "captions", "name": "0001.jpg",
    "kind": "task", "document_id": "login", "job_id": "some-job", "schedule_id": "some-schedule", "what": "pause",
}  # fmt: skip


def _routes(method: str) -> Iterator[str]:
    for page in PAGES:
        for route in page.routes:
            if method in route.methods:
                yield route.path


def _filled(path: str) -> str:
    return re.sub(r"{(\w+)(?::\w+)?}", lambda found: VALUES[found[1]], path)


@pytest.fixture(scope="module")
def keys(tmp_path_factory):
    data = tmp_path_factory.mktemp("doors")
    tokens, found = TokenFile(data / "tokens.json"), {}
    for role, scope in (("read", "read"), ("review", "review"), ("operate", "write")):
        found[role], entry = mint_token(role, [scope])
        tokens.add(entry)
    return data, found


@pytest.fixture
async def service(keys):
    data, _ = keys
    async with served(data) as opened:
        yield opened


def test_every_route_that_takes_something_is_listed_with_who_may():
    assert {*_routes("POST")} == {*ROLE_OF}
    others = {"PUT", "PATCH", "DELETE"}
    assert not [route.path for page in PAGES for route in page.routes if others & route.methods]


async def test_no_page_is_shown_to_a_stranger(service):
    stranger = {**PAGE, "X-API-Key": ""}
    walked = sorted({*_routes("GET")} - {"/sign-in", "/sign-in/oidc", "/sign-in/oidc/callback"})
    assert len(walked) > 20
    for path in walked:
        answer = await service.client.get(_filled(path), headers=stranger)
        assert answer.status_code == 303, path
        assert answer.headers["location"].startswith("/sign-in?next="), path
        programs = await service.client.get(_filled(path), headers={"X-API-Key": "no-such-key-here"})
        assert programs.status_code == 401, path


async def test_whatever_is_sent_needs_a_form_of_ours(service, keys):
    mine = {**PAGE, "X-API-Key": keys[1]["operate"]}
    for path in ROLE_OF:
        for form in ({}, {"csrf_token": ""}, {"csrf_token": "0" * 64}):
            refused = await service.client.post(_filled(path), data=form, headers=mine)
            assert refused.status_code == 403, path
            assert "form has no valid token" in refused.text, path


@pytest.mark.parametrize("role", ["read", "review"])
async def test_what_changes_something_needs_the_role(service, keys, role):
    mine = {**PAGE, "X-API-Key": keys[1][role]}
    token = re.search(r'csrf_token" value="([0-9a-f]+)"', (await service.client.get("/", headers=mine)).text)[
        1
    ]
    ranks = ["read", "review", "operate"]
    for path, needed in ROLE_OF.items():
        if ranks.index(needed) > ranks.index(role):
            refused = await service.client.post(_filled(path), data={"csrf_token": token}, headers=mine)
            assert refused.status_code == 403, path
            assert f"requires the role {needed}" in refused.text, path


async def test_a_stranger_sends_nothing_but_a_key(service):
    stranger = {**PAGE, "X-API-Key": ""}
    page = (await service.client.get("/sign-in", headers=stranger)).text
    token = re.search(r'csrf_token" value="([0-9a-f]+)"', page)[1]
    for path in sorted({*ROLE_OF} - {"/sign-in"}):
        refused = await service.client.post(_filled(path), data={"csrf_token": token}, headers=stranger)
        assert refused.status_code == 401, path
