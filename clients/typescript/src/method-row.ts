/**
 * Places of a method's terms, as word indexes of its arguments. `within` are the words with the
 * offsets to follow first. A member that is absent: the method has no such field.
 */
export interface CalldataLayout {
  readonly sell: number;
  readonly amount: number;
  readonly minimum: number;
  readonly buy?: number;
  readonly recipient?: number;
  readonly zeroIsSender?: boolean;
  readonly within?: readonly number[];
  readonly flags?: number;
  readonly allowedFlags?: string;
  readonly permit?: number;
  readonly permitWithin?: boolean;
  readonly quoted?: number;
  readonly partner?: number;
  readonly dust?: number;
  readonly pools?: number;
  readonly poolSize?: number;
  readonly wrap?: number;
  readonly dex?: number;
}

/** One router method. Without `layout` it is never accepted, for the reason in `refuses`. */
export interface MethodRow {
  readonly name: string;
  readonly refuses?: string;
  readonly measuresRecipient?: boolean;
  readonly unproven?: boolean;
  readonly nested?: string;
  readonly layout?: CalldataLayout;
}
