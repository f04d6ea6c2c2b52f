"""Which hosts are this machine itself."""

import ipaddress


def is_loopback(host: str) -> bool:
    """Return whether a socket on `host` can be reached from the same machine only."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
