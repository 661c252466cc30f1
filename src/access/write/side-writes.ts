import { and, not, refersTo, type Criteria } from '../../search/criteria/criteria.js';
import { isJsonObject, type AnyResource } from '../../fhir/resource.js';
import { SERVER_SCOPE, type ResourceKey, type Write } from '../../store/store.js';
import type { Caller } from '../caller.js';
import { formerMembershipWrite } from './former-memberships.js';
import type { GuardedWrite } from '../contract.js';
import { isAboveProjects } from '../fields/administrative-types.js';
import type { ReadyWrite } from './ready-write.js';

/**
 * What has to stand before a write in its commit, whoever makes it.
 *
 * @param before the resource that a deletion removes; null if it does not exist
 */
export function sideWrites(
  write: GuardedWrite,
  key: ResourceKey,
  caller: Caller,
  from: number,
  before: AnyResource | null,
): ReadyWrite[] {
  return [...profileChecks(write, key, caller, from), ...directoryWrites(write, key, from, before)];
}

const PROFILE_TYPES: ReadonlySet<string> = new Set([
  'Patient',
  'Practitioner',
  'RelatedPerson',
  'ClientApplication',
  'Bot',
]);

/** A profile that a membership references stays: without it the member could not sign in. */
function profileChecks(write: GuardedWrite, key: ResourceKey, caller: Caller, from: number): ReadyWrite[] {
  if (write.kind !== 'delete' || !PROFILE_TYPES.has(key.type)) return [];
  return [
    {
      write: {
        kind: 'unmatched',
        query: {
          project: caller.project,
          type: 'ProjectMembership',
          criteria: refersTo('profile', key),
        },
      },
      from,
      rulesForAnswer: [],
    },
  ];
}

/**
 * Memberships lie in their projects; above the projects stands a directory entry per membership that says in which, so
 * that a membership alone is enough to sign in. Its id is therefore unique over all projects.
 */
function directoryWrites(
  write: GuardedWrite,
  key: ResourceKey,
  from: number,
  before: AnyResource | null,
): ReadyWrite[] {
  if (key.type !== 'ProjectMembership' || write.kind === 'unmatched') return [];
  const entry: ResourceKey = { ...key, project: SERVER_SCOPE };
  if (write.kind === 'delete') {
    // Without a membership in this project, the entry with this id belongs to another one.
    if (before === null) return [];
    const former = formerMembershipWrite(key.project, before);
    const writes: Write[] = [{ kind: 'delete', key: entry }, ...(former === undefined ? [] : [former])];
    return writes.map((one) => ({ write: one, from, rulesForAnswer: [] }));
  }
  const project = { reference: `Project/${key.project}` };
  const elsewhere: Criteria = and([
    { kind: 'id', ids: [key.id] },
    not(refersTo('project', { type: 'Project', id: key.project })),
  ]);
  const query = { project: SERVER_SCOPE, type: key.type, criteria: elsewhere };
  const resource = { resourceType: key.type, id: key.id, project };
  return [
    { write: { kind: 'unmatched', query }, from, rulesForAnswer: [] },
    { write: { kind: 'put', key: entry, resource }, from, rulesForAnswer: [] },
  ];
}

/** Who wrote it and where: Medplum's `meta.author` and `meta.project`. */
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
