/** A way to a page, which is gone a part at a time. */
export interface Way<Finding> {
  readonly finding: Finding;
  /** Rows that were read on it. */
  looked: number;
}

export function wayOf<Finding>(finding: Finding | undefined): Way<Finding> | undefined {
  return finding && { finding, looked: 0 };
}
