"""What clients of a server may have typed: secrets that the operator named for the website, into fields for secrets."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from agent.execution.single_actions import perform_single_action
from agent.execution.task_runner import TaskRunner
from kb_schema.selectors import Selector
from periplus.browser_tools.browser_tabs import WITHOUT_KNOWLEDGE, _bare_knowledge
from periplus.session_setup import open_fresh_context, open_session
from periplus.trial_stores import open_trial_stores
from periplus.vault_setup import may_have_secrets, open_vault
from tests.support.small_sites import Answered, RunningSite, running_site

PAGE = """<title>Quay</title><form>
<label>Comment <input id=comment></label><label>Passphrase <input id=phrase></label>
<input id=key type=password><input id=code autocomplete="section-a one-time-code"></form>"""


@pytest.fixture
def site() -> Iterator[RunningSite]:
    with running_site(lambda _: Answered(PAGE)) as running:
        yield running


@pytest.fixture(autouse=True)
def secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PERIPLUS_KEYRING", "0")
    monkeypatch.setenv("PERIPLUS_SECRET_GENERAL", "of all websites")
    monkeypatch.setenv(f"PERIPLUS_SECRET_{WITHOUT_KNOWLEDGE.upper()}_OWN", "of this website")
    monkeypatch.delenv("PERIPLUS_SERVE_SECRETS", raising=False)


@pytest.mark.parametrize(
    ("named", "found"),
    [
        ("", False),
        ("shop/GENERAL", True),
        ("shop/general", True),
        ("other/GENERAL", False),
        ("shop/OTHER", False),
        ("https://shop.example/GENERAL", False),
    ],
)
@pytest.mark.parametrize("kind", ["variable", "file", "folder"])
async def test_a_general_secret_is_a_clients_only_if_it_is_named_for_the_website(
    monkeypatch, tmp_path, named, found, kind
):
    monkeypatch.setenv("PERIPLUS_SERVE_SECRETS", named)
    if kind != "variable":
        monkeypatch.delenv("PERIPLUS_SECRET_GENERAL")
        folder = tmp_path / "secrets"
        if kind == "folder":
            (folder / "shop").mkdir(parents=True)
            (folder / "GENERAL").write_text("of all websites")
            (folder / "shop" / "OWN").write_text("of the shop")
            for file in (folder / "GENERAL", folder / "shop" / "OWN"):
                file.chmod(0o600)
        else:
            folder.write_text("{GENERAL: of all websites, shop: {OWN: of the shop}}")
            folder.chmod(0o600)
        monkeypatch.setenv("PERIPLUS_SECRETS_FILE", str(folder))
    else:
        monkeypatch.setenv("PERIPLUS_SECRET_SHOP_OWN", "of the shop")
    vault = open_vault("shop", audited=False, for_client=True)
    assert (await vault.secret("GENERAL") is not None) is found
    assert await vault.secret("OWN") is not None
    assert await open_vault("shop", audited=False).secret("GENERAL") is not None


async def test_a_variable_that_may_be_another_websites_is_no_clients(monkeypatch):
    monkeypatch.setenv("PERIPLUS_SECRET_SHOP_ADMIN_PASSWORD", "of one of them")
    monkeypatch.setenv("PERIPLUS_SECRET_SHOP_CODE", "of the shop")
    both = ["shop", "shop_admin"]
    for website, name in {"shop": "admin_password", "shop_admin": "password"}.items():
        vault = open_vault(website, audited=False, for_client=True, websites=both)
        assert await vault.secret(name) is None
        alone = open_vault(website, audited=False, for_client=True, websites=[website])
        assert await alone.secret(name) is not None
        assert await open_vault(website, audited=False, websites=both).secret(name) is not None
    assert await open_vault("shop", audited=False, for_client=True, websites=both).secret("code") is not None


@pytest.mark.parametrize("new", ["shop_admin", "shop-admin", "SHOP.x", "Shop", "deli", "bakery", "quay"])
def test_a_new_website_whose_id_could_have_secrets_of_others_is_told(monkeypatch, tmp_path, new):
    """Those of a known website, those that wait in the environment or in the file for one of this id."""
    monkeypatch.setenv("PERIPLUS_SECRET_DELI_PASSWORD", "of the deli")
    file = tmp_path / "secrets"
    file.write_text("{bakery: {OWN: of the bakery}}")
    file.chmod(0o600)
    monkeypatch.setenv("PERIPLUS_SECRETS_FILE", str(file))
    assert may_have_secrets(new, ["shop", "quay_2"])
    assert not may_have_secrets("shopping", ["shop", "quay_2"])


async def test_the_seed_of_a_one_time_code_is_named_as_the_code(monkeypatch):
    monkeypatch.setenv("PERIPLUS_SECRET_CODE_TOTP", "JBSWY3DPEHPK3PXP")
    assert await open_vault("shop", audited=False, for_client=True).secret("code") is None
    monkeypatch.setenv("PERIPLUS_SERVE_SECRETS", "shop/CODE")
    assert await open_vault("shop", audited=False, for_client=True).secret("code") is not None


@pytest.mark.parametrize(
    ("field", "typed"), [("comment", False), ("phrase", True), ("key", True), ("code", True)]
)
async def test_a_client_has_secrets_typed_only_into_fields_for_secrets(browser, site, field, typed):
    selector = Selector.model_validate({"strategies": [{"type": "id", "value": field}]})
    async with (
        open_fresh_context(browser, None) as context,
        open_trial_stores(_bare_knowledge(site.base)) as stores,
        open_session(stores, context, WITHOUT_KNOWLEDGE, base_url=site.base, for_client=True) as session,
    ):
        engine = TaskRunner(session)
        await perform_single_action(engine, "navigate", url=f"{site.base}/")
        result = await perform_single_action(engine, "fill", selector, secret="own")
        value = await session.page.input_value(f"#{field}")
    assert result.complete is typed, result.error
    assert (value == "of this website") is typed
    if not typed:
        assert "'Comment' is no field for a secret" in str(result.error)
        assert value == ""


async def test_the_operators_own_run_types_it_where_the_step_says(browser, site):
    selector = Selector.model_validate({"strategies": [{"type": "id", "value": "comment"}]})
    async with (
        open_fresh_context(browser, None) as context,
        open_trial_stores(_bare_knowledge(site.base)) as stores,
        open_session(stores, context, WITHOUT_KNOWLEDGE, base_url=site.base) as session,
    ):
        engine = TaskRunner(session)
        await perform_single_action(engine, "navigate", url=f"{site.base}/")
        result = await perform_single_action(engine, "fill", selector, secret="general")
    assert result.complete, result.error
