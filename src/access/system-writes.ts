import { FhirError } from '../fhir/error.js';
import { referenceTo } from '../fhir/reference.js';
import { elementsOf, type AnyResource } from '../fhir/resource.js';
import type { CallOptions, ResourceStore } from '../store/store.js';
import type { SystemCaller } from './caller.js';
import type { GuardedWrite } from './guarded-store.js';
import { homeOf } from './home-of.js';
import { secretFields } from './policy/administrative-types.js';
import { assertPolicyWrite } from './policy/assert-policy-write.js';
import { unrestrictedRule } from './policy/rule.js';
import type { ReadyWrite } from './ready-write.js';
import { uniqueKeysOf } from './unique-keys.js';
import { companionsOf, stamp } from './write-companions.js';
import { withIndex } from './write-error.js';

/** The writes of trusted code, which need no decision. Secrets may be written, but are never part of a result. */
export async function systemWrites(
  store: ResourceStore,
  caller: SystemCaller,
  writes: readonly GuardedWrite[],
  options: CallOptions | undefined,
): Promise<ReadyWrite[]> {
  const ready: ReadyWrite[] = [];
  /** What the writes so far make of resources, by `Type/id`; null for deleted ones. */
  const written = new Map<string, AnyResource | null>();
  for (const [from, write] of writes.entries()) {
    if (write.kind === 'unmatched') {
      const query = { ...write.query, project: homeOf(write.query.type, caller) };
      ready.push({ write: { kind: 'unmatched', query }, from, seenBy: [] });
      continue;
    }
    const key = { ...write.key, project: homeOf(write.key.type, caller) };
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
      ready.push(...companionsOf(write, key, caller, from, before));
      ready.push({ write: { ...deletion, key, expect }, from, seenBy: [] });
      continue;
    }
    ready.push(...companionsOf(write, key, caller, from, null));
    if (write.resource.resourceType === 'AccessPolicy') assertPolicyWrite(write.resource);
    const { keepSecrets, ...put } = write;
    const kept = keepSecrets === true ? await withSecrets(store, caller, write, options) : write;
    const resource = stamp(kept.resource, caller);
    written.set(name, resource);
    const unique = [...(write.unique ?? []), ...uniqueKeysOf(resource)];
    const seenBy = [unrestrictedRule('trusted code', secretFields(write.key.type))];
    ready.push({ write: { ...put, key, resource, expect: kept.expect, unique }, from, seenBy });
  }
  return ready;
}

/** Secrets that the resource leaves out are those of the version it replaces. */
async function withSecrets(
  store: ResourceStore,
  caller: SystemCaller,
  { key, resource, expect }: GuardedWrite & { kind: 'put' },
  options: CallOptions | undefined,
): Promise<Pick<GuardedWrite & { kind: 'put' }, 'resource' | 'expect'>> {
  const secrets = secretFields(key.type);
  if (secrets.length === 0) return { resource, expect };
  const [found] = await store.read([{ ...key, project: homeOf(key.type, caller) }], options);
  if (found?.status !== 'found') return { resource, expect };
  const stored = elementsOf(found.resource);
  const missing = secrets.filter((name) => Object.hasOwn(stored, name) && !Object.hasOwn(resource, name));
  const kept = { ...resource, ...Object.fromEntries(missing.map((name) => [name, stored[name]])) };
  return { resource: kept, expect: expect ?? { version: found.versionId } };
}
