"""An OpenID Connect issuer that listens: discovery, keys, a sign-in form, codes with PKCE, ID tokens in RS256.

It is another site than 127.0.0.1 for a browser, because its address is `localhost`. A test sets what it does wrong.
"""

from __future__ import annotations

import base64
import hashlib
import json
import secrets
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, unquote_plus, urlencode, urlsplit

import jwt
from cryptography.hazmat.primitives.asymmetric import rsa

CLIENT, SECRET = "periplus-console", "a secret: with+signs"
_KEY = rsa.generate_private_key(public_exponent=65_537, key_size=2_048)
_STRANGER = rsa.generate_private_key(public_exponent=65_537, key_size=2_048)


@dataclass
class OidcIssuer:
    """What the issuer knows, and what it does wrong."""

    url: str = ""
    people: dict[str, dict[str, Any]] = field(default_factory=dict)
    """Name -> claims; the password of everybody is `open`."""
    wrong_claims: dict[str, Any] = field(default_factory=dict)
    """Claims of ID tokens that replace the right ones; None: left out."""
    wrong_state: str | None = None
    wrong_key: bool = False
    no_code: bool = False
    ends_sessions: bool = False
    """Whether it has an `end_session_endpoint`."""
    ended: list[dict[str, str]] = field(default_factory=list)
    """What was asked of that."""
    codes: dict[str, dict[str, str]] = field(default_factory=dict)
    refused: list[str] = field(default_factory=list)
    """Why token requests were refused."""

    def published_keys(self) -> dict[str, Any]:
        key = json.loads(jwt.algorithms.RSAAlgorithm.to_jwk(_KEY.public_key()))
        return {"keys": [{**key, "kid": "one", "use": "sig", "alg": "RS256"}]}

    def discovery(self) -> dict[str, Any]:
        return {
            "issuer": self.url,
            "authorization_endpoint": f"{self.url}/authorize",
            "token_endpoint": f"{self.url}/token",
            "jwks_uri": f"{self.url}/keys",
            **({"end_session_endpoint": f"{self.url}/end?theme=plain"} if self.ends_sessions else {}),
        }

    def sign_in(self, asked: dict[str, str], name: str) -> str:
        """Give a code; the address to send the browser back to."""
        code = secrets.token_urlsafe(16)
        self.codes[code] = {**asked, "name": name}
        answer = {"state": self.wrong_state or asked["state"], "code": code}
        if self.no_code:
            answer = {"state": asked["state"], "error": "access_denied"}
        return f"{asked['redirect_uri']}?{urlencode(answer)}"

    def token(self, form: dict[str, str], authorization: str) -> dict[str, Any] | None:
        """The answer to a code; None if anything is wrong. A code is good once."""
        asked = self.codes.pop(form.get("code", ""), None)
        digest = hashlib.sha256(form.get("code_verifier", "").encode()).digest()
        challenge = base64.urlsafe_b64encode(digest).decode().rstrip("=")
        client, _, secret = base64.b64decode(authorization.removeprefix("Basic ")).decode().partition(":")
        checks = {
            "code": asked is not None,
            "verifier": asked is not None and asked.get("code_challenge") == challenge,
            "method": asked is not None and asked.get("code_challenge_method") == "S256",
            "redirect": asked is not None and asked.get("redirect_uri") == form.get("redirect_uri"),
            "client": (unquote_plus(client), unquote_plus(secret)) == (CLIENT, SECRET),
        }
        wrong = [name for name, holds in checks.items() if not holds]
        if wrong or asked is None:
            self.refused += wrong
            return None
        now = int(time.time())
        claims = {
            "iss": self.url, "aud": CLIENT, "sub": asked["name"], "iat": now, "exp": now + 300,
            "nonce": asked["nonce"], **self.people[asked["name"]], **self.wrong_claims,
        }  # fmt: skip
        claims = {name: value for name, value in claims.items() if value is not None}
        key = _STRANGER if self.wrong_key else _KEY
        token = jwt.encode(claims, key, algorithm="RS256", headers={"kid": "one"})
        return {"access_token": "x", "token_type": "Bearer", "id_token": token}


@contextmanager
def issuing(**people: dict[str, Any]) -> Iterator[OidcIssuer]:
    """An issuer that knows these people."""
    issuer = OidcIssuer(people=people)

    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            """Say nothing."""

        def do_GET(self) -> None:
            path, _, query = self.path.partition("?")
            known = {"/.well-known/openid-configuration": issuer.discovery, "/keys": issuer.published_keys}
            if path in known:
                self._answer(200, json.dumps(known[path]()), "application/json")
            elif path == "/authorize":
                form = (
                    f'<form method="post" action="/authorize?{query.replace("&", "&amp;")}"><label>Name <input name="name">'
                    '</label><label>Password <input name="password" type="password"></label><button>Allow</button></form>'
                )
                self._answer(200, f"<!doctype html><title>Issuer</title>{form}", "text/html")
            elif path == "/end":
                issuer.ended.append({name: values[0] for name, values in parse_qs(query).items()})
                to = issuer.ended[-1].get("post_logout_redirect_uri")
                link = "" if to is None else f'<a href="{to}">Back</a>'
                self._answer(
                    200, f"<!doctype html><title>Issuer</title><h1>Signed out</h1>{link}", "text/html"
                )
            else:
                self._answer(404, "", "text/plain")

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"])).decode()
            form = {name: values[0] for name, values in parse_qs(body).items()}
            url = urlsplit(self.path)
            if url.path == "/authorize":
                asked = {name: values[0] for name, values in parse_qs(url.query).items()}
                if form.get("name") not in issuer.people or form.get("password") != "open":
                    self._answer(403, "unknown", "text/plain")
                    return
                self.send_response(303)
                self.send_header("Location", issuer.sign_in(asked, form["name"]))
                self.send_header("Content-Length", "0")
                self.end_headers()
                return
            found = issuer.token(form, self.headers.get("Authorization", ""))
            error = '{"error": "invalid_grant"}'
            self._answer(
                400 if found is None else 200, json.dumps(found) if found else error, "application/json"
            )

        def _answer(self, status: int, text: str, kind: str) -> None:
            self.send_response(status)
            self.send_header("Content-Type", f"{kind}; charset=utf-8")
            self.send_header("Content-Length", str(len(text.encode())))
            self.end_headers()
            self.wfile.write(text.encode())

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    issuer.url = f"http://localhost:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield issuer
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
