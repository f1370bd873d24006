"""Clients use a secret only at the website for which the operator named it."""

from __future__ import annotations

import pytest

from kb_schema.verification import Requirement, RequirementStep
from kb_schema.websites import Website
from periplus.errors import UserError
from periplus.named_secrets import ServedSecret
from periplus.service.served_secrets import SecretRefused, ServedSecrets
from periplus.service.service_settings import load_serve_settings
from periplus.verifier_ports import NO_SITE
from tests.periplus.service.service_support import KEY, STEPS, served

SHOP = Website(
    website_id="shop",
    name="Shop",
    base_url="https://shop.example.com/app",
    allowed_origins=("https://login.example.com",),
)


def _requirement(url: str, *names: str, login: str | None = None) -> Requirement:
    steps = [
        RequirementStep(intent="P", element="P", action="fill", value=f"{{secret:{name}}}") for name in names
    ]
    start = RequirementStep(intent="Start", element="Start", action="click")
    return Requirement(req_id="A", url=url, login=login, steps=(start, *steps))


def _grants(*named: str) -> ServedSecrets:
    async def websites() -> list[Website]:
        return [SHOP]

    return ServedSecrets(frozenset(map(ServedSecret.parse, named)), websites)


async def test_a_secret_is_granted_at_its_website_and_typed_on_its_origins(monkeypatch):
    monkeypatch.setenv("PERIPLUS_SECRET_SHOP_PASSWORD", "open-sesame")
    for url in ("https://shop.example.com/x", "https://login.example.com/sign-in"):
        grant = await _grants("shop/PASSWORD").grant(_requirement(url, "PASSWORD"))
        assert grant.secrets == {"PASSWORD": "open-sesame"}
        assert grant.origins == ("https://login.example.com", "https://shop.example.com")
        assert grant.website_id == "shop"


async def test_a_website_without_knowledge_is_named_by_its_origin(monkeypatch):
    monkeypatch.setenv("PERIPLUS_SECRET_BANK_EXAMPLE_COM_PIN", "4711")
    grant = await _grants("https://bank.example.com/PIN").grant(
        _requirement("https://bank.example.com/", "PIN")
    )
    assert grant.secrets == {"PIN": "4711"}
    assert grant.origins == ("https://bank.example.com",)


@pytest.mark.parametrize(
    ("url", "name"),
    [
        ("https://attacker.example/", "PASSWORD"),
        ("https://shop.example.com.attacker.example/", "PASSWORD"),
        ("https://shop.example.com@attacker.example/", "PASSWORD"),
        ("http://shop.example.com/", "PASSWORD"),
        ("https://shop.example.com:8443/", "PASSWORD"),
        ("https://shop.example.com/", "PIN"),
        ("https://shop.example.com/", "HOME"),
        ("https://shop.example.com/", "PERIPLUS_SECRET_SHOP_PASSWORD"),
        ("https://bank.example.com/", "PASSWORD"),
    ],
)
async def test_no_other_address_and_no_other_secret(monkeypatch, url, name):
    monkeypatch.setenv("PERIPLUS_SECRET_PASSWORD", "open-sesame")
    monkeypatch.setenv("PERIPLUS_SECRET_PIN", "4711")
    monkeypatch.setenv("PASSWORD", "bare")
    grants = _grants("shop/PASSWORD", "https://bank.example.com/PIN")
    with pytest.raises(SecretRefused, match="clients may not use") as refused:
        await grants.grant(_requirement(url, name))
    assert refused.value.name == name
    with pytest.raises(UserError, match="clients may not use"):
        await grants.grant_or_fail(_requirement(url, name))


async def test_an_environment_variable_by_its_bare_name_is_no_secret(monkeypatch):
    monkeypatch.setenv("PASSWORD", "bare")
    with pytest.raises(SecretRefused, match="has no value"):
        await _grants("shop/PASSWORD").grant(_requirement("https://shop.example.com/", "PASSWORD"))


async def test_a_login_task_types_secrets_too_and_is_for_its_own_website():
    grants = _grants()
    with pytest.raises(SecretRefused, match="another website"):
        await grants.grant(_requirement("https://attacker.example/", login="sign_in"))
    allowed = await grants.grant(_requirement("https://shop.example.com/", login="sign_in"))
    assert allowed.website_id == "shop"
    assert await grants.grant(_requirement("https://attacker.example/")) is NO_SITE


@pytest.mark.parametrize(
    "text", ["SHOP_PASSWORD", "SHOP_*", "*", "shop/*", "shop/", "/NAME", "https://a.b/c/NAME", "shop/a-b"]
)
def test_what_names_no_website_is_refused_at_the_start(monkeypatch, text):
    monkeypatch.setenv("PERIPLUS_SERVE_SECRETS", text)
    with pytest.raises(UserError, match=r"PERIPLUS_SERVE_SECRETS: .*WEBSITE/"):
        load_serve_settings()


def test_the_setting_lists_secrets_with_their_websites(monkeypatch):
    monkeypatch.setenv("PERIPLUS_SERVE_SECRETS", "shop/PASSWORD, https://bank.example.com/PIN")
    monkeypatch.setenv("PERIPLUS_API_KEY", KEY)
    assert load_serve_settings().serve_secrets == {
        ServedSecret("shop", "PASSWORD"),
        ServedSecret("https://bank.example.com", "PIN"),
    }


async def test_a_submission_gets_the_secret_of_its_website_when_it_runs(tmp_path, monkeypatch):
    monkeypatch.setenv("PERIPLUS_SECRET_PASSWORD", "open-sesame")
    steps = [*STEPS[:1], "Password | fill | {secret:PASSWORD}"]
    async with served(tmp_path, serve_secrets="https://shop.example.com/PASSWORD") as service:
        refused = await service.client.post(
            "/api/run", json={"req_id": "B", "url": "http://attacker.example/", "steps": steps}
        )
        assert refused.status_code == 403
        assert [each["location"] for each in refused.json()["errors"]] == ["body.steps[1]"]
        assert (await service.submit("A", steps=steps)).status_code == 202
        await service.over("A")
        assert service.quick.began == ["A"]
        assert [each.secrets for each in service.quick.sites] == [{"PASSWORD": "open-sesame"}]
        assert "open-sesame" not in str(await service.run("A"))
