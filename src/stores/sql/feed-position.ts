import { nodeCrypto } from '../../platform/crypto.js';

// A position is a number and a mark of what is there, as one block of AES under a secret of the database. So it says nothing of
// how much others write, nobody can make one up, and equal positions are equal texts.

/**
 * @param number from 0 to 2^63 - 1
 * @param mark what differs at the place that has this number in another project, or in another copy of the database
 */
export function feedPosition(secret: string, number: bigint, mark: string): string {
  const { createCipheriv, createHash } = nodeCrypto()!;
  const block = Buffer.alloc(16);
  block.writeBigInt64BE(number);
  createHash('sha256').update(mark).digest().copy(block, 8, 0, 8);
  const cipher = createCipheriv(CIPHER, keyOf(secret), null).setAutoPadding(false);
  return cipher.update(block).toString('base64url');
}

/** The number that a text has if it is a position; any text has one, or none. Only {@link feedPosition} proves it. */
export function feedNumber(secret: string, text: string): bigint | undefined {
  if (!/^[\w-]{22}$/.test(text)) return undefined;
  const decipher = nodeCrypto()!.createDecipheriv(CIPHER, keyOf(secret), null).setAutoPadding(false);
  const number = decipher.update(Buffer.from(text, 'base64url')).readBigInt64BE();
  return number < 0n ? undefined : number;
}

/** An entry of `meta` with 128 random bits, in hexadecimal digits. */
export const FEED_SECRET = 'feed_secret';

const CIPHER = 'aes-128-ecb';

function keyOf(secret: string): Buffer {
  return Buffer.from(secret, 'hex');
}
