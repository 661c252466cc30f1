import { encodeBase64Url } from './base64url.js';
import { nodeCrypto } from './node-crypto.js';
import { sha256Bytes } from './portable-sha256.js';

/** The encodings of a hash. */
export type HashEncoding = 'hex' | 'base64url';

/**
 * The SHA-256 of a string (as UTF-8). Synchronous, which the Web Crypto API is not: browsers compute it in JavaScript.
 */
export function sha256Of(text: string, encoding: HashEncoding = 'hex'): string {
  return nodeCrypto()?.hash('sha256', text, encoding) ?? portableSha256(text, encoding);
}

/** {@link sha256Of} without Node.js. */
export function portableSha256(text: string, encoding: HashEncoding): string {
  const bytes = sha256Bytes(new TextEncoder().encode(text));
  if (encoding === 'base64url') return encodeBase64Url(bytes);
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
}
