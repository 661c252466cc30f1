import { elementsOf, isJsonObject, type AnyResource } from '../fhir/resource.js';

/** A resource without Medplum's `meta.project` and `meta.author`, which R4 does not know; itself where it has neither. */
export function withoutOwnMeta<Resource extends AnyResource>(resource: Resource): Resource {
  const { meta } = elementsOf(resource);
  if (!isJsonObject(meta) || !('project' in meta || 'author' in meta)) return resource;
  const { project: _project, author: _author, ...rest } = meta;
  return { ...resource, meta: rest };
}

/** The same for the resources that a Bundle made here holds. */
export function withoutOwnMetaInside<Made extends object>(bundle: Made): Made {
  const { entry } = bundle as { readonly entry?: readonly { readonly resource?: AnyResource }[] };
  if (entry === undefined) return bundle;
  return {
    ...bundle,
    entry: entry.map((one) => (one.resource === undefined ? one : { ...one, resource: withoutOwnMeta(one.resource) })),
  };
}
