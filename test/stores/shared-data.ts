import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import type { AnyResource } from '../../src/fhir/resource.js';

/** Synthea bundles beside the repository; undefined where there are none. */
export function syntheaFolder(): string | undefined {
  const shared = process.env.FHIRGRAPH_SHARED ?? join(import.meta.dirname, '../../../shared');
  const folder = join(shared, 'data/synthea');
  return existsSync(folder) ? folder : undefined;
}

/** Resources of the first bundles by name, with references between them made local. */
export function syntheaResources(folder: string, bundles: number): readonly AnyResource[] {
  const files = readdirSync(folder).toSorted().slice(0, bundles);
  return files.flatMap((file) => {
    const bytes = readFileSync(join(folder, file));
    return localResources(String(file.endsWith('.gz') ? gunzipSync(bytes) : bytes));
  });
}

function localResources(text: string): readonly AnyResource[] {
  const { entry } = JSON.parse(text) as { entry: { fullUrl: string; resource: AnyResource }[] };
  const names = new Map(entry.map(({ fullUrl, resource }) => [fullUrl, `${resource.resourceType}/${resource.id!}`]));
  const resources = JSON.stringify(entry.map(({ resource }) => resource));
  const local = resources.replace(/"(urn:uuid:[^"]+)"/g, (_, url: string) => JSON.stringify(names.get(url) ?? url));
  return JSON.parse(local) as AnyResource[];
}
