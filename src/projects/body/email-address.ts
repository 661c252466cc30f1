import { normalizeEmail } from '../../access/write/stamp.js';

/** Longest address, in UTF-16 code units. See https://www.rfc-editor.org/rfc/rfc5321#section-4.5.3.1. */
const MAX_LENGTH = 254;

/** Characters that could end an address inside a mail header or start another one. */
const UNFIT = /[\s\p{C}\p{Z}()<>[\]\\,;:"]/u;

/**
 * Normalizes a plausible e-mail address: one `@`, text on both sides, nothing that could break out of a mail header.
 * Quoted local parts and address literals are not accepted.
 *
 * @returns undefined for anything else
 */
export function plausibleEmail(text: string): string | undefined {
  if (text.length > 2 * MAX_LENGTH) return undefined;
  const email = normalizeEmail(text);
  if (email.length > MAX_LENGTH || UNFIT.test(email)) return undefined;
  const parts = email.split('@');
  if (parts.length !== 2) return undefined;
  const [local, domain] = parts as [string, string];
  const dotted = [local, domain].every((part) => part.split('.').every((label) => label !== ''));
  return dotted && local.length <= 64 ? email : undefined;
}
