/** The number of bytes of a string in UTF-8. */
export function byteLength(text: string): number {
  return typeof Buffer === 'function' ? Buffer.byteLength(text) : new TextEncoder().encode(text).length;
}
