/** A strict reader of calldata as 32-byte words: data beyond the end is an error, never zero. */

export const WORD = 64;

/** No proof exists that the router enforces the terms; the message names the rule. */
export class UnboundCalldata extends Error {
  readonly isMalformed: boolean;

  constructor(message: string, isMalformed = false) {
    super(message);
    this.isMalformed = isMalformed;
  }
}

const malformed = (message: string) => new UnboundCalldata(message, true);

/** Calldata after the selector, as hex digits, indexed in words from the digit `base`. */
export class Words {
  private readonly digits: string;
  private readonly base: number;

  constructor(digits: string, base = 0) {
    this.digits = digits;
    this.base = base;
  }

  uint(index: number): bigint {
    const start = this.base + index * WORD;
    const found = this.digits.slice(start, start + WORD);
    if (found.length !== WORD) throw malformed("it ends before its fields do");
    return BigInt(`0x${found}`);
  }

  /** An address in lower case. */
  address(index: number): string {
    const value = this.uint(index);
    if (value >> 160n) throw malformed("an address field holds more than an address");
    return asAddress(value);
  }

  /** The words at the offset in word `index`, relative to this base. */
  follow(index: number): Words {
    const start = BigInt(this.base) + 2n * this.uint(index);
    if (start > BigInt(this.digits.length)) throw malformed("an offset points beyond its end");
    return new Words(this.digits, Number(start));
  }

  /** The byte string at the offset in word `index`, as hex digits. */
  raw(index: number): string {
    const tail = this.follow(index);
    const length = 2n * tail.uint(0);
    const start = tail.base + WORD;
    if (BigInt(start) + length > BigInt(this.digits.length))
      throw malformed("a byte string is longer than what is there");
    return this.digits.slice(start, start + Number(length));
  }
}

export const asAddress = (value: bigint) => `0x${value.toString(16).padStart(40, "0")}`;
