"""An identity provider by OpenID Connect in a process of its own: it signs, redirects, and can be told to misbehave.

Run it with ``python openid_server.py``: it prints its address and serves until its standard input ends. A POST of JSON
to /control changes what it says next.
"""

from __future__ import annotations

import base64
import hashlib
import json
import secrets
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, parse_qsl, unquote_plus, urlencode, urlsplit

from joserfc import jwt
from joserfc.jwk import ECKey, RSAKey

CLIENT, SECRET = "aegis catalog", "s3cret:of the client"
DEFAULTS: dict[str, Any] = {
    "claims": {"sub": "u-1", "preferred_username": "Ada.Lovelace", "name": "Ada Lovelace", "groups": ["stewards"]},
    "userinfo": {},
    "token": {},  # claims that are put over those of the token
    "algorithm": "RS256",
    "error": None,
    "status": 200,
    "issuer_of_document": None,
    "key_id": None,
    "answer_issuer": None,
    "shift_seconds": 0,
    "breaks": 0,  # connections that end before anything is said
}


class Provider(ThreadingHTTPServer):
    """The state that all requests share."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.issuer = f"http://localhost:{self.server_address[1]}"
        self.codes: dict[str, dict[str, str]] = {}
        self.says = dict(DEFAULTS)
        self.key_fetches = 0
        self.rotate()

    def rotate(self) -> None:
        name = secrets.token_hex(4)
        self.keys: dict[str, Any] = {
            "RS256": RSAKey.generate_key(2048, {"kid": f"rsa-{name}", "use": "sig"}),
            "ES256": ECKey.generate_key("P-256", {"kid": f"ec-{name}", "use": "sig"}),
        }


class Handler(BaseHTTPRequestHandler):
    """Discovery, keys, the page where people agree (at once), tokens and user info."""

    server: Provider

    def log_message(self, *_: Any) -> None:
        return

    def do_GET(self) -> None:
        parts = urlsplit(self.path)
        given = dict(parse_qsl(parts.query))
        issuer, says = self.server.issuer, self.server.says
        if says["breaks"]:
            says["breaks"] -= 1
            self.close_connection = True
            return
        if parts.path == "/.well-known/openid-configuration":
            self._json(
                {
                    "issuer": says["issuer_of_document"] or issuer,
                    "authorization_endpoint": f"{issuer}/authorize",
                    "token_endpoint": f"{issuer}/token",
                    "userinfo_endpoint": f"{issuer}/userinfo",
                    "jwks_uri": f"{issuer}/keys",
                }
            )
        elif parts.path == "/keys":
            self.server.key_fetches += 1
            self._json({"keys": [key.as_dict(private=False) for key in self.server.keys.values()]})
        elif parts.path == "/authorize":
            self._authorize(given)
        elif parts.path == "/userinfo":
            fits = self.headers.get("Authorization") == "Bearer access-token"
            self._json(says["userinfo"] if fits else {}, 200 if fits else 401)
        elif parts.path == "/state":
            self._json({"key_fetches": self.server.key_fetches})
        else:
            self._json({}, 404)

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", "0"))).decode()
        if self.path == "/control":
            told = json.loads(body)
            if told.pop("rotate", False):
                self.server.rotate()
            self.server.says = {**DEFAULTS, **told}
            self._json({})
        elif self.path == "/token":
            self._token({name: values[0] for name, values in parse_qs(body).items()})
        else:
            self._json({}, 404)

    def _authorize(self, asked: dict[str, str]) -> None:
        right = asked.get("client_id") == CLIENT and asked.get("code_challenge_method") == "S256"
        if not right or asked.get("response_type") != "code" or "openid" not in asked.get("scope", "").split():
            self._json({"error": "invalid_request"}, 400)
            return
        says = self.server.says
        answer = {"state": asked["state"]}
        if says["answer_issuer"]:
            answer["iss"] = says["answer_issuer"]
        if says["error"]:
            answer["error"] = says["error"]
        else:
            code = secrets.token_urlsafe(16)
            self.server.codes[code] = asked
            answer["code"] = code
        self.send_response(302)
        self.send_header("Location", f"{asked['redirect_uri']}?{urlencode(answer)}")
        self.end_headers()

    def _token(self, sent: dict[str, str]) -> None:
        asked = self.server.codes.pop(sent.get("code", ""), None)
        scheme, _, given = self.headers.get("Authorization", "").partition(" ")
        name, _, secret = base64.b64decode(given).decode().partition(":") if scheme == "Basic" else ("", "", "")
        client = (unquote_plus(name), unquote_plus(secret)) == (CLIENT, SECRET)
        digest = hashlib.sha256(sent.get("code_verifier", "").encode()).digest()
        challenge = base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
        if not client:
            self._json({"error": "invalid_client"}, 401)
            return
        if (
            asked is None
            or asked["code_challenge"] != challenge
            or asked["redirect_uri"] != sent.get("redirect_uri")
            or sent.get("grant_type") != "authorization_code"
        ):
            self._json({"error": "invalid_grant"}, 400)
            return
        says = self.server.says
        now = int(time.time()) + says["shift_seconds"]
        claims = {
            "iss": self.server.issuer,
            "aud": CLIENT,
            "iat": now,
            "exp": now + 300,
            "nonce": asked["nonce"],
            **says["claims"],
            **says["token"],
        }
        claims = {name: value for name, value in claims.items() if value is not None}
        self._json(
            {"access_token": "access-token", "token_type": "Bearer", "id_token": self._signed(claims)}, says["status"]
        )

    def _signed(self, claims: dict[str, Any]) -> str:
        algorithm = self.server.says["algorithm"]
        if algorithm == "none":
            head, body = (
                base64.urlsafe_b64encode(json.dumps(part).encode()).rstrip(b"=").decode()
                for part in ({"alg": "none", "typ": "JWT"}, claims)
            )
            return f"{head}.{body}."
        if algorithm == "HS256":  # signed with what the client knows too
            from joserfc.jwk import OctKey

            return jwt.encode({"alg": "HS256"}, claims, OctKey.import_key(SECRET.ljust(32, ".")))
        key = self.server.keys[algorithm]
        return jwt.encode({"alg": algorithm, "kid": self.server.says["key_id"] or key.kid}, claims, key)

    def _json(self, content: Any, status: int = 200) -> None:
        body = json.dumps(content).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


if __name__ == "__main__":
    provider = Provider()
    threading.Thread(target=provider.serve_forever, daemon=True).start()
    print(provider.issuer, flush=True)
    sys.stdin.read()
