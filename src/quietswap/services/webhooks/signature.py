"""Standard Webhooks: secrets, and the headers of a signed delivery.

https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md
"""

import base64
import secrets
from datetime import UTC, datetime

from standardwebhooks import Webhook as Signer

_SECRET_BYTES = 32
"""Standard Webhooks allows 24 to 64."""


def new_secret() -> str:
    """Return a random secret, as `whsec_` and Base64."""
    return f"whsec_{base64.b64encode(secrets.token_bytes(_SECRET_BYTES)).decode()}"


def signed_headers(secret: str, event_id: str, now_ms: int, body: bytes) -> dict[str, str]:
    """Return the headers of one try. The id stays the same in each try, the timestamp does not."""
    at = datetime.fromtimestamp(now_ms // 1000, UTC)
    return {
        "webhook-id": event_id,
        "webhook-timestamp": str(now_ms // 1000),
        "webhook-signature": Signer(secret).sign(event_id, at, body.decode()),
    }
