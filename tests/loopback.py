"""The functions of httpx with one TLS context for all.

httpx makes a context for every client, also for one that speaks plain HTTP, and reads all
certificates for it: that took more time than most of the tests.
"""

import ssl
from functools import partial

import httpx

_CONTEXT = ssl.create_default_context()

Client = partial(httpx.Client, verify=_CONTEXT)
AsyncClient = partial(httpx.AsyncClient, verify=_CONTEXT)
get = partial(httpx.get, verify=_CONTEXT)
post = partial(httpx.post, verify=_CONTEXT)
put = partial(httpx.put, verify=_CONTEXT)
delete = partial(httpx.delete, verify=_CONTEXT)
stream = partial(httpx.stream, verify=_CONTEXT)
