"""What the Spadeworks site gets wrong when a test asks it to, and that it does so for no other reason."""

import re
from pathlib import Path

import pytest
import yaml
from starlette.testclient import TestClient

from seeds.spadeworks.site.app import create_app
from seeds.spadeworks.site.bugs import Bug
from seeds.spadeworks.site.settings import DEMO_EMAIL, DEMO_PASSWORD, Settings

EXPECTED = Path(__file__).parents[1] / "data" / "verification" / "expected_classes.yaml"
AGENT = {"agent_name": "Nova Lane", "language": "en-US", "voice": "Calm"}


class Member:
    """Somebody signed in, and the controls of the site."""

    def __init__(self, ui_version):
        app = create_app(Settings(test_controls=True, ui_version=ui_version))
        self.client = TestClient(app)
        self.sign_in()

    def get(self, path):
        return self.client.get(path)

    def post(self, path, data=None, files=None):
        token = re.search(r'name="csrf-token" content="([^"]+)"', self.get("/authenticator").text)
        return self.client.post(path, data={"csrf_token": token[1], **(data or {})}, files=files)

    def sign_in(self):
        return self.post("/login?next=/dashboard", {"email": DEMO_EMAIL, "password": DEMO_PASSWORD})

    def has(self, bug):
        answer = self.client.post("/__control/bugs", json={"bug": bug})
        assert answer.status_code == 201, answer.text
        return answer.json()

    def state(self):
        return self.client.get("/__control/state").json()

    def agents(self):
        return [agent["name"] for agent in self.state()["agents"]]

    def an_agent(self):
        return f"/agent/{self.state()['agents'][0]['id']}"


@pytest.fixture(params=[1, 2], ids=["ui-v1", "ui-v2"])
def member(request):
    return Member(request.param)


def button(page, action):
    """The opening tag of the button whose id ends the same in both versions: `save-agent`, `saveAgentCtl`."""
    first, *rest = action.split("-")
    redesigned = first + "".join(part.capitalize() for part in rest) + "Ctl"
    found = re.findall(rf'<button[^>]* id="(?:{action}|{redesigned})"[^>]*>', page.text)
    return found[0] if found else ""


def test_total_of_a_review_is_wrong_and_what_is_launched_is_right(member):
    agent = member.state()["agents"][0]["id"]
    details = {"campaign_name": "Harbour call", "agent_id": agent, "start_date": "05/04/2031"}
    member.post("/campaign/create/details", details)
    audience = {"contact_list": "Renewals", "daily_limit": "20"}
    right = member.post("/campaign/create/audience", audience).text
    member.has("wrong_total")
    wrong = member.get("/campaign/create/review").text
    assert "<dd>16</dd>" in right
    assert "<dd>17</dd>" in wrong
    assert "will call 17 people" in wrong
    launched = member.post("/campaign/create/review")
    assert "<small>of 16</small>" in launched.text


def test_import_counts_wrongly_and_imports_rightly(member):
    member.has("wrong_import_count")
    file = "name,email,phone\nAda Byron,ada@byron.example,\nKen Mori,ken@mori.example,\n"
    page = member.post("/contacts/import", files={"contacts": ("new.csv", file, "text/csv")})
    assert "Imported 3 contacts" in page.text
    assert member.state()["counts"]["contacts_imported"] == 2


def test_toast_is_missing_then_and_later(member):
    member.has("missing_toast")
    assert "Agent created" not in member.post("/agent/create", AGENT).text
    assert member.agents()[-1] == "Nova Lane"
    member.client.delete("/__control/bugs")
    assert "Agent created" not in member.get("/agent").text


def test_deleted_agent_is_said_to_be_deleted_and_stays(member):
    before = member.agents()
    member.has("delete_keeps")
    assert "Agent deleted" in member.post(f"{member.an_agent()}/delete").text
    assert member.agents() == before


def test_script_of_the_agent_form_fails_and_the_form_works(member):
    member.has("console_error")
    assert "data-plan-usage" in member.get("/agent/create").text
    assert "data-plan-usage" not in member.get("/agent").text
    assert "Agent created successfully" in member.post("/agent/create", AGENT).text


def test_agent_without_a_name_is_accepted_and_without_a_language_is_not(member):
    member.has("validation_missing")
    refused = member.post("/agent/create", AGENT | {"agent_name": "", "language": ""})
    assert refused.status_code == 422
    assert "Agent created successfully" in member.post("/agent/create", AGENT | {"agent_name": ""}).text


def test_missing_name_is_refused_in_other_words(member):
    member.has("wrong_validation_text")
    page = member.post("/agent/create", AGENT | {"agent_name": ""})
    assert page.status_code == 422
    assert "Enter a name for the agent" not in page.text
    assert "Invalid input" in page.text


def test_edit_form_does_not_offer_to_delete(member):
    edit = f"{member.an_agent()}/edit"
    assert button(member.get(edit), "delete-agent")
    member.has("button_gone")
    page = member.get(edit)
    assert not button(page, "delete-agent")
    assert button(page, "save-agent")


def test_button_that_launches_opens_nothing(member):
    agent = member.state()["agents"][0]["id"]
    details = {"campaign_name": "Harbour call", "agent_id": agent, "start_date": "05/04/2031"}
    member.post("/campaign/create/details", details)
    page = member.post("/campaign/create/audience", {"contact_list": "Renewals", "daily_limit": "20"})
    assert "data-opens" in button(page, "launch-campaign")
    member.has("dead_button")
    assert "data-opens" not in button(member.get("/campaign/create/review"), "launch-campaign")


def test_signing_in_leads_elsewhere(member):
    assert member.sign_in().url.path == "/dashboard"
    member.has("wrong_redirect")
    assert member.sign_in().url.path == "/settings"


def test_name_loses_its_first_letter(member):
    member.has("wrong_name_saved")
    member.post("/agent/create", AGENT)
    assert member.agents()[-1] == "ova Lane"


def test_save_is_disabled(member):
    member.has("save_disabled")
    assert " disabled" in button(member.get("/agent/create"), "save-agent")


def test_overlay_lies_over_the_agent_form_and_cannot_be_closed(member):
    member.has("stuck_overlay")
    assert 'class="overlay"' not in member.get("/agent").text
    _, overlay = member.get("/agent/create").text.split('<div class="overlay">')
    assert "<button" not in overlay.partition("</div></div>")[0]


# --- the controls -----------------------------------------------------------------------------


def test_site_has_no_bug_and_its_pages_no_trace_of_one_unless_armed(member):
    assert member.state()["bugs"] == []
    for path in ("/agent/create", f"{member.an_agent()}/edit"):
        page = member.get(path)
        assert "data-plan-usage" not in page.text
        assert 'class="overlay"' not in page.text
        assert " disabled" not in button(page, "save-agent")


def test_bugs_are_listed_once_each_and_cleared(member):
    assert member.has("button_gone") == {"bug": "button_gone"}
    member.has("save_disabled")
    member.has("button_gone")
    assert member.client.get("/__control/bugs").json() == {"bugs": ["button_gone", "save_disabled"]}
    assert member.client.delete("/__control/bugs").json() == {"bugs": []}
    assert member.state()["bugs"] == []


def test_reset_fixes_every_bug(member):
    member.has("missing_toast")
    member.client.post("/__control/reset", json={})
    assert member.state()["bugs"] == []


@pytest.mark.parametrize("body", [{"bug": "earthquake"}, {"bug": 7}, {}, {"bug": "button_gone", "times": 1}])
def test_bug_that_nobody_knows_is_refused_and_the_known_are_named(member, body):
    answer = member.client.post("/__control/bugs", json=body)
    assert answer.status_code == 400
    assert answer.json()["error"]
    assert member.state()["bugs"] == []


def test_bugs_cannot_be_armed_without_the_test_controls():
    app = create_app(Settings())
    client = TestClient(app)
    assert client.post("/__control/bugs", json={"bug": "button_gone"}).status_code == 404
    assert app.state.site.bugs.all() == []


def test_every_bug_that_a_root_cause_is_expected_for_exists_and_every_other_is_expected_somewhere():
    cases = [case for group in yaml.safe_load(EXPECTED.read_text()).values() for case in group]
    assert {case["bug"] for case in cases if "bug" in case} == set(Bug)
