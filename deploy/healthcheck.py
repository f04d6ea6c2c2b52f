"""Ask the service in this container whether it is alive; exits 1 when it is not.

The port and TLS come from the same settings the service reads. The certificate is not checked: it
names the outside world's host, and this request never leaves the container.
"""

import os
import ssl
import sys
import urllib.request
from pathlib import Path

from quietswap.service.server.settings import load

_SECONDS = 3.0


def main() -> int:
    """Return 0 when /healthz answers 200 within three seconds, else 1."""
    path = os.environ.get("QUIETSWAP_SETTINGS")
    server = load(Path(path) if path else None).server
    scheme = "https" if server.tls_cert else "http"
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    direct = urllib.request.build_opener(
        urllib.request.ProxyHandler({}), urllib.request.HTTPSHandler(context=context)
    )
    try:
        with direct.open(f"{scheme}://127.0.0.1:{server.port}/healthz", timeout=_SECONDS):
            return 0
    except OSError as error:
        print(f"/healthz: {error}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
