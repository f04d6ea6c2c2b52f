"""Settings of webhooks."""

from typing import Annotated

from quietswap.settings.section import Section, says


class WebhooksConfig(Section, frozen=True):
    """Webhooks of clients: requests of this service to URLs that its clients name."""

    encryption_key: Annotated[
        str | None,
        says(
            "Base64 of 32 random bytes that encrypts the secrets of webhooks in the database "
            "(openssl rand -base64 32). Unset: no webhook can be created."
        ),
    ] = None
    old_encryption_keys: Annotated[
        tuple[str, ...],
        says(
            "Former encryption keys. The tracker encrypts with the present key at its start what "
            "these encrypted."
        ),
    ] = ()
    allow_private: Annotated[
        bool,
        says(
            "Allow addresses of private networks, and http to loopback; never link-local ones and "
            "those of a cloud's metadata. For tests and own networks: clients can then send "
            "requests to your own hosts."
        ),
    ] = False
    allowed_hosts: Annotated[
        tuple[str, ...],
        says(
            "Hosts that webhooks may have, such as hooks.example.com or *.example.com. Empty: any."
        ),
    ] = ()
    ca_file: Annotated[
        str | None, says("PEM file of certificate authorities to trust besides the system's.")
    ] = None
    timeout_s: Annotated[
        float, says("Seconds one delivery may take, from the DNS lookup on.", gt=0, le=300)
    ] = 15.0
    max_per_client: Annotated[int, says("Webhooks of one client.", ge=1, le=1000)] = 10
    parallel: Annotated[int, says("Deliveries at the same time.", ge=1, le=1000)] = 32
    deliveries_kept_days: Annotated[
        int, says("Days until the record of a delivery is deleted.", ge=1, le=36_500)
    ] = 30
