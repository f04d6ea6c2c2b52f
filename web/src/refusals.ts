// What the private URL answers about a transaction that no relay got, in the words of a person.

import { sentence } from './text'

/** How every such answer begins; a wallet may show more around it. */
const NOT_SENT = /not sent anywhere: ([^"]+)/

/** A part of the service's words, and what it means for the person. */
const REFUSALS: ReadonlyArray<readonly [RegExp, string]> = [
  [/quote .*expired/, 'That quote had ended, so nothing was sent. Sign the next one sooner.'],
  [/both would be paid|with the other form of this swap/, 'This swap is under way already, so nothing was sent a second time. Follow it in your orders.'],
  [/of a live quote|no live quote/, 'Your wallet signed something that this page did not offer, so nothing was sent. Ask for a new quote, and change nothing in the wallet.'],
  [/leaves a gap/, 'Your wallet counts a transaction that was never sent, so nothing was sent. Send or delete the earlier one in your wallet, or reset the account’s activity there.'],
  [/nonce \d+ is already used/, 'Your wallet repeated the number of a transaction that a block has, so nothing was sent. Reset the account’s activity in your wallet, and try again.'],
  [/belongs to an open order/, 'Your wallet would replace an open order by another transaction, so nothing was sent. Wait for that order, or cancel it.'],
  [/must raise maxFeePerGas/, 'To replace an open order its fee must rise by a tenth, so nothing was sent. Raise the fee, or wait.'],
  [/below the base fee/, 'The network fee rose above the most that you signed, so nothing was sent. Try again with the new quote.'],
  [/above the limit of this service/, 'Your wallet set a fee above the limit of this service, so nothing was sent. Keep the fee that this page asks for.'],
  [/gas limit/, 'Your wallet set another gas limit than it needs, so nothing was sent. Keep what this page asks for.'],
  [/would fail on the latest state/, 'It would fail now, so nothing was sent and nothing is paid. Get a new quote.'],
  [/approve and swap in one/, 'It cannot be done in one transaction, so nothing was sent. Go on in separate steps.'],
  [/not approved to move/, 'The router may not move the amount yet, so nothing was sent. Approve it first.'],
  [/holds too little/, 'Your wallet has too little for it or for its fee, so nothing was sent.'],
  [/node does not answer/, 'The service’s Ethereum node does not answer, so nothing was sent. Try again when it does.'],
  [/node is behind/, 'The service’s Ethereum node is behind, so nothing was sent. Try again in a moment.'],
  [/relay cannot be reached/, 'The private relay cannot be reached, so nothing was sent. Try again later.'],
  [/not a wallet of this RPC URL/, 'Your wallet signed with another account than this page is connected to, so nothing was sent.'],
  [/sender is a contract/, 'Your account is a contract, which cannot send this, so nothing was sent. Let the contract make the call itself: its owner sends that.'],
  [/transaction is not valid/, 'Your wallet signed another form of transaction than it was asked for, so nothing was sent. Keep what this page asks for.'],
]

/** What a wallet's message says of a transaction that no relay got; undefined where it says no such thing. */
export function refusalText(message: string): string | undefined {
  const [, why] = NOT_SENT.exec(message) ?? []
  if (why === undefined) return undefined
  return REFUSALS.find(([words]) => words.test(why))?.[1] ?? `Nothing was sent. The service says: ${sentence(why)}`
}
