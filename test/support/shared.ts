import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { generateSample } from '../../examples/sample-data.js';
import type { AnyResource } from '../../src/index.js';
import { hasShared, SHARED } from './shared-folder.js';

export { hasShared, SHARED };

export interface TransactionBundle extends AnyResource {
  readonly resourceType: 'Bundle';
  readonly type: string;
  readonly entry: readonly { readonly fullUrl?: string; readonly resource: AnyResource }[];
}

/** The first bundles of the Synthea sample, by file name, or of our own sample data if it does not exist. */
export function syntheaBundles(count = 26): TransactionBundle[] {
  if (!hasShared) return [...generateSample({ patients: 4, seed: 'excerpt' })].slice(0, count) as TransactionBundle[];
  const folder = join(SHARED, 'data/synthea');
  return readdirSync(folder)
    .filter((name) => name.endsWith('.json.gz'))
    .sort()
    .slice(0, count)
    .map((name) => JSON.parse(gunzipSync(readFileSync(join(folder, name))).toString()) as TransactionBundle);
}

export function sharedJson<Content>(path: string): Content {
  return JSON.parse(sharedText(path)) as Content;
}

export function sharedText(path: string): string {
  return readFileSync(join(SHARED, path), 'utf8');
}
