from __future__ import annotations

import json
import time
import urllib.error

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec, rsa

from mcp_server.security.oauth_tokens import (
    ASK_AGAIN_S,
    KEYS_LIVE_S,
    IssuerKeys,
    OAuthResource,
    OAuthTokenVerifier,
)

ISSUER = "https://login.example"
US = "https://kb.example/mcp"
RSA = rsa.generate_private_key(public_exponent=65_537, key_size=2_048)
EC = ec.generate_private_key(ec.SECP256R1())
STRANGER = rsa.generate_private_key(public_exponent=65_537, key_size=2_048)


def published(**keys):
    algorithms = {"rsa": (jwt.algorithms.RSAAlgorithm, RSA), "ec": (jwt.algorithms.ECAlgorithm, EC)}
    found = []
    for key_id, kind in keys.items():
        algorithm, key = algorithms[kind]
        found.append({**json.loads(algorithm.to_jwk(key.public_key())), "kid": key_id, "use": "sig"})
    return {"keys": found}


class Issuer:
    """What an issuer publishes, and how often it was asked."""

    def __init__(self, keys=None, *, metadata_at="/.well-known/oauth-authorization-server"):
        self.keys = keys or published(one="rsa", two="ec")
        self.metadata_at = metadata_at
        self.asked: list[str] = []
        self.down = False

    async def __call__(self, url):
        self.asked.append(url)
        if self.down:
            raise OSError("refused")
        if url == f"{ISSUER}{self.metadata_at}":
            return {"issuer": ISSUER, "jwks_uri": f"{ISSUER}/keys"}
        if url == f"{ISSUER}/keys":
            return self.keys
        raise urllib.error.HTTPError(url, 404, "not found", None, None)


def token(*, key=RSA, key_id="one", algorithm="RS256", **claims):
    said = {
        "iss": ISSUER,
        "aud": US,
        "exp": int(time.time()) + 86_400,
        "sub": "somebody",
        "client_id": "app",
        "scope": "read write",
        **claims,
    }
    said = {name: value for name, value in said.items() if value is not None}
    return jwt.encode(said, key, algorithm=algorithm, headers={"kid": key_id})


def verifier(issuer=None, **resource):
    where = OAuthResource(ISSUER, US, **resource)
    return OAuthTokenVerifier(where, IssuerKeys(where, issuer or Issuer()))


@pytest.mark.parametrize(
    ("made", "scopes"),
    [
        (token(), ["read", "write"]),
        (token(key=EC, key_id="two", algorithm="ES256"), ["read", "write"]),
        (token(scope="read email"), ["read"]),
        (token(scope=None, scp=["write"]), ["read", "write"]),
        (token(scope="admin"), []),
        (token(scope=None), []),
        (token(aud=["https://other.example", US]), ["read", "write"]),
    ],
)
async def test_a_token_of_our_issuer_for_us_has_the_scopes_it_names(made, scopes):
    found = await verifier().verify_token(made)
    assert found is not None
    assert (found.client_id, found.subject, found.scopes) == ("app", "somebody", scopes)
    assert made not in found.model_dump_json()


PUBLIC = str(RSA.public_key().public_numbers().n)
"""Whoever takes what is published for a secret takes this."""


@pytest.mark.parametrize(
    "made",
    [
        token(aud="https://other.example/mcp"),
        token(aud=None),
        token(iss="https://evil.example"),
        token(exp=int(time.time()) - 60),
        token(exp=None),
        token(nbf=int(time.time()) + 86_400),
        token(key=STRANGER),
        token(key_id="nobody"),
        token(key=None, algorithm="none"),
        token(key=PUBLIC, algorithm="HS256"),
        token()[:-4] + "AAAA",
        "not.a.token",
        "",
        "ppl_something",
    ],
)
async def test_any_other_token_is_nobody_s(made):
    assert await verifier().verify_token(made) is None


@pytest.mark.parametrize(
    "path", ["/.well-known/oauth-authorization-server", "/.well-known/openid-configuration"]
)
async def test_the_keys_are_found_by_the_issuer_s_metadata(path):
    issuer = Issuer(metadata_at=path)
    assert await verifier(issuer).verify_token(token()) is not None
    assert issuer.asked[-1] == f"{ISSUER}/keys"


async def test_where_the_keys_are_may_be_said():
    issuer = Issuer()
    assert await verifier(issuer, jwks_url=f"{ISSUER}/keys").verify_token(token()) is not None
    assert issuer.asked == [f"{ISSUER}/keys"]


async def test_keys_that_rotate_are_found_and_unknown_ones_do_not_make_us_ask_each_time():
    now = 1_000.0
    where = OAuthResource(ISSUER, US, f"{ISSUER}/keys")
    issuer = Issuer(published(one="rsa"))
    keys = IssuerKeys(where, issuer, clock=lambda: now)
    tokens = OAuthTokenVerifier(where, keys)
    assert await tokens.verify_token(token()) is not None
    issuer.keys = published(three="ec")
    rotated = token(key=EC, key_id="three", algorithm="ES256")
    for _ in range(5):
        assert await tokens.verify_token(rotated) is None
    assert len(issuer.asked) == 1
    now += ASK_AGAIN_S
    assert await tokens.verify_token(rotated) is not None
    assert await tokens.verify_token(token()) is None  # that key is gone
    assert len(issuer.asked) == 2


async def test_an_issuer_that_is_down_locks_nobody_out_whose_key_is_known():
    now = 1_000.0
    where = OAuthResource(ISSUER, US, f"{ISSUER}/keys")
    issuer = Issuer()
    tokens = OAuthTokenVerifier(where, IssuerKeys(where, issuer, clock=lambda: now))
    assert await tokens.verify_token(token()) is not None
    issuer.down = True
    now += KEYS_LIVE_S + 1
    assert await tokens.verify_token(token()) is not None
    assert await tokens.verify_token(token(key=EC, key_id="nobody", algorithm="ES256")) is None
