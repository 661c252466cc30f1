import { createHash } from 'node:crypto';
import { executeFhirGraphql } from '../../src/index.js';
import { RESOURCES } from './seeds.js';
import { openWorld, PROJECT, STORES } from './world.js';

/** The content of a cursor. */
export function contentOf(cursor: string): string {
  return Buffer.from(cursor.split('.')[0]!, 'base64url').toString();
}

/** A cursor with this content and a valid checksum. The format is not a secret. */
export function forged(content: string): string {
  const check = createHash('sha256')
    .update(JSON.stringify(['system', PROJECT, '', content]))
    .digest('base64url');
  return `${Buffer.from(content).toString('base64url')}.${check.slice(0, 22)}`;
}

/** The cursors of next pages. */
export async function realCursors(connections: readonly string[]): Promise<string[]> {
  const { store, caller } = await openWorld(STORES.memory(), RESOURCES);
  const query = `{ ${connections.map((one, index) => `c${index}: ${one} { next }`).join(' ')} }`;
  const { data } = await executeFhirGraphql(query, { store, caller });
  return Object.values(data as { readonly [alias: string]: { readonly next: string } }).map(({ next }) => next);
}
