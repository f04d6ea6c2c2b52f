/** What the client uses of viem: one import in a bundle. */
export {
  bytesToHex,
  getAddress,
  getCreate2Address,
  keccak256,
  parseTransaction,
  recoverTransactionAddress,
  serializeTransaction,
  toEventSelector,
} from "viem";
