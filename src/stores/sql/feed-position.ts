import type { Cipheriv, Decipheriv } from 'node:crypto';
import { nodeCrypto } from '../../platform/crypto.js';

/** An entry of `meta` with 128 random bits, in hexadecimal digits. */
export const FEED_SECRET = 'feed_secret';

/**
 * The positions of a feed: a number and a mark of what is there, as one block of AES under the secret of the database. So a
 * position says nothing of how much others write, nobody can make one up, and equal positions are equal texts.
 */
export class FeedPositions {
  // Making them takes 30 µs, and they serve any number of blocks.
  readonly #cipher: Cipheriv;
  readonly #decipher: Decipheriv;

  constructor(readonly secret: string) {
    const { createCipheriv, createDecipheriv } = nodeCrypto()!;
    const key = Buffer.from(secret, 'hex');
    this.#cipher = createCipheriv('aes-128-ecb', key, null).setAutoPadding(false);
    this.#decipher = createDecipheriv('aes-128-ecb', key, null).setAutoPadding(false);
  }

  /**
   * @param number from 0 to 2^63 - 1
   * @param mark what differs at the place that has this number in another project, or in another copy of the database
   */
  textOf(number: bigint, mark: string): string {
    const block = Buffer.alloc(16);
    block.writeBigInt64BE(number);
    nodeCrypto()!.createHash('sha256').update(mark).digest().copy(block, 8, 0, 8);
    return this.#cipher.update(block).toString('base64url');
  }

  /** The number that a text has if it is a position; undefined if it has none. Only {@link textOf} proves it. */
  numberIn(text: string): bigint | undefined {
    if (!/^[\w-]{22}$/.test(text)) return undefined;
    const number = this.#decipher.update(Buffer.from(text, 'base64url')).readBigInt64BE();
    return number < 0n ? undefined : number;
  }
}
