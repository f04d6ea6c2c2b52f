"""A TLS receiver of webhooks."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.webhooks.receiver import Receiver, receiving
from tests.webhooks.scenes import PRIMARY, Scene, scene_on
from tests.webhooks.senders import NAME, serving


@pytest.fixture
async def receiver() -> AsyncIterator[Receiver]:
    async with receiving(serving()) as found:
        yield found


@pytest.fixture
def url(receiver: Receiver) -> str:
    return f"https://{NAME}:{receiver.port}/in?x=1"


@pytest.fixture
async def scene(tmp_path: Path) -> AsyncIterator[Scene]:
    async with scene_on(f"sqlite:///{tmp_path}/webhooks.db", PRIMARY) as found:
        yield found
