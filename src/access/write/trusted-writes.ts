import { FhirError } from '../../fhir/error.js';
import { referenceTo } from '../../fhir/reference.js';
import type { AnyResource } from '../../fhir/resource.js';
import type { CallOptions, ReadResult, ResourceKey, ResourceStore } from '../../store/store.js';
import type { ServerCaller, SystemCaller } from '../caller.js';
import { decide } from '../decide.js';
import type { GuardedWrite } from '../contract.js';
import { homeOf } from '../home-of.js';
import { keepSecrets } from './keep-secrets.js';
import { isSystemBot } from './system-bot.js';
import { resolveMemberUsers } from '../evaluate/member-users.js';
import { ownProjectWrite } from './own-project-write.js';
import { isAboveProjects, secretFields } from '../fields/administrative-types.js';
import { assertPolicyWrite } from '../policy/assert-policy-write.js';
import { unrestrictedRule } from '../rule.js';
import type { ReadyWrite } from './ready-write.js';
import { restrictQuery } from '../read/restrict-query.js';
import { uniqueKeysOf } from './unique-keys.js';
import { sideWrites, stamp } from './side-writes.js';
import { withIndex } from '../write-error.js';

/**
 * The writes of trusted code, which no policy binds, but its place does: one project, or what is above projects. Secrets
 * may be written, but are never part of a result.
 */
export async function trustedWrites(
  store: ResourceStore,
  caller: SystemCaller | ServerCaller,
  writes: readonly GuardedWrite[],
  options: CallOptions | undefined,
): Promise<ReadyWrite[]> {
  const ready: ReadyWrite[] = [];
  /** What the writes so far make of resources, by `Type/id`; null for deleted ones. */
  const written = new Map<string, AnyResource | null>();
  for (const [from, write] of writes.entries()) {
    if (write.kind === 'unmatched') {
      ready.push(await unmatched(store, caller, write, from, options));
      continue;
    }
    const key = { ...write.key, project: homeOf(write.key.type, caller) };
    assertWithinReach(caller, write, from);
    const name = referenceTo(key.type, key.id);
    if (write.kind === 'delete') {
      const { mustExist, ...deletion } = write;
      const mustLook = key.type === 'ProjectMembership' || (mustExist === true && write.expect === undefined);
      const [found] = written.has(name) || !mustLook ? [] : await store.read([key], options);
      if (mustExist === true && write.expect === undefined && found?.status === 'missing') {
        throw withIndex(new FhirError('not-found', `${name} was not found`), from);
      }
      const before = written.get(name) ?? (found?.status === 'found' ? found.resource : null);
      // What a removed membership linked is recorded, so the version that was read must be the one that goes.
      const expect =
        key.type === 'ProjectMembership' && found !== undefined
          ? (write.expect ?? { version: found.status === 'found' ? found.versionId : null })
          : write.expect;
      written.set(name, null);
      ready.push(...sideWrites(write, key, caller, from, before));
      ready.push({ write: { ...deletion, key, expect }, from, rulesForAnswer: [] });
      continue;
    }
    ready.push(...sideWrites(write, key, caller, from, null));
    if (write.resource.resourceType === 'AccessPolicy') assertPolicyWrite(write.resource);
    const { keepSecrets: _, ...put } = write;
    const kept = await withWhatStays(store, caller, write, key, from, options);
    const resource = stamp(kept.resource, caller);
    written.set(name, resource);
    const unique = [...(write.unique ?? []), ...uniqueKeysOf(resource)];
    const seenBy = [unrestrictedRule('trusted code', secretFields(write.key.type))];
    ready.push({ write: { ...put, key, resource, expect: kept.expect, unique }, from, rulesForAnswer: seenBy });
  }
  return ready;
}

async function unmatched(
  store: ResourceStore,
  caller: SystemCaller | ServerCaller,
  { query }: GuardedWrite & { kind: 'unmatched' },
  from: number,
  options: CallOptions | undefined,
): Promise<ReadyWrite> {
  const rulesOf = (type: string): ReturnType<typeof decide> => decide(caller, type, 'search');
  const restricted = restrictQuery(caller, query, rulesOf(query.type) ?? [], rulesOf);
  const criteria = await resolveMemberUsers(store, caller, restricted.criteria, options);
  return { write: { kind: 'unmatched', query: { ...restricted, criteria } }, from, rulesForAnswer: [] };
}

/** @throws FhirError `forbidden` - it lies in no project of the caller's, or above projects where that is out of reach */
function assertWithinReach(
  caller: SystemCaller | ServerCaller,
  { key, kind }: Exclude<GuardedWrite, { kind: 'unmatched' }>,
  from: number,
): void {
  const { type, id } = key;
  if (caller.kind === 'server') {
    if (decide(caller, type, 'update') !== null) return;
    const hint = `serverCaller() without a project reaches Users and Projects only, not ${type}`;
    throw withIndex(new FhirError('forbidden', hint), from);
  }
  if (!isAboveProjects(type) || (type === 'Project' && id === caller.project && kind === 'put')) return;
  const what = type === 'User' ? 'Users are' : id === caller.project ? 'Deleting a Project is' : 'Other Projects are';
  throw withIndex(outOfReach(what), from);
}

function outOfReach(what: string): FhirError {
  const message = `${what} out of reach of systemCaller(project); use serverCaller() for what is above projects`;
  return new FhirError('forbidden', message);
}

/** The resource with what it leaves out and what must stay, and the version that this was decided on. */
async function withWhatStays(
  store: ResourceStore,
  caller: SystemCaller | ServerCaller,
  write: GuardedWrite & { kind: 'put' },
  key: ResourceKey,
  from: number,
  options: CallOptions | undefined,
): Promise<Pick<GuardedWrite & { kind: 'put' }, 'resource' | 'expect'>> {
  const { resource, expect } = write;
  const ownProject = caller.kind === 'system' && key.type === 'Project';
  const ownBot = caller.kind === 'system' && key.type === 'Bot';
  const keeping = write.keepSecrets === true && secretFields(key.type).length > 0;
  if (!ownProject && !ownBot && !keeping) return { resource, expect };
  const [found] = await store.read([key], options);
  const stored = storedOf(found);
  if (ownProject && found?.status === 'gone') throw withIndex(outOfReach('Bringing back a deleted Project is'), from);
  if (ownBot && (isSystemBot(resource) || (stored !== undefined && isSystemBot(stored)))) {
    throw withIndex(outOfReach('A Bot with "system": true is'), from);
  }
  const settled = ownProject ? ownProjectWrite(stored, resource) : resource;
  if (settled instanceof FhirError) throw withIndex(settled, from);
  const kept = keeping && stored !== undefined ? keepSecrets(stored, settled) : settled;
  if (found?.status === 'found') return { resource: kept, expect: expect ?? { version: found.versionId } };
  return { resource: kept, expect: ownProject || ownBot ? (expect ?? { version: null }) : expect };
}

function storedOf(found: ReadResult | undefined): AnyResource | undefined {
  return found?.status === 'found' ? found.resource : undefined;
}
