"""Sub-agents over the provider test server, with both SDKs."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.model.providers import ANTHROPIC, CHAT, Provider
from tests.provider_server import ProviderServer


@pytest.fixture(params=(ANTHROPIC, CHAT), ids=lambda provider: provider.name)
def provider(request: pytest.FixtureRequest) -> Provider:
    found: Provider = request.param
    return found


@pytest.fixture
def server() -> Iterator[ProviderServer]:
    with ProviderServer() as started:
        yield started
