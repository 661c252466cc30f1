/** A way to find a page, followed one part at a time. */
export interface Way<Finding> {
  readonly finding: Finding;
  /** Rows read so far. */
  looked: number;
}

export function wayOf<Finding>(finding: Finding | undefined): Way<Finding> | undefined {
  return finding && { finding, looked: 0 };
}
