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
