/** A problem of a primitive value, without the value: an issue code and the end of the sentence "status must be …". */
export interface PrimitiveProblem {
  readonly code: string;
  readonly expectation: string;
}
