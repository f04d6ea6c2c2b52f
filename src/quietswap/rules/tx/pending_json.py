"""The JSON object of a signed transaction that no block contains yet.

Shape: https://ethereum.github.io/execution-apis/api-documentation/ (eth_getTransactionByHash).
"""

from quietswap.rules.tx.signed import MAINNET, TYPE_2, SignedTransaction


def pending_json(signed: SignedTransaction) -> dict[str, object]:
    """Return the object as a node shows a pending transaction: the block members are None.

    Quantities are hex text without leading zeros, addresses lowercase. `gasPrice` is the fee cap,
    as in go-ethereum.
    """
    params, cap = signed.params, hex(signed.params.max_fee_per_gas)
    y_parity, r, s = signed.signature
    return {
        "blockHash": None,
        "blockNumber": None,
        "transactionIndex": None,
        "hash": signed.hash,
        "type": hex(TYPE_2),
        "chainId": hex(MAINNET),
        "nonce": hex(signed.nonce),
        "from": signed.sender.lower(),
        "to": params.to.lower(),
        "value": hex(params.value),
        "gas": hex(params.gas_limit),
        "gasPrice": cap,
        "maxFeePerGas": cap,
        "maxPriorityFeePerGas": hex(signed.priority_fee),
        "input": "0x" + params.data.hex(),
        "accessList": [],
        "v": hex(y_parity),
        "yParity": hex(y_parity),
        "r": hex(r),
        "s": hex(s),
    }
