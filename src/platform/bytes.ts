/** Encodes bytes in base64. */
export function encodeBase64(bytes: Uint8Array): string {
  if (typeof Buffer === 'function') {
    return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64');
  }
  let binary = '';
  for (let start = 0; start < bytes.length; start += CHUNK) {
    binary += String.fromCharCode(...bytes.subarray(start, start + CHUNK));
  }
  return btoa(binary);
}

/** Decodes base64, with or without white space. @returns undefined for other text */
export function decodeBase64(text: string): Uint8Array<ArrayBuffer> | undefined {
  const compact = /\s/.test(text) ? text.replaceAll(/\s+/g, '') : text;
  if (compact.length % 4 !== 0 || /[^A-Za-z0-9+/]/.test(compact.replace(/={1,2}$/, ''))) return undefined;
  if (typeof Buffer === 'function') return new Uint8Array(Buffer.from(compact, 'base64'));
  return Uint8Array.from(atob(compact), (unit) => unit.charCodeAt(0));
}

/** Bytes per call, as arguments. */
const CHUNK = 0x8000;

/** Encodes bytes in base64url without padding. */
export function encodeBase64Url(bytes: Uint8Array): string {
  let binary = '';
  for (const byte of bytes) binary += String.fromCharCode(byte);
  return btoa(binary).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');
}

/** Encodes a string (as UTF-8) in base64url without padding. */
export function textToBase64Url(text: string): string {
  return hasBuffer() ? Buffer.from(text).toString('base64url') : encodeBase64Url(new TextEncoder().encode(text));
}

/** Decodes base64url to a string. Bytes that are not UTF-8 become U+FFFD. */
export function textOfBase64Url(base64: string): string {
  if (hasBuffer()) return Buffer.from(base64, 'base64url').toString();
  const binary = atob(base64.replaceAll('-', '+').replaceAll('_', '/'));
  return new TextDecoder('utf-8', { ignoreBOM: true }).decode(Uint8Array.from(binary, (unit) => unit.charCodeAt(0)));
}

/** Native if the runtime has it. Checked at each call, so that a test can remove it. */
function hasBuffer(): boolean {
  return typeof Buffer === 'function';
}

/** The number of bytes of a string in UTF-8. */
export function byteLength(text: string): number {
  return typeof Buffer === 'function' ? Buffer.byteLength(text) : new TextEncoder().encode(text).length;
}

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
