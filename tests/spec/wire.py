"""What goes over the wire: answers read, transactions signed, bodies written."""

import json
import time
from typing import Any

import httpx
from eth_account.signers.local import LocalAccount


def data(answer: httpx.Response) -> dict[str, Any]:
    """Return `data` of a success."""
    assert answer.status_code == 200, answer.text
    told: dict[str, Any] = answer.json()
    assert told["ok"] is True
    found: dict[str, Any] = told["data"]
    return found


def refused(answer: httpx.Response, status: int, code: str) -> dict[str, Any]:
    """Return the envelope of a refusal."""
    told: dict[str, Any] = answer.json()
    assert (answer.status_code, told["ok"], told["error"]) == (status, False, code), answer.text
    assert told["message"]
    return told


def sign(account: LocalAccount, params: dict[str, Any], **changes: Any) -> str:
    """Return `transactionParams` as a signed transaction, hex."""
    fields = {
        "type": params["type"],
        "chainId": params["chainId"],
        "nonce": params["nonce"],
        "to": params["to"],
        "data": params["data"],
        "value": int(params["value"]),
        "gas": int(params["gasLimit"]),
        "maxFeePerGas": int(params["maxFeePerGas"]),
        "maxPriorityFeePerGas": int(params["maxPriorityFeePerGas"]),
    }
    signed = account.sign_transaction(fields | changes)
    return "0x" + bytes(signed.raw_transaction).hex()


def order_body(
    account: LocalAccount, quote: dict[str, Any], raw: str, slippage: int
) -> dict[str, Any]:
    """Return the body of a swap order."""
    analysis = {
        "threatScore": 20,
        "threatLevel": quote["mevAnalysis"]["threatLevel"],
        "confidence": 0.9,
        "riskFactors": [],
        "estimatedSavings": {
            "estimatedProtection": {
                "amount": quote["mevAnalysis"]["estimatedProtectionUsd"],
                "currency": "USD",
            }
        },
        "timestamp": int(time.time() * 1000),
    }
    params = {
        "fromToken": quote["sellToken"],
        "toToken": quote["buyToken"],
        "amount": quote["sellAmount"],
        "minReturnAmount": quote["minBuyAmount"],
        "userAddress": account.address,
        "chainId": 1,
        "deadline": int(time.time()) + 1200,
        "slippageBps": slippage,
        "selectedTier": quote["mevProtection"]["providerMetadata"]["tier"],
        "threatAnalysis": analysis,
        "transactionValueUsd": quote["scoring"]["netValueUsd"],
        "dexRoute": quote["dexRoute"] | {"source": quote["source"]},
    }
    # a real client's JSON: members come back in another order
    metadata = dict(reversed(quote["mevProtection"]["providerMetadata"].items()))
    body = {"orderParams": params, "signedTransaction": raw, "providerMetadata": metadata}
    copy: dict[str, Any] = json.loads(json.dumps(body))
    return copy


def wrap_body(quote: dict[str, Any], raw: str) -> dict[str, Any]:
    """Return the body of a wrap order with everything optional."""
    return {
        "quoteId": quote["quoteId"],
        "signedTransaction": raw,
        "providerMetadata": quote["mevProtection"]["providerMetadata"],
        "operation": quote["operation"],
        "amount": quote["amount"],
    }
