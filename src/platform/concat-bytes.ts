/** Joins pieces of bytes. @param length the sum of their lengths */
export function concatBytes(pieces: readonly Uint8Array[], length: number): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(length);
  let start = 0;
  for (const piece of pieces) {
    bytes.set(piece, start);
    start += piece.length;
  }
  return bytes;
}
