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

/** PERF: native if the runtime has it. Checked at each call, so that a test can remove it. */
function hasBuffer(): boolean {
  return typeof Buffer === 'function';
}
