/**
 * The effects of a simulated swap on the wallet, read from the logs of its call. Every loss that an
 * allowance permits appears in a log of the token: ERC-20, 721, 1155, 777 and Permit2's allowances.
 * Limit: a token that moves balances without a log; so the sell token is also measured by balance.
 */
import { getAddress } from "./evm.js";
import { UnexpectedResponse } from "./errors.js";
import { WETH } from "./generated/rules.js";
import { ETHER, SYSTEM, TRANSFER, isAddress, pad, topicOf, type Log } from "./node.js";

/**
 * The permitted effects: at most `sellAmount` of `sellToken` may leave the wallet. Of ETH exactly `wrapped` wei
 * must move to WETH, and exactly `unwrapped` wei from it to the wallet.
 */
export interface SwapBounds {
  readonly wallet: string;
  readonly router: string;
  readonly sellToken: string;
  readonly sellAmount: bigint;
  /** The router's allowance before the swap. */
  readonly allowance: bigint;
  readonly wrapped: bigint;
  readonly unwrapped: bigint;
}

type Effect = "transfer" | "alike" | "other" | "approval" | "operator";

/** By topic: effect, index of the affected account among the topics, number of topics. */
const EVENTS: Record<string, readonly [Effect, number, number]> = Object.fromEntries(
  (
    [
      ["Transfer(address,address,uint256)", "transfer", 1, 3],
      ["Approval(address,address,uint256)", "approval", 1, 3],
      ["ApprovalForAll(address,address,bool)", "operator", 1, 3],
      ["TransferSingle(address,address,address,uint256,uint256)", "other", 2, 4],
      ["TransferBatch(address,address,address,uint256[],uint256[])", "other", 2, 4],
      ["Sent(address,address,address,uint256,bytes,bytes)", "alike", 2, 4],
      ["Burned(address,address,uint256,bytes,bytes)", "alike", 2, 3],
      ["AuthorizedOperator(address,address)", "operator", 2, 3],
      ["Approval(address,address,address,uint160,uint48)", "operator", 1, 4],
      ["Permit(address,address,address,uint160,uint48,uint48)", "operator", 1, 4],
    ] as const
  ).map(([signature, effect, owner, topics]) => [topicOf(signature), [effect, owner, topics]]),
);

/** Return the logs in lower case. Throws UnexpectedResponse for what is no log. */
export function readLogs(logs: readonly Log[]): Log[] {
  const lower = (text: string) => text.toLowerCase();
  return logs.map((log) => {
    const address = lower(log.address);
    const topics = log.topics.map(lower);
    const data = lower(log.data);
    const isSound =
      isAddress(address) &&
      /^0x([0-9a-f]{2})*$/.test(data) &&
      topics.length <= 4 &&
      topics.every((topic) => /^0x[0-9a-f]{64}$/.test(topic));
    if (!isSound) throw new UnexpectedResponse("eth_simulateV1: a log cannot be read");
    return { address, topics, data };
  });
}

/** Return the rule that a swap with these logs and balances breaks, as text. */
export function brokenEffect(
  logs: readonly Log[],
  bounds: SwapBounds,
  before: bigint,
  after: bigint,
): string | undefined {
  const owner = pad(bounds.wallet);
  const { wrapped, unwrapped } = bounds;
  const isWrap = (log: Log) => wrapped > 0n && movesEther(log, owner, pad(WETH));
  const isUnwrap = (log: Log) => unwrapped > 0n && movesEther(log, pad(WETH), owner);
  let sold = 0n;
  for (const log of logs) {
    if (isWrap(log)) continue;
    const taken = takenBy(log, owner, bounds);
    if (typeof taken === "string") return taken;
    sold += taken;
  }
  const unlike =
    unlikeConversion("wraps", logs.filter(isWrap), wrapped) ??
    unlikeConversion("unwraps", logs.filter(isUnwrap), unwrapped);
  if (unlike) return unlike;
  if (before + wrapped - after > sold) sold = before + wrapped - after;
  if (sold <= bounds.sellAmount) return undefined;
  return (
    `it takes ${sold} of ${getAddress(bounds.sellToken)} from the wallet, more than the` +
    ` ${bounds.sellAmount} to be sold`
  );
}

/**
 * Whether a node logs by it that ETH moved between these two. It may log one movement twice: by its pseudo token,
 * and by the address of EIP-7708.
 */
const movesEther = ({ address, topics, data }: Log, from: string, to: string): boolean =>
  [ETHER, SYSTEM].includes(address) && data.length === 66 && topics.join() === `${TRANSFER},0x${from},0x${to}`;

/** Why these movements of ETH are not one of `needed` wei, each address for itself; undefined if they are. */
function unlikeConversion(verb: string, moves: readonly Log[], needed: bigint): string | undefined {
  const sums = [ETHER, SYSTEM]
    .map((address) => moves.filter((log) => log.address === address))
    .filter((each) => each.length)
    .map((each) => each.reduce((sum, { data }) => sum + BigInt(data), 0n));
  if (!needed || (sums.length && sums.every((sum) => sum === needed))) return undefined;
  return `by the logs it ${verb} ${sums.join(", ") || "nothing"}, not exactly ${needed} wei`;
}

/** What `wallet` received of `token` by these logs; a token with a fee may credit less. */
export function arrived(logs: readonly Log[], wallet: string, token: string): bigint {
  const isIt = ({ address, topics, data }: Log) =>
    address === token.toLowerCase() &&
    topics.length === 3 &&
    data.length === 66 &&
    topics[0] === TRANSFER &&
    topics[2] === `0x${pad(wallet)}`;
  return logs.filter(isIt).reduce((sum, { data }) => sum + BigInt(data), 0n);
}

/** Return the sell token amount that leaves the wallet by this log, or the broken rule. */
function takenBy(log: Log, owner: string, bounds: SwapBounds): bigint | string {
  const { address, topics, data } = log;
  const event = EVENTS[topics[0] ?? ""];
  if (!event) return 0n;
  const [effect, index, count] = event;
  if (topics.length !== count) return unusual(log, effect, owner);
  if (topics[index] !== `0x${owner}`) return 0n;
  const isSell = address === bounds.sellToken.toLowerCase();
  const isWord = data.length === 66;
  const what = [ETHER, SYSTEM].includes(address) ? "ETH" : getAddress(address);
  if (effect === "transfer" && isSell && isWord) return BigInt(data);
  if (effect === "alike" && isSell) return 0n;
  if (effect === "approval" && isSell && isWord && onlyLowers(log, bounds)) return 0n;
  if (effect === "approval" || effect === "operator") return `it lets others spend the wallet's ${what}`;
  return `it moves ${what} out of the wallet`;
}

/** Whether this Approval only lowers the router's allowance (OpenZeppelin logs it). */
function onlyLowers({ topics, data }: Log, bounds: SwapBounds): boolean {
  return topics[2]?.slice(26) === bounds.router.slice(2).toLowerCase() && BigInt(data) <= bounds.allowance;
}

/**
 * Judge an event whose number of indexed arguments differs from the standard. A Transfer without
 * any has them in the data, in order, and may pay the wallet. In all others it must not appear.
 */
function unusual({ address, topics, data }: Log, effect: Effect, owner: string): bigint | string {
  const words = [...topics.slice(1).map((topic) => topic.slice(2)), ...(data.slice(2).match(/.{1,64}/g) ?? [])];
  if (!words.includes(owner)) return 0n;
  const isPlain = effect === "transfer" && topics.length === 1 && words.length === 3;
  if (isPlain && words[0] !== owner) return 0n;
  return `it may move the wallet's ${getAddress(address)}: a log of it has an unusual form`;
}
