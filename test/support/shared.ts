import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { gunzipSync } from 'node:zlib';
import type { AnyResource } from '../../src/fhir/resource.js';

/** The folder of shared material beside the repository; tests that need it skip, saying so, when it is not there. */
export const SHARED = process.env['FHIRGRAPH_SHARED'] ?? resolve(import.meta.dirname, '../../../shared');

export const hasShared = existsSync(join(SHARED, 'corpus/index.json'));

export interface TransactionBundle extends AnyResource {
  readonly resourceType: 'Bundle';
  readonly type: string;
  readonly entry: readonly { readonly fullUrl?: string; readonly resource: AnyResource }[];
}

/** The first bundles of the Synthea sample, by file name. */
export function syntheaBundles(count = 26): TransactionBundle[] {
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
