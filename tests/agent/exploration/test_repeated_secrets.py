"""What a website repeats of a secret that was typed to sign in is in nothing that an exploration keeps or tells."""

from __future__ import annotations

from agent.exploration.website_exploration import explore
from agent.redaction import Secrets
from kb_schema.exploration_folder import ExplorationFolder
from periplus.exploration.sign_in_requests import collect_secrets
from tests.agent.exploration.small_site import small_site

PASSWORD = "Secret-Pw-77123"
PAGE = f"""<title>{PASSWORD}</title><h1>Hello {PASSWORD}</h1><p>Ann</p><a href="/more">{PASSWORD}</a>
<button onclick="document.body.append('x')">Say {PASSWORD}</button>"""


async def test_a_password_that_every_page_repeats_is_not_kept(browser, tmp_path):
    secrets = Secrets()
    secrets.keep(PASSWORD)
    told: list[object] = []
    with small_site({"/": PAGE, "/more": PAGE.replace("Ann", "Bea")}) as site:
        await explore(browser, site.wanted(), tmp_path / "map", tell=told.append)
    pages = ExplorationFolder(tmp_path / "map").pages()
    assert pages
    assert not any(page.picture for page in pages)
    assert told
    assert PASSWORD not in "".join(map(repr, told))
    files = [each for each in (tmp_path / "map").rglob("*") if each.is_file()]
    assert files
    assert [each.name for each in files if PASSWORD.encode() in each.read_bytes()] == []


def test_of_a_form_the_inputs_that_are_called_so_are_secret_else_all():
    assert collect_secrets({"email": "ann@example.com", "password": PASSWORD}).values == {PASSWORD}
    assert collect_secrets({"who": "ann@example.com", "what": PASSWORD}).values == {
        "ann@example.com",
        PASSWORD,
    }
