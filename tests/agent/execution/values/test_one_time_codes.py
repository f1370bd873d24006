"""A TOTP secret becomes the current code, and a new one at the step that types it."""

from __future__ import annotations

import base64

import pytest

from agent.errors import PersonNeeded
from agent.execution.values.input_resolution import check_required_inputs, refresh_inputs, resolve_inputs
from agent.execution.values.one_time_codes import ONE_TIME_CODE, OneTimeCodeVault, parse_totp_secret
from agent.execution.values.secret_vaults import EnvironmentVault, FileVault
from agent.run_context import RunContext
from kb_schema.tasks import Task

# The keys and codes of RFC 6238, appendix B: digest, key, {seconds: code of eight digits}.
RFC_6238 = [
    ("SHA1", b"12345678901234567890", {59: "94287082", 1111111109: "07081804", 20000000000: "65353130"}),
    ("SHA256", b"12345678901234567890123456789012", {59: "46119246", 1111111109: "68084774", 20000000000: "77737706"}),
    (
        "SHA512",
        b"1234567890123456789012345678901234567890123456789012345678901234",
        {59: "90693936", 1111111109: "25091201", 20000000000: "47863826"},
    ),
]  # fmt: skip
KEY = base64.b32encode(b"12345678901234567890").decode()


@pytest.mark.parametrize(("digest", "key", "codes"), RFC_6238, ids=[each[0] for each in RFC_6238])
def test_the_codes_are_those_of_the_rfc(digest, key, codes):
    secret = base64.b32encode(key).decode().rstrip("=")
    found = parse_totp_secret(
        f"otpauth://totp/Shop:me?secret={secret}&digits=8&algorithm={digest}&issuer=Shop"
    )
    assert {seconds: found.code_at(seconds) for seconds in codes} == codes


def test_a_secret_is_read_as_sites_show_it():
    spaced = " ".join(KEY[at : at + 4] for at in range(0, len(KEY), 4)).lower()
    assert parse_totp_secret(f" {spaced}\n") == parse_totp_secret(KEY)
    assert parse_totp_secret(KEY).code_at(59) == "287082"
    shown = repr(parse_totp_secret(KEY))
    assert KEY not in shown
    assert "12345678901234567890" not in shown  # what the key encodes


@pytest.mark.parametrize(
    "text",
    ["", "not base32!", "otpauth://hotp/x?secret=" + KEY, f"otpauth://totp/x?secret={KEY}&digits=99",
     f"otpauth://totp/x?secret={KEY}&period=x", f"otpauth://totp/x?secret={KEY}&algorithm=MD5", "otpauth://totp/x", "otpauth://[x"],
)  # fmt: skip
async def test_a_secret_that_cannot_be_used_is_named_and_not_quoted(text):
    vault = OneTimeCodeVault(EnvironmentVault("shop", {"PERIPLUS_SECRET_CODE_TOTP": text or "="}))
    with pytest.raises(PersonNeeded, match="code_totp") as refused:
        await vault.secret("code")
    assert KEY not in f"{refused.value} {refused.value.hint}"
    assert refused.value.__cause__ is None


async def test_a_stored_secret_goes_before_a_code_and_a_websites_own_before_any(tmp_path):
    environ = {"PERIPLUS_SECRET_CODE_TOTP": "AAAA", "PERIPLUS_SECRET_SHOP_CODE_TOTP": KEY, "PERIPLUS_SECRET_PIN": "1",
               "PERIPLUS_SECRET_PIN_TOTP": KEY}  # fmt: skip
    vault = OneTimeCodeVault(EnvironmentVault("shop", environ), clock=lambda: 59.0)
    assert await vault.secret("code") == ("287082", ONE_TIME_CODE)
    assert await vault.secret("pin") == ("1", "environment")
    assert await vault.secret("other") is None
    file = tmp_path / "secrets.yaml"
    file.write_text(f"code_totp: {KEY}\n")
    file.chmod(0o600)
    assert await OneTimeCodeVault(FileVault(file, "shop"), lambda: 59.0).secret("code") == (
        "287082",
        ONE_TIME_CODE,
    )


@pytest.mark.parametrize("extra", [{}, {"source": "scraped|user_input", "refresh_on_use": True, "extraction": {
    "method": "dom_extraction", "selector": "#code"}}], ids=["plain", "read from a page"])  # fmt: skip
async def test_the_step_that_types_a_code_gets_the_one_of_that_moment(extra):
    now = [59.0]
    spec = {"name": "code", "secret": True, **extra}
    task = Task.model_validate(
        {"task_id": "t", "steps": [{"step_id": "s", "action": "no_op"}], "io_spec": {"inputs": [spec]}}
    )
    environ = {"PERIPLUS_SECRET_CODE_TOTP": KEY}
    context = RunContext(vault=OneTimeCodeVault(EnvironmentVault("shop", environ), lambda: now[0]))

    async def scrape(*_request):
        raise AssertionError("the page is not asked for a code that the vault has")

    await check_required_inputs("t", task.io_spec, {}, context)
    told = {}
    values = await resolve_inputs(task, {}, context, scrape=scrape, tell=told.__setitem__, built_ins=None)
    assert values["code"] == "287082"
    now[0] = 1_111_111_109.0
    assert await refresh_inputs(task, ["code"], (), values, context, scrape=scrape) == {"code": "081804"}
    assert await refresh_inputs(task, ["code"], ["code"], values, context, scrape=scrape) == {}
    assert context.redact("code 081804, before 287082, key") == context.redact(
        "code X, before Y, key"
    ).replace("X", context.redact("081804")).replace("Y", context.redact("287082"))
    assert "081804" not in context.redact("081804")
