import { isJsonObject, type AnyResource } from '../../fhir/resource.js';
import type { Caller } from '../caller.js';
import { isAboveProjects } from '../fields/administrative-types.js';

/** Says who wrote the resource and where: Medplum's `meta.author` and `meta.project`. */
export function stamp(resource: AnyResource, caller: Caller): AnyResource {
  const meta = {
    ...resource.meta,
    ...(isAboveProjects(resource.resourceType) ? {} : { project: caller.project }),
    ...(caller.kind === 'member' ? { author: { reference: caller.profile } } : {}),
  };
  return { ...resource, meta };
}

/** The resource without the version and the time of another version: the store gives it its own. */
export function withoutVersion(resource: AnyResource): AnyResource {
  if (!isJsonObject(resource.meta)) return resource;
  const { versionId: _v, lastUpdated: _l, ...meta } = resource.meta;
  return { ...resource, meta };
}
