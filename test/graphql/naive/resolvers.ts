import { loadFhirPath } from '../../../src/fhirpath/library.js';
import type { ResourceStore } from '../../../src/index.js';
import { R4 } from '../../../src/store.js';
import { elementsOf } from '../../../src/fhir/resource.js';
import { fhirpathFilter } from '../../../src/fhirpath/compile.js';
import { and } from '../../../src/search/criteria/criteria.js';
import { parseParameter } from '../../../src/search/parse/parse-parameter.js';
import { parseSort } from '../../../src/search/parse/parse-search.js';

await loadFhirPath();

export type JsonObject = { readonly [name: string]: unknown };
export type Arguments = { readonly [name: string]: unknown };

/** A part of a resource, and the resource that contains it. */
export interface Item {
  readonly value: JsonObject;
  readonly resource: JsonObject;
}

export interface Source {
  readonly store: ResourceStore;
  readonly project: string;
}

export async function readOne({ store, project }: Source, type: string, args: Arguments): Promise<Item> {
  const id = String(args['id'] ?? args['_id']);
  const [result] = await store.read([{ project, type, id }]);
  if (result?.status !== 'found') throw new Error('Not found');
  return itemOf(elementsOf(result.resource));
}

/** All matches of a search, which are paged and filtered here. */
export async function searchAll(
  { store, project }: Source,
  type: string,
  parent: Item | undefined,
  args: Arguments,
): Promise<Item[]> {
  const { _reference, _sort, _count, _offset, fhirpath, ...parameters } = args;
  const criteria = Object.entries(parameters).flatMap(([name, values]) =>
    values === null || values === undefined
      ? []
      : parseParameter(R4, type, name.replace(/(?!^)_/g, '-'), [values].flat().map(String), {
          modifiers: false,
          now: new Date(),
        }),
  );
  if (parent !== undefined) {
    const { resourceType, id } = parent.resource;
    const code = String(_reference).replaceAll('_', '-');
    // Contained resources are inside others, and nothing refers to them.
    if (parent.value !== parent.resource) return [];
    criteria.push(
      parseParameter(R4, type, code, [`${String(resourceType)}/${String(id)}`], { modifiers: false, now: new Date() }),
    );
  }
  const sort = typeof _sort === 'string' || Array.isArray(_sort) ? parseSort(R4, type, [_sort].flat().map(String)) : [];
  for (const number of [_offset, _count]) {
    if (typeof number === 'number' && number < 0) throw new Error('A page cannot be negative');
  }
  const { matches } = await store.search({ project, type, criteria: and(criteria), sort });
  const offset = typeof _offset === 'number' ? _offset : 0;
  const page = matches.slice(offset, typeof _count === 'number' ? offset + _count : undefined);
  const items = page.map(({ resource }) => itemOf(elementsOf(resource)));
  if (typeof fhirpath !== 'string') return items;
  const keep = fhirpathFilter(R4, fhirpath, type);
  return items.filter(({ value }) => keep(value, { resource: value }));
}

export async function resolveReference({ store, project }: Source, item: Item, args: Arguments): Promise<Item | null> {
  const text = item.value['reference'];
  if (typeof text !== 'string') return null;
  const found = await follow(store, project, text, item, args['type']);
  if (found === 'other type') return null;
  if (found === undefined && args['optional'] !== true) throw new Error('Leads nowhere');
  return found ?? null;
}

async function follow(
  store: ResourceStore,
  project: string,
  text: string,
  item: Item,
  wanted: unknown,
): Promise<Item | 'other type' | undefined> {
  if (text.startsWith('#')) {
    const contained = (item.resource['contained'] ?? []) as readonly JsonObject[];
    const value = contained.find(({ id }) => id === text.slice(1));
    if (value === undefined) return undefined;
    if (typeof wanted === 'string' && wanted !== value['resourceType']) return 'other type';
    return { value, resource: item.resource };
  }
  const [type, id, more] = text.split('/') as [string, string | undefined, string | undefined];
  if (id === undefined || more !== undefined || text.includes(':')) return undefined;
  if (typeof wanted === 'string' && wanted !== type) return 'other type';
  const [result] = await store.read([{ project, type, id }]);
  return result?.status === 'found' ? itemOf(elementsOf(result.resource)) : undefined;
}

function itemOf(resource: JsonObject): Item {
  return { value: resource, resource };
}
