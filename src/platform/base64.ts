import { concatBytes } from './concat-bytes.js';
import { Pace } from './pace.js';

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

/** {@link decodeBase64}; a long text is decoded in turns with other work. */
export async function decodeBase64InTurns(text: string): Promise<Uint8Array<ArrayBuffer> | undefined> {
  if (text.length <= DECODED.part) return decodeBase64(text);
  const pace = new Pace();
  const parts: Uint8Array[] = [];
  let size = 0;
  for (let start = 0; start < text.length; start += DECODED.part) {
    if (pace.isSpent) await pace.next();
    const part = text.slice(start, start + DECODED.part);
    // Padding inside, or white space, would shift the groups of four characters. Such input is rare and decoded in one
    // go.
    const isWhole = start + DECODED.part >= text.length || !part.endsWith('=');
    const bytes = isWhole && !/\s/.test(part) ? decodeBase64(part) : undefined;
    if (bytes === undefined) return decodeBase64(text);
    parts.push(bytes);
    size += bytes.length;
  }
  return concatBytes(parts, size);
}

/** Only tests change it. */
export const DECODED = {
  /** Characters that are decoded between looks at the clock: a multiple of four, about 2 ms. */
  part: 512 * 1024,
};

/** Bytes per call, as arguments. */
const CHUNK = 0x8000;
