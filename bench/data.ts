import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { generateSample } from '../examples/sample-data.js';

/** Transaction Bundles as JSON texts, and their source. */
export interface BenchData {
  readonly source: string;
  readonly bundles: readonly string[];
}

/**
 * Bundles of `patients` patients: the Bundles of a folder, repeated under new ids until there are enough, or generated
 * Bundles if the folder does not exist. The same input gives the same ids.
 */
export function loadData(folder: string | undefined, patients: number): BenchData {
  if (folder === undefined || !existsSync(folder)) {
    const bundles = Array.from(generateSample({ patients, seed: 'bench' }), (bundle) => JSON.stringify(bundle));
    return { source: `generated, ${patients} patients`, bundles };
  }
  const originals = readdirSync(folder)
    .filter((name) => /\.json(?:\.gz)?$/.test(name))
    .sort()
    .map((name) => readBundle(join(folder, name)));
  if (originals.length === 0) throw new Error(`No .json or .json.gz file in ${folder}`);
  const bundles = Array.from({ length: patients }, (_, index) => {
    const copy = Math.floor(index / originals.length);
    const original = originals[index % originals.length]!;
    return copy === 0 ? original : withNewIds(original, copy);
  });
  return { source: `Synthea, ${originals.length} bundles repeated to ${patients} patients`, bundles };
}

function readBundle(path: string): string {
  const content = readFileSync(path);
  return (path.endsWith('.gz') ? gunzipSync(content) : content).toString('utf8');
}

/** The same Bundle with every UUID in it replaced by another. */
function withNewIds(bundle: string, copy: number): string {
  const renamed = new Map<string, string>();
  return bundle.replace(/[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, (uuid) => {
    let other = renamed.get(uuid);
    if (other === undefined) {
      const hash = createHash('sha256').update(`${copy}:${uuid}`).digest('hex');
      other = hash.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12}).*$/, '$1-$2-$3-$4-$5');
      renamed.set(uuid, other);
    }
    return other;
  });
}
