"""Creating a webhook: what is refused, and how the error shows it."""

import pytest

from quietswap.rules.errors.requests import InvalidParameter
from quietswap.rules.webhooks.webhook import WebhookRequest
from tests.webhooks.scenes import KEY, Scene


async def test_a_refused_url_is_shown_with_the_reason(scene: Scene) -> None:
    url = "ftp://example.org/" + "a" * 100
    with pytest.raises(InvalidParameter) as refused:
        await scene.manage.create(KEY, WebhookRequest(url, (), None))
    error = refused.value
    assert error.message == "url is not valid: it must begin with https://"
    assert error.details == {"parameter": "url", "provided": url[:100], "max": None}
