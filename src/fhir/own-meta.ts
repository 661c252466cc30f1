import { elementsOf, isJsonObject, type AnyResource } from './resource.js';

/** Whether callers see Medplum's additions to `meta`. */
export interface MetaChoice {
  readonly extendedMeta?: boolean | undefined;
}

/** A resource as it leaves the library: without Medplum's additions to `meta`, unless the host requested them. */
export function withChosenMeta<Resource extends AnyResource>(
  resource: Resource,
  { extendedMeta }: MetaChoice,
): Resource {
  return extendedMeta === true ? resource : withoutOwnMeta(resource);
}

/**
 * A resource without Medplum's `meta.project` and `meta.author`, which R4 does not define; the resource itself if it
 * has neither.
 */
export function withoutOwnMeta<Resource extends AnyResource>(resource: Resource): Resource {
  const { meta } = elementsOf(resource);
  if (!isJsonObject(meta) || !('project' in meta || 'author' in meta)) return resource;
  const { project: _project, author: _author, ...rest } = meta;
  if (Object.keys(rest).length > 0) return { ...resource, meta: rest };
  const { meta: _meta, ...elements } = elementsOf(resource);
  return elements as unknown as Resource;
}

/** The same for the resources in a Bundle of this library. */
export function withoutOwnMetaInside<Made extends object>(bundle: Made): Made {
  const { entry } = bundle as { readonly entry?: readonly { readonly resource?: AnyResource }[] };
  if (entry === undefined) return bundle;
  return {
    ...bundle,
    entry: entry.map((one) => (one.resource === undefined ? one : { ...one, resource: withoutOwnMeta(one.resource) })),
  };
}
