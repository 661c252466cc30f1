import type { AnyResource, ResourceStore } from '../../src/index.js';
import type { SearchPage, StoredResource } from '../../src/store.js';
import { elementsOf } from '../../src/fhir/resource.js';
import { copyElement } from '../../src/fhir/json/decimal-texts.js';

/** A store that omits all elements of resources that a call does not need: see `SearchQuery.elements`. */
export function sparingStore<Store extends ResourceStore>(inner: Store): Store {
  const page = ({ matches, total }: SearchPage, elements: readonly string[] | undefined): SearchPage => ({
    matches: matches.map((match) => withPart(match, elements)),
    ...(total === undefined ? {} : { total }),
  });
  const sparing: Partial<ResourceStore> = {
    async read(keys, options) {
      const results = await inner.read(keys, options);
      return results.map((one, index) => (one.status === 'found' ? withPart(one, keys[index]!.elements) : one));
    },
    async search(query, options) {
      return page(await inner.search(query, options), query.elements);
    },
    async searchByReference(query, parameter, targets, options) {
      const pages = await inner.searchByReference(query, parameter, targets, options);
      return pages.map((one) => page(one, query.elements));
    },
  };
  return new Proxy(inner, {
    get(store, name) {
      const own: unknown = Reflect.get(sparing, name);
      if (own !== undefined) return own;
      const value: unknown = Reflect.get(store, name, store);
      return typeof value === 'function' ? (value.bind(store) as unknown) : value;
    },
  });
}

function withPart<Row extends StoredResource>(row: Row, elements: readonly string[] | undefined): Row {
  return elements === undefined ? row : { ...row, resource: partOf(row.resource, elements) };
}

function partOf(resource: AnyResource, elements: readonly string[]): AnyResource {
  const whole = elementsOf(resource);
  const part: { [name: string]: unknown } = {};
  for (const name of Object.keys(whole)) {
    if (name === 'resourceType' || name === 'id' || elements.includes(name)) copyElement(part, name, whole);
  }
  return part as unknown as AnyResource;
}
