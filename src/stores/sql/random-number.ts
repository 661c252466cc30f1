import { nodeCrypto } from '../../platform/crypto.js';

/**
 * A number for a state of a database, as text. Caches are keyed by the states that they have seen.
 *
 * A counter would come back to earlier values when a database is put back to an earlier copy, or when a failover loses its last
 * commits: a process that has lived through that would take another state for the one that it knows.
 *
 * @param bits 60, or 52 for numbers that versions of this library before these calculate with in JavaScript
 */
export function randomNumber(bits: 52 | 60): string {
  return (nodeCrypto()!.randomBytes(8).readBigUInt64BE() >> BigInt(64 - bits)).toString();
}
