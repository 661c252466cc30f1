import { encodeBase64Url } from './base64url.js';

/** A new secret: 256 random bits as base64url, 43 letters, digits, `-` and `_`. */
export function randomSecret(): string {
  return encodeBase64Url(crypto.getRandomValues(new Uint8Array(32)));
}
