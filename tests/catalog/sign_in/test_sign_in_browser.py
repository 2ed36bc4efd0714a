"""The way to the organisation and back in a real browser, from one site to another."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from tests.catalog.pages.conftest import served

from aegis.catalog.server.app import create_site
from aegis.catalog.service.openid_provider import OpenIdProvider
from aegis.catalog.settings import Settings

from .conftest import Provider


def test_a_browser_goes_to_the_organisation_and_comes_back(
    new_stage: Any, provider: Provider, visitor: Callable[..., Any]
) -> None:
    """The provider is another site (localhost, not 127.0.0.1): cookies and the security policy must let it through."""
    on = new_stage(settings=Settings(**provider.settings()))
    with served(create_site(on.catalog)) as url:
        on.catalog.identity_provider = OpenIdProvider(replace(on.catalog.settings, public_url=url))
        watched = visitor(url)
        watched.go("/requests")
        watched.page.get_by_role("link", name="Sign in with your organisation").click()
        watched.page.wait_for_url(f"{url}/requests")
        assert watched.page.get_by_role("link", name="Ada Lovelace").is_visible()
