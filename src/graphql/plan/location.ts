import type { FieldNode } from '../graphql-js.js';

/** 1-based position in the document. */
export interface Location {
  readonly line: number;
  readonly column: number;
}

/** Where a field begins; undefined for documents that were parsed without locations. */
export function locationOf(node: FieldNode): Location | undefined {
  const token = node.loc?.startToken;
  return token === undefined ? undefined : { line: token.line, column: token.column };
}
