import type { AnyResource } from '../../src/index.js';
import { syntheaBundles, type TransactionBundle } from '../support/shared.js';

/** Resources of the first Synthea bundles by name, with references between them made local. */
export function syntheaResources(bundles: number): readonly AnyResource[] {
  return syntheaBundles(bundles).flatMap(localResources);
}

function localResources({ entry }: TransactionBundle): readonly AnyResource[] {
  const names = new Map(entry.map(({ fullUrl, resource }) => [fullUrl, `${resource.resourceType}/${resource.id!}`]));
  const resources = JSON.stringify(entry.map(({ resource }) => resource));
  const local = resources.replace(/"(urn:uuid:[^"]+)"/g, (_, url: string) => JSON.stringify(names.get(url) ?? url));
  return JSON.parse(local) as AnyResource[];
}
