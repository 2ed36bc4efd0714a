"""An identity provider by OpenID Connect, from the side of the catalog: authorization code with PKCE.

The provider is asked over a verified connection to the addresses that its own discovery document names. What it says
of a person counts only if the token is signed by one of its keys, for this catalog, for the browser that asked, and
now. Nothing that it sends, and no secret, enters an error or a log.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import os
import secrets
import ssl
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any
from urllib.parse import urlencode, urlsplit

import httpx
from joserfc import jwt
from joserfc.errors import InvalidKeyIdError, JoseError
from joserfc.jwk import KeySet

from aegis.catalog.settings import OIDC_SECRET_VARIABLE, Settings
from aegis.errors import EngineError, NotSignedInError

CALLBACK = "/sign-in/oidc/callback"
_ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA", "Ed25519")
"""Signatures by a key that only the provider has: neither none nor one that the client secret could make."""
_SECONDS = 10.0
_MOST_BYTES = 1 << 20
_DOCUMENT_SECONDS = 3_600.0
_KEYS_AGAIN_SECONDS = 5.0
"""How often at most the keys are fetched because a token names one that is not known."""
_UNREACHABLE = "the identity provider cannot be reached or answers with something else; try again in a moment"
_NOT_TRUSTED = "what the identity provider said of you does not hold; sign in again, or tell an administrator"


@dataclass(frozen=True, slots=True, kw_only=True)
class Flow:
    """What ties an answer of the provider to the browser that asked; it lies in a cookie of that browser."""

    state: str = field(repr=False)
    nonce: str = field(repr=False)
    verifier: str = field(repr=False)
    next: str = ""
    links: str = ""
    """The id of whoever, being signed in, adds this way to sign in to their account; empty for a sign-in."""

    @classmethod
    def new(cls, *, next_path: str = "", links: str = "") -> Flow:
        """Fresh secrets, 256 bits each."""
        state, nonce, verifier = (secrets.token_urlsafe(32) for _ in range(3))
        return cls(state=state, nonce=nonce, verifier=verifier, next=next_path, links=links)

    def to_cookie(self) -> str:
        content = [self.state, self.nonce, self.verifier, self.next, self.links]
        return base64.urlsafe_b64encode(json.dumps(content).encode()).decode()

    @classmethod
    def from_cookie(cls, value: str) -> Flow | None:
        """What a browser sends back; None for what is not ours."""
        try:
            state, nonce, verifier, next_path, links = json.loads(base64.urlsafe_b64decode(value))
        except (ValueError, TypeError):
            return None
        texts = (state, nonce, verifier, next_path, links)
        if not all(isinstance(text, str) for text in texts) or not all(len(text) >= 32 for text in texts[:3]):
            return None
        return cls(state=state, nonce=nonce, verifier=verifier, next=next_path, links=links)

    @property
    def challenge(self) -> str:
        digest = hashlib.sha256(self.verifier.encode()).digest()
        return base64.urlsafe_b64encode(digest).rstrip(b"=").decode()


@dataclass(frozen=True, slots=True, kw_only=True)
class ExternalPerson:
    """Somebody whom the provider vouches for; ``subject`` is what it calls them for good."""

    issuer: str
    subject: str
    name: str
    display_name: str
    groups: frozenset[str]


class OpenIdProvider:
    """The provider of the settings; its documents and keys are kept for a while. Safe for several threads."""

    def __init__(
        self,
        settings: Settings,
        *,
        client_secret: str | None = None,
        clock: Callable[[], float] = time.time,
        ticking: Callable[[], float] = time.monotonic,
    ) -> None:
        self._settings = settings
        self._secret = os.environ.get(OIDC_SECRET_VARIABLE, "") if client_secret is None else client_secret
        self._clock, self._ticking = clock, ticking
        self._lock = threading.Lock()
        self._document: tuple[float, dict[str, Any]] | None = None
        self._keys: tuple[float, KeySet] | None = None

    @property
    def redirect_uri(self) -> str:
        return self._settings.public_url.rstrip("/") + CALLBACK

    def authorization_address(self, flow: Flow) -> str:
        """Where the browser goes to sign in."""
        parameters = {
            "response_type": "code",
            "client_id": self._settings.oidc_client_id,
            "redirect_uri": self.redirect_uri,
            "scope": self._settings.oidc_scopes,
            "state": flow.state,
            "nonce": flow.nonce,
            "code_challenge": flow.challenge,
            "code_challenge_method": "S256",
        }
        endpoint = self._endpoint("authorization_endpoint")
        return f"{endpoint}{'&' if '?' in endpoint else '?'}{urlencode(parameters)}"

    def person(self, flow: Flow, answer: Mapping[str, str]) -> ExternalPerson:
        """Whom the provider vouches for in its answer; `NotSignedInError` where it does not, or is not believed.

        ``answer`` is the query with which the provider sent the browser back.
        """
        if not hmac.compare_digest(answer.get("state", "").encode(), flow.state.encode()):
            raise NotSignedInError("this answer belongs to no sign-in of this browser; begin again")
        if answer.get("iss", self._settings.oidc_issuer) != self._settings.oidc_issuer:
            raise NotSignedInError(_NOT_TRUSTED)
        if "error" in answer:
            raise NotSignedInError("the identity provider did not sign you in; try again, or ask whoever runs it")
        code = answer.get("code", "")
        if not 1 <= len(code) <= 4_096 or not code.isprintable():
            raise NotSignedInError("the identity provider sent no code; begin again")
        tokens = self._exchange(code, flow)
        claims = self._claims(tokens.get("id_token"), nonce=flow.nonce)
        if self._settings.oidc_groups_claim not in claims and "access_token" in tokens:
            claims = {**self._more_claims(tokens["access_token"], subject=claims["sub"]), **claims}
        return self._vouched_for(claims)

    def _exchange(self, code: str, flow: Flow) -> dict[str, Any]:
        form = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": self.redirect_uri,
            "code_verifier": flow.verifier,
        }
        client_id = self._settings.oidc_client_id
        supported = self._discovered().get("token_endpoint_auth_methods_supported", ["client_secret_basic"])
        authorization: httpx.Auth | None = None
        if not self._secret:
            form["client_id"] = client_id
        elif "client_secret_basic" in supported or "client_secret_post" not in supported:
            # Both are form-encoded before they are joined (RFC 6749, section 2.3.1).
            authorization = httpx.BasicAuth(_form_encoded(client_id), _form_encoded(self._secret))
        else:
            form |= {"client_id": client_id, "client_secret": self._secret}
        status, content = self._ask("POST", self._endpoint("token_endpoint"), data=form, auth=authorization)
        if status in (400, 401, 403):
            raise NotSignedInError("the identity provider does not accept the code; sign in again")
        if status != 200:
            raise EngineError(_UNREACHABLE)
        return content

    def _claims(self, token: Any, *, nonce: str) -> dict[str, Any]:
        if not isinstance(token, str):
            raise NotSignedInError(_NOT_TRUSTED)
        try:
            claims = dict(self._decoded(token).claims)
            jwt.JWTClaimsRegistry(
                now=lambda: int(self._clock()),
                leeway=self._settings.oidc_skew_seconds,
                iss={"essential": True, "value": self._settings.oidc_issuer},
                aud={"essential": True, "value": self._settings.oidc_client_id},
                sub={"essential": True},
                exp={"essential": True},
                iat={"essential": True},
            ).validate(claims)
        except (JoseError, ValueError):
            raise NotSignedInError(_NOT_TRUSTED) from None
        several = isinstance(claims["aud"], list) and len(claims["aud"]) > 1
        for_us = claims.get("azp", None if several else self._settings.oidc_client_id) == self._settings.oidc_client_id
        fits = isinstance(claims.get("nonce"), str) and hmac.compare_digest(claims["nonce"].encode(), nonce.encode())
        if not for_us or not fits:
            raise NotSignedInError(_NOT_TRUSTED)
        return claims

    def _decoded(self, token: str) -> jwt.Token:
        """Check the signature; keys that are not known are fetched once more: the provider may have changed them."""
        try:
            return jwt.decode(token, self._key_set(), algorithms=_ALGORITHMS)
        except InvalidKeyIdError:
            return jwt.decode(token, self._key_set(again=True), algorithms=_ALGORITHMS)

    def _more_claims(self, access_token: Any, *, subject: str) -> dict[str, Any]:
        if not isinstance(access_token, str) or "userinfo_endpoint" not in self._discovered():
            return {}
        authorization = {"Authorization": f"Bearer {access_token}"}
        status, content = self._ask("GET", self._endpoint("userinfo_endpoint"), headers=authorization)
        if status != 200:
            raise EngineError(_UNREACHABLE)
        if content.get("sub") != subject:  # of somebody else (OpenID Connect Core, section 5.3.2)
            raise NotSignedInError(_NOT_TRUSTED)
        return content

    def _vouched_for(self, claims: Mapping[str, Any]) -> ExternalPerson:
        subject = claims["sub"]
        if not 1 <= len(subject) <= 255 or not subject.isprintable():
            raise NotSignedInError(_NOT_TRUSTED)
        groups = claims.get(self._settings.oidc_groups_claim, [])
        listed = [groups] if isinstance(groups, str) else groups if isinstance(groups, list) else []
        name = claims.get(self._settings.oidc_name_claim)
        named = claims.get("name")
        return ExternalPerson(
            issuer=self._settings.oidc_issuer,
            subject=subject,
            name=name if isinstance(name, str) else "",
            display_name=named if isinstance(named, str) else "",
            groups=frozenset(group for group in listed if isinstance(group, str)),
        )

    def _endpoint(self, name: str) -> str:
        endpoint = self._discovered().get(name)
        own = urlsplit(self._settings.oidc_issuer).scheme
        if not isinstance(endpoint, str) or urlsplit(endpoint).scheme not in ("https", own):
            raise EngineError("the identity provider's own description lacks an address; tell an administrator")
        return endpoint

    def _discovered(self) -> dict[str, Any]:
        with self._lock:
            cached = self._document
        if cached is not None and self._ticking() - cached[0] < _DOCUMENT_SECONDS:
            return cached[1]
        address = self._settings.oidc_issuer.rstrip("/") + "/.well-known/openid-configuration"
        status, document = self._ask("GET", address)
        if status != 200:
            raise EngineError(_UNREACHABLE)
        if document.get("issuer") != self._settings.oidc_issuer:
            raise EngineError("the identity provider calls itself otherwise than oidc_issuer; correct the setting")
        with self._lock:
            self._document = (self._ticking(), document)
        return document

    def _key_set(self, *, again: bool = False) -> KeySet:
        with self._lock:
            cached = self._keys
        age_s = float("inf") if cached is None else self._ticking() - cached[0]
        if cached is not None and age_s < (_KEYS_AGAIN_SECONDS if again else _DOCUMENT_SECONDS):
            return cached[1]
        status, content = self._ask("GET", self._endpoint("jwks_uri"))
        if status != 200 or not isinstance(content.get("keys"), list):
            raise EngineError(_UNREACHABLE)
        public = [key for key in content["keys"] if isinstance(key, dict) and key.get("use", "sig") == "sig"]
        keys = KeySet.import_key_set({"keys": public})
        with self._lock:
            self._keys = (self._ticking(), keys)
        return keys

    def _ask(self, method: str, address: str, **more: Any) -> tuple[int, dict[str, Any]]:
        """One request with a deadline and a size; neither a redirect nor a proxy of the environment is followed.

        A GET whose connection breaks is sent once more: it changes nothing, and a code is never sent twice.
        """
        for attempts_left in (1, 0) if method == "GET" else (0,):
            try:
                return self._answer(method, address, **more)
            except (httpx.NetworkError, httpx.RemoteProtocolError):
                if not attempts_left:
                    break
            except (httpx.HTTPError, httpx.InvalidURL, ValueError, RecursionError):
                break
        raise EngineError(_UNREACHABLE)

    def _answer(self, method: str, address: str, **more: Any) -> tuple[int, dict[str, Any]]:
        with (
            httpx.Client(timeout=_SECONDS, follow_redirects=False, trust_env=False, verify=_verified()) as client,
            client.stream(method, address, **more) as response,
        ):
            body = bytearray()
            for chunk in response.iter_bytes():
                body += chunk
                if len(body) > _MOST_BYTES:
                    raise EngineError(_UNREACHABLE)
        content = json.loads(bytes(body)) if body else {}
        return response.status_code, content if isinstance(content, dict) else {}


@lru_cache(maxsize=1)
def _verified() -> ssl.SSLContext:
    """The authorities of this machine, or those of SSL_CERT_FILE for one of the organisation's own."""
    return ssl.create_default_context()


def _form_encoded(text: str) -> str:
    return urlencode({"": text})[1:]
