"""Settings of the operator view."""

from typing import Annotated

from quietswap.settings.section import Section, says


class OperatorConfig(Section, frozen=True):
    """The operator view at /operator, for people with a secret of `quietswap operators create`."""

    enabled: Annotated[
        bool | None,
        says("Whether it is served. Unset: as web.enabled, where this machine alone reaches it."),
    ] = None
    session_s: Annotated[
        int, says("Seconds until an operator must log in again.", ge=60, le=31_536_000)
    ] = 43_200
    logins_per_minute: Annotated[
        int,
        says(
            "Wrong secrets of one client address in a minute; a right one is never refused.",
            ge=1,
            le=1_000_000_000,
        ),
    ] = 20
    figures_kept_days: Annotated[
        int, says("Days until the figures of sources, relays and node are deleted.", ge=1, le=366)
    ] = 14
