import { referenceText } from '../../fhir/reference.js';
import { isJsonObject, type AnyResource, elementsOf } from '../../fhir/resource.js';
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
export function withoutStoredVersion(resource: AnyResource): AnyResource {
  if (!isJsonObject(resource.meta)) return resource;
  const { versionId: _v, lastUpdated: _l, ...meta } = resource.meta;
  return { ...resource, meta };
}

/**
 * The keys that no two resources may share, for the store to enforce.
 *
 * | type | text |
 * |---|---|
 * | User | its e-mail in normal form, at its scope: the server, or one project |
 * | ProjectMembership | its `externalId`, in its project |
 */
export function uniqueKeysOf(resource: AnyResource): readonly string[] {
  const elements = elementsOf(resource);
  if (resource.resourceType === 'User' && typeof elements['email'] === 'string') {
    return [userEmailKey(elements['email'], referenceText(elements['project']))];
  }
  if (resource.resourceType === 'ProjectMembership' && typeof elements['externalId'] === 'string') {
    return [`ProjectMembership.externalId=${elements['externalId']}`];
  }
  return [];
}

/**
 * The unique key of a User's e-mail.
 *
 * @param scope `Project/1` for a User of one project; undefined for one of the whole server
 */
export function userEmailKey(email: string, scope: string | undefined): string {
  return `User.email=${scope ?? ''} ${normalizeEmail(email)}`;
}

/** The normal form in which e-mails are compared: composed, lower case, without surrounding blanks. */
export function normalizeEmail(email: string): string {
  return email.normalize('NFKC').trim().toLowerCase();
}
