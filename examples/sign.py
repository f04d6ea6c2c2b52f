"""Sign one transaction: JSON on standard input, raw hex on standard output.

The input is `transactionParams` with its nonce set, and optionally `from`. The key comes from
WALLET_KEY: quietswap hands none of its own variables to a signing command.
"""

import json
import os
import sys

from eth_account import Account

if not os.environ.get("WALLET_KEY"):
    sys.exit("set WALLET_KEY to the private key that signs")
try:
    account = Account.from_key(os.environ["WALLET_KEY"])
except ValueError:
    sys.exit("WALLET_KEY must be a private key")
try:
    params = json.load(sys.stdin)
    transaction = {
        "to": params["to"],
        "data": params["data"],
        "value": int(params["value"]),
        "gas": int(params["gasLimit"]),
        "maxFeePerGas": int(params["maxFeePerGas"]),
        "maxPriorityFeePerGas": int(params["maxPriorityFeePerGas"]),
        "nonce": params["nonce"],
        "chainId": params["chainId"],
        "type": params["type"],
    }
except (ValueError, TypeError, KeyError) as error:
    sys.exit(f"standard input is not `transactionParams`: {error!r}")
if params.get("from", account.address) != account.address:
    sys.exit("this is not the wallet of WALLET_KEY")
print("0x" + account.sign_transaction(transaction).raw_transaction.hex().removeprefix("0x"))
