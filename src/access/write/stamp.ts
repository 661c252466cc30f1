import { isJsonObject, type AnyResource } from '../../fhir/resource.js';
import type { Caller } from '../caller.js';
import { isAboveProjects } from '../fields/administrative-types.js';

/** Sets the author and project of a write: Medplum's `meta.author` and `meta.project`. */
export function stamp(resource: AnyResource, caller: Caller): AnyResource {
  const meta: AnyResource['meta'] & { project?: string; author?: { readonly reference: string } } = {
    ...resource.meta,
  };
  if (!isAboveProjects(resource.resourceType)) meta.project = caller.project;
  if (caller.kind === 'member') meta.author = { reference: caller.profile };
  return { ...resource, meta };
}

/** Removes the version and time of another version; the store sets its own. */
export function withoutVersion(resource: AnyResource): AnyResource {
  if (!isJsonObject(resource.meta)) return resource;
  const { versionId: _v, lastUpdated: _l, ...meta } = resource.meta;
  return { ...resource, meta };
}
