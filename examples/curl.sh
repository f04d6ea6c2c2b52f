#!/usr/bin/env bash
# Wrap 0.2 ETH, then swap 0.1 WETH for USDC, with curl. What a shell cannot do (sign, read JSON) is
# done by Python: PYTHON needs eth-account.
set -euo pipefail

: "${QUIETSWAP_URL:?must be set: see examples/README.md}"
: "${QUIETSWAP_API_KEY:?must be set: see examples/README.md}"
: "${QUIETSWAP_RPC_URL:?must be set: see examples/README.md}"
: "${QUIETSWAP_PRIVATE_KEY:?must be set: see examples/README.md}"

here=$(dirname "$0")
python=${PYTHON:-python3}
poll=${POLL_SECONDS:-10}
weth=0xC02aaA39b223FE8D0A0e5C4F27eAD9083C756Cc2
usdc=0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48
export WALLET_KEY=$QUIETSWAP_PRIVATE_KEY

# json EXPRESSION [ARGUMENT...]: standard input as `d`, arguments as `a`; text is printed bare
json() {
  "$python" -c '
import json, sys, time
d, a = json.load(sys.stdin), sys.argv[2:]
value = eval(sys.argv[1])
print(value if isinstance(value, str) else json.dumps(value))' "$@"
}

# ask METHOD PATH [CURL-OPTION...]: `data` of the answer, or the error and exit 1
ask() {
  local method=$1 path=$2 answer
  shift 2
  # the key goes in through a file descriptor: a process list would show an option
  answer=$(curl --silent --show-error --request "$method" "$QUIETSWAP_URL/api/v1$path" \
    --header @<(printf 'X-API-Key: %s' "$QUIETSWAP_API_KEY") "$@")
  if [ "$(json 'd["ok"]' <<<"$answer")" != true ]; then
    echo "$answer" >&2
    exit 1
  fi
  json 'd["data"]' <<<"$answer"
}

post() { ask POST "$1" --header 'Content-Type: application/json' --data-binary @-; }

rpc() { # METHOD PARAMS
  curl --silent --show-error "$QUIETSWAP_RPC_URL" --header 'Content-Type: application/json' \
    --data "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"$1\",\"params\":$2}" | json 'd["result"]'
}

next_nonce() { printf '%d' "$(rpc eth_getTransactionCount "[\"$wallet\",\"pending\"]")"; }

mined() {
  local receipt
  for _ in $(seq 300); do
    receipt=$(rpc eth_getTransactionReceipt "[\"$1\"]")
    if [ "$receipt" != null ]; then
      [ "$(json 'd["status"]' <<<"$receipt")" = 0x1 ] || { echo "$1 reverted" >&2; exit 1; }
      return
    fi
    sleep "$poll"
  done
  echo "$1 is not mined" >&2
  exit 1
}

wallet=$("$python" -c 'import os; from eth_account import Account
print(Account.from_key(os.environ["WALLET_KEY"]).address)')

# check CALL: ends the script if the quote on standard input is not what was asked for. The service
# may be hostile; the checks are those of python_flow.py.
check() {
  PYTHONPATH=$here "$python" -c 'import json, sys, python_flow as flow
d = json.load(sys.stdin)
eval(sys.argv[1])' "$1"
}

hash_of() { "$python" -c 'import sys; from eth_utils import keccak
print("0x" + keccak(hexstr=sys.argv[1]).hex())' "$1"; }

# --- wrap ---------------------------------------------------------------------------------------
quote=$(printf '{"operation":"wrap","amount":"0.2","userAddress":"%s"}' "$wallet" |
  post /mev/wrap/quote | json 'd["quote"]')
check 'flow.check_wrap(d, "0.2")' <<<"$quote"
signed=$(json 'd["mevProtection"]["transactionParams"] | {"nonce": int(a[0])}' "$(next_nonce)" \
  <<<"$quote" | "$python" "$here/sign.py")
json '{"quoteId": d["quoteId"], "operation": "wrap", "signedTransaction": a[0],
  "providerMetadata": d["mevProtection"]["providerMetadata"]}' "$signed" <<<"$quote" |
  post /mev/wrap/order >/dev/null
hash=$(hash_of "$signed") # the service could name another one
mined "$hash"
echo "wrap confirmed $hash"

# --- swap ---------------------------------------------------------------------------------------
amount=100000000000000000
quoted() {
  local quote
  quote=$(ask GET "/quote?sellToken=$weth&buyToken=$usdc&sellAmount=$amount&userAddress=$wallet")
  check "flow.check_swap(d, $amount)" <<<"$quote" || exit 1 # errexit ends no $(...)
  echo "$quote"
}

padded() { printf '%064s' "${1:2}" | tr ' ' 0; }

approved() { # ROUTER
  local call allowance
  call="{\"to\":\"$weth\",\"data\":\"0xdd62ed3e$(padded "$wallet")$(padded "$1")\"}"
  allowance=$(rpc eth_call "[$call,\"latest\"]")
  json 'int(a[0], 16) >= int(a[1])' "$allowance" "$amount" <<<null
}

approve() { # ROUTER
  local approval
  approval=$(json '{"to": a[0], "data": f"0x095ea7b3{a[1]}{int(a[2]):064x}",
    "value": "0", "gasLimit": "60000", "maxFeePerGas": str(2 * int(d["baseFeePerGas"], 16) + 10**9),
    "maxPriorityFeePerGas": str(10**9), "nonce": int(a[3]), "chainId": 1, "type": 2}' \
    "$weth" "$(padded "$1")" "$amount" "$(next_nonce)" <<<"$(rpc eth_getBlockByNumber '["latest",false]')" |
    "$python" "$here/sign.py")
  mined "$(rpc eth_sendRawTransaction "[\"$approval\"]")"
}

quote=$(quoted) # a fresh one may name another router, and an approval moves the nonce
for _ in 1 2 3 4 5; do
  router=$(json 'd["dexRoute"]["target"]' <<<"$quote")
  enough=$(approved "$router")
  [ "$enough" != true ] || break
  approve "$router"
  quote=$(quoted)
done
signed=$(json 'd["mevProtection"]["transactionParams"]' <<<"$quote" | "$python" "$here/sign.py")
order=$(json '{"signedTransaction": a[0],
  "providerMetadata": d["mevProtection"]["providerMetadata"],
  "orderParams": {
    "fromToken": d["sellToken"], "toToken": d["buyToken"], "amount": d["sellAmount"],
    "minReturnAmount": d["minBuyAmount"], "userAddress": a[1], "chainId": 1,
    "deadline": int(time.time()) + 1800, "slippageBps": 50,
    "selectedTier": d["mevProtection"]["providerMetadata"]["tier"],
    "threatAnalysis": {
      "threatScore": 50, "threatLevel": d["mevAnalysis"]["threatLevel"], "confidence": 1,
      "riskFactors": [], "timestamp": int(time.time() * 1000), "estimatedSavings": {
        "estimatedProtection": {
          "amount": d["mevAnalysis"]["estimatedProtectionUsd"], "currency": "USD"}}},
    "transactionValueUsd": d["scoring"]["netValueUsd"],
    "dexRoute": {"target": d["dexRoute"]["target"], "data": d["dexRoute"]["data"]}}}' \
  "$signed" "$wallet" <<<"$quote" | post /mev/orders | json 'd["order"]["orderId"]')

for _ in $(seq 300); do
  record=$(ask GET "/mev/orders/$order")
  status=$(json 'd["status"]' <<<"$record")
  case $status in
    confirmed)
      mined "$(hash_of "$signed")"
      echo "swap confirmed $(hash_of "$signed")"
      exit 0
      ;;
    failed | cancelled) echo "swap $status" >&2; exit 1 ;;
  esac
  sleep "$poll"
done
echo "$order is still open" >&2
exit 1
