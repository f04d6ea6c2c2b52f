/** What the client uses of viem: one import in a bundle. */
export {
  bytesToHex,
  getAddress,
  getCreate2Address,
  isAddress,
  keccak256,
  parseTransaction,
  recoverTransactionAddress,
  serializeTransaction,
  stringToHex,
  zeroAddress,
} from "viem";
