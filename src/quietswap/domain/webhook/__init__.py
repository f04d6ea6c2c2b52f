"""Pure rules of webhooks: their URL, the addresses they may have, when a delivery is repeated."""
