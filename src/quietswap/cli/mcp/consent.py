"""The confirmation of a signature, which a model cannot give.

The client of the protocol asks its user (elicitation), or this process asks on the terminal that
the person started it in.
"""

import asyncio
import sys
from dataclasses import dataclass, field
from typing import Any, Literal

import click
from mcp.server.mcpserver import AcceptedElicitation, Context, Elicit, ElicitationResult
from pydantic import BaseModel, Field

from quietswap.cli.mcp.answers import Refused
from quietswap.foreign_text import visible

Asks = Literal["client", "terminal"]


class Consent(BaseModel):
    """What a person types into the form of a client."""

    answer: str = Field(description="The word or number that the question asks for")


@dataclass(frozen=True, slots=True)
class Question:
    """What to ask, and what to type to accept it."""

    text: str
    wanted: str

    @property
    def whole(self) -> str:
        """The question with what to type."""
        return f"{self.text}\nTo sign it, type {self.wanted}"


@dataclass(slots=True)
class Person:
    """The person who confirms, asked by the client or on the terminal."""

    asks: Asks
    _terminal: asyncio.Lock = field(default_factory=asyncio.Lock)

    def form(self, context: Context[Any, Any], question: Question) -> Elicit[Consent] | None:
        """Return the form for the client; None to ask on the terminal. Raises Refused."""
        if self.asks == "terminal":
            return None
        capabilities = context.client_capabilities
        offered = capabilities.elicitation if capabilities else None
        if offered is None or (offered.form is None and offered.url is not None):
            raise Refused(
                "NO_CONFIRMATION",
                "this client cannot ask its user (it has no elicitation of forms), and a model"
                " cannot confirm: nothing was signed. Sign elsewhere and use submit_signed, or"
                " start quietswap mcp with --http PORT --confirm terminal",
            )
        return Elicit(question.whole, Consent)

    async def require(self, question: Question, answer: ElicitationResult[Consent] | None) -> None:
        """Return if the person accepts: in the `answer`, or on the terminal. Raises Refused."""
        if self.asks == "terminal":
            async with self._terminal:
                typed = await _typed(question)
        elif isinstance(answer, AcceptedElicitation) and isinstance(answer.data, Consent):
            typed = answer.data.answer
        else:
            typed = ""
        if typed.strip().removesuffix("%").strip().lower() != question.wanted:
            raise Refused("NOT_CONFIRMED", "the person did not confirm it: nothing was signed")


async def _typed(question: Question) -> str:
    """Return the line that the person types on the terminal; "" at its end.

    No thread reads it: Ctrl-C, and a caller that gives up, would wait for that thread until Enter.
    """
    click.echo("\n" + visible(question.text, keep="\n"), err=True)
    click.echo(f"To sign it, type {question.wanted}: ", nl=False, err=True)
    loop, readable = asyncio.get_running_loop(), asyncio.Event()
    loop.add_reader(sys.stdin, readable.set)
    try:
        await readable.wait()
    finally:
        loop.remove_reader(sys.stdin)
    return sys.stdin.readline()
