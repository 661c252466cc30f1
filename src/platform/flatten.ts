/**
 * The same string, stored in one piece.
 *
 * PERF: V8 keeps a string built by `+=` as a tree of its pieces, and walks the tree whenever it hashes the string: 64
 * Ki pieces take up to 0.4 s each time. Reading a character joins the pieces for good. The result of the read must be
 * used, or the compiler drops the call.
 */
export function flatten(text: string): string {
  return Number.isNaN(text.charCodeAt(0)) ? '' : text;
}
