import { crc32 } from 'node:zlib';
import type { SqliteDatabase } from '../database/driver.js';

/**
 * The checksum of a version: CRC-32 of its text in UTF-8, seeded with the other columns. SQLite has no checksums: a
 * digit corrupted on disk would be read back as a valid value.
 *
 * Every change of a single column within 32 bits of text is detected.
 *
 * PERF (import-rate): half a microsecond per kilobyte, a tenth of what parsing takes.
 *
 * @param resource key of the `resource` row
 * @param updated milliseconds since 1970
 * @param text null: a deletion
 */
export function checksum(resource: number, version: number, updated: number, text: string | null): number {
  // The text in a damaged row may be a number; no checksum is negative.
  if (text !== null && typeof text !== 'string') return -1;
  // Odd factors: other numbers give other products.
  const seed = Math.imul(resource, 0x9e3779b1) ^ Math.imul(version, 0x85ebca6b) ^ updated ^ (updated / 0x100000000);
  return crc32(text ?? '\0', seed >>> 0);
}

/**
 * The checksum of a name: of a row of `collection` (owner 0), of `unique_key` (owner: key of the `resource` row) and of
 * `resource` (owner: key of the `collection` row, project empty).
 */
export function nameChecksum(owner: number, project: string, name: string): number {
  return crc32(`${owner}\0${project}\0${name}`);
}

/**
 * Registers {@link checksum} as the SQL function `fhirgraph_sum(resource, version, updated, text)`, and
 * {@link nameChecksum} as `fhirgraph_name_sum`.
 */
export function registerChecksums(database: SqliteDatabase): void {
  const options = { deterministic: true, directOnly: true, safeIntegers: false };
  database.function('fhirgraph_sum', options, checksum);
  database.function('fhirgraph_name_sum', options, nameChecksum);
}
