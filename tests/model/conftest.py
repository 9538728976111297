"""Each test that asks for `provider` runs once for every provider and dialect."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

import pytest

from memdir.model.model import Model
from tests.model.providers import PROVIDERS, Provider
from tests.provider_server import ProviderServer


@pytest.fixture(params=PROVIDERS, ids=lambda provider: provider.name)
def provider(request: pytest.FixtureRequest) -> Provider:
    found: Provider = request.param
    return found


@pytest.fixture
def server() -> Iterator[ProviderServer]:
    with ProviderServer() as started:
        yield started


@pytest.fixture
async def model(provider: Provider, server: ProviderServer) -> AsyncIterator[Model]:
    """The provider's model, talking to the server."""
    opened = provider.open(server)
    yield opened
    await opened.close()
