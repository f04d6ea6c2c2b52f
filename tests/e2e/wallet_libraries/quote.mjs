// A quote over HTTP, and the exact approval that its router needs.
const { API_URL, API_KEY, SELL_TOKEN, BUY_TOKEN } = process.env;

export async function quoteFor(userAddress) {
  const query = new URLSearchParams({
    sellToken: SELL_TOKEN, buyToken: BUY_TOKEN, sellAmount: String(10n ** 17n), userAddress,
  });
  const answer = await fetch(`${API_URL}/api/v1/quote?${query}`, {
    headers: { "X-API-Key": API_KEY },
  });
  const body = await answer.json();
  if (!body.ok) throw new Error(JSON.stringify(body));
  return body.data;
}

export function approvalOf(quote) {
  const word = (hex) => hex.padStart(64, "0");
  const router = quote.dexRoute.target.slice(2).toLowerCase();
  const amount = BigInt(quote.sellAmount).toString(16);
  return { to: quote.sellToken, data: `0x095ea7b3${word(router)}${word(amount)}` };
}
