import { keyText } from '../../fhir/reference.js';
import type { GuardedKey, GuardedWrite } from '../../access/contract.js';
import { FhirError } from '../../fhir/error.js';
import { type AnyResource, isResourceId } from '../../fhir/resource.js';
import type { StoredResource } from '../../store/stored-resource.js';
import type { Expectation } from '../../store/write.js';
import type { BundleEntry } from './bundle-entries.js';
import { findMatch, parseCondition } from '../../interactions/condition.js';
import type { EntryFaults } from './entry-outcome.js';
import type { ImportSession } from '../session.js';
import { requireFound } from '../../interactions/interaction-session.js';
import { onFirstUse } from '../../platform/shared-work.js';
import { randomId } from '../../platform/crypto.js';
import { CallPace } from '../../store/guards.js';

/** An entry whose resource is known. */
export type Identified = PutEntry | DeleteEntry | MatchEntry | NothingEntry | ReadEntry;

/** An instance: see {@link BundleEntry}. */
export class PutEntry {
  readonly action = 'put';

  constructor(
    readonly entry: BundleEntry,
    readonly resource: AnyResource,
    readonly key: GuardedKey,
    readonly expect: Expectation | undefined,
    /** See {@link GuardedWrite}. */
    readonly generatedId?: true,
    /** Fails the commit if a concurrent writer stored a match of the entry's condition. */
    readonly check?: GuardedWrite,
    /** True if `expect` or `check` depend on a search result: a retry may succeed. */
    readonly optimistic = false,
  ) {}
}

interface DeleteEntry {
  readonly action: 'delete';
  readonly entry: BundleEntry;
  readonly key: GuardedKey;
  readonly expect: Expectation | undefined;
  readonly optimistic: boolean;
}

/** A conditional create whose resource exists already. */
interface MatchEntry {
  readonly action: 'match';
  readonly entry: BundleEntry;
  readonly key: GuardedKey;
  readonly stored: StoredResource;
}

/** A conditional delete without a match. */
interface NothingEntry {
  readonly action: 'nothing';
  readonly entry: BundleEntry;
}

interface ReadEntry {
  readonly action: 'read';
  readonly entry: BundleEntry;
}

/** Orders entries as transactions are processed. See https://hl7.org/fhir/R4/http.html#trules. */
export function inProcessingOrder(entries: readonly BundleEntry[]): readonly BundleEntry[] {
  const rank = { DELETE: 0, POST: 1, PUT: 2, PATCH: 2, GET: 3, HEAD: 3 } as const;
  return [...entries].sort((a, b) => rank[a.request.method] - rank[b.request.method] || a.index - b.index);
}

/**
 * Determines the resource of each entry, with a search if the entry has a condition.
 *
 * A created resource keeps its id. Without one it takes that of its fullUrl (`urn:uuid:X`, `…/Type/X`), else a new
 * UUID. Where ids are assigned, it is always a new UUID.
 *
 * @param entries in processing order
 */
export async function identify(
  entries: readonly BundleEntry[],
  session: ImportSession,
  faults: EntryFaults,
): Promise<readonly Identified[]> {
  const identified: Identified[] = [];
  const deleted = new Set<string>();
  const pace = new CallPace(session.options);
  for (const entry of entries) {
    if (pace.isSpent) await pace.next();
    const { method } = entry.request;
    // Most entries need no search, and no promises.
    const plain = identifyByKey(entry, session);
    if (plain !== undefined) {
      identified.push(plain);
      continue;
    }
    await faults.guardAsync(entry.index, async () => {
      if (method === 'DELETE') {
        const found = await identifyDelete(entry, deleted, session);
        if (found.action === 'delete') deleted.add(keyText(found.key));
        identified.push(found);
      } else if (method === 'POST') {
        identified.push(await identifyCreate(entry, deleted, session));
      } else if (method === 'PUT') {
        identified.push(await identifyUpdate(entry, deleted, session));
      } else if (method === 'PATCH') {
        identified.push(await identifyPatch(entry, deleted, session));
      } else {
        identified.push({ action: 'read', entry });
      }
    });
  }
  return identified;
}

/** A create without a condition, or an update by id; undefined for other entries. */
function identifyByKey(entry: BundleEntry, session: ImportSession): PutEntry | undefined {
  const { method, type, id } = entry.request;
  const resource = entry.resource!;
  if (method === 'POST' && entry.ifNoneExist === undefined) {
    const { key, expect, generatedId } = keyOfNew(entry, session);
    return new PutEntry(entry, resource, key, expect, generatedId);
  }
  if (method === 'PUT' && id !== undefined) return new PutEntry(entry, resource, { type, id }, statedVersion(entry));
  return undefined;
}

/** See https://hl7.org/fhir/R4/http.html#delete and #cdelete; several matches are refused. */
async function identifyDelete(
  entry: BundleEntry,
  deleted: ReadonlySet<string>,
  session: ImportSession,
): Promise<DeleteEntry | NothingEntry> {
  const { type, id, query } = entry.request;
  if (id !== undefined) {
    return { action: 'delete', entry, key: { type, id }, expect: statedVersion(entry), optimistic: false };
  }
  const criteria = parseCondition(session.store.model, type, query!);
  const match = await findMatch(type, criteria, deleted, session);
  if (match === undefined) return { action: 'nothing', entry };
  const expect = statedVersion(entry) ?? { version: match.versionId };
  return { action: 'delete', entry, key: { type, id: match.resource.id! }, expect, optimistic: true };
}

/** See https://hl7.org/fhir/R4/http.html#ccreate. */
async function identifyCreate(
  entry: BundleEntry,
  deleted: ReadonlySet<string>,
  session: ImportSession,
): Promise<PutEntry | MatchEntry> {
  const { type } = entry.request;
  const resource = entry.resource!;
  const criteria = parseCondition(session.store.model, type, entry.ifNoneExist!);
  const stored = await findMatch(type, criteria, deleted, session);
  if (stored !== undefined) return { action: 'match', entry, key: { type, id: stored.resource.id! }, stored };
  const check: GuardedWrite = { kind: 'assert-no-match', query: { type, criteria } };
  const { key, expect, generatedId } = keyOfNew(entry, session);
  return new PutEntry(entry, resource, key, expect, generatedId, check, true);
}

/** Only ids generated here are known to be new. */
function keyOfNew(entry: BundleEntry, session: ImportSession): Pick<PutEntry, 'key' | 'expect' | 'generatedId'> {
  const { type } = entry.request;
  const own = session.assignIds ? undefined : ownIdOf(entry);
  if (own !== undefined) return { key: { type, id: own }, expect: undefined, generatedId: undefined };
  return { key: { type, id: randomId() }, expect: { version: null }, generatedId: true };
}

/** See https://hl7.org/fhir/R4/http.html#cond-update. */
async function identifyUpdate(
  entry: BundleEntry,
  deleted: ReadonlySet<string>,
  session: ImportSession,
): Promise<PutEntry> {
  const { type, query } = entry.request;
  const resource = entry.resource!;
  const stated = statedVersion(entry);
  const criteria = parseCondition(session.store.model, type, query!);
  const match = await findMatch(type, criteria, deleted, session);
  if (match === undefined) {
    // With assigned ids, a fullUrl is only an identity inside the Bundle.
    const chosen = resource.id ?? (session.assignIds ? undefined : idOfFullUrl(entry));
    const key = { type, id: chosen ?? randomId() };
    const generatedId = chosen === undefined ? true : undefined;
    // A resource outside the condition with this id must not be overwritten.
    const expect = stated ?? { version: null };
    const check: GuardedWrite = { kind: 'assert-no-match', query: { type, criteria } };
    return new PutEntry(entry, resource, key, expect, generatedId, check, true);
  }
  const key = { type, id: match.resource.id! };
  if (resource.id !== undefined && resource.id !== key.id) {
    throw new FhirError('invalid', `The ${type} that matches the condition has another id than the resource`);
  }
  const expect = stated ?? { version: match.versionId };
  return new PutEntry(entry, resource, key, expect, undefined, undefined, true);
}

/** The resource as the caller sees it, patched. See https://hl7.org/fhir/R4/http.html#patch. */
async function identifyPatch(
  entry: BundleEntry,
  deleted: ReadonlySet<string>,
  session: ImportSession,
): Promise<PutEntry> {
  const { type, id, query } = entry.request;
  const found =
    id === undefined
      ? await findMatch(type, parseCondition(session.store.model, type, query!), deleted, session)
      : requireFound((await session.store.read([{ type, id }], session.options))[0], { type, id });
  if (found === undefined) throw new FhirError('not-found', `No ${type} matches the condition of the PATCH`);
  const { applyJsonPatch } = await loadJsonPatch();
  const resource = applyJsonPatch(found.resource, entry.patch);
  const key = { type, id: found.resource.id! };
  const expect = statedVersion(entry) ?? { version: found.versionId };
  return new PutEntry(entry, resource, key, expect, undefined, undefined, entry.ifMatch === undefined);
}

/** Few Bundles have a patch. */
const loadJsonPatch = onFirstUse(() => import('../../fhir/json-patch.js'));

function statedVersion({ ifMatch, ifNoneMatch }: BundleEntry): Expectation | undefined {
  if (ifMatch !== undefined) return { version: ifMatch };
  return ifNoneMatch === '*' ? { version: null } : undefined;
}

/** The id that a created resource keeps: its own, else that of its fullUrl. */
export function ownIdOf(entry: BundleEntry): string | undefined {
  return entry.resource?.id ?? idOfFullUrl(entry);
}

/** The id inside `urn:uuid:X` or `http://base/Type/X`. */
function idOfFullUrl({ fullUrl, request }: BundleEntry): string | undefined {
  if (fullUrl === undefined) return undefined;
  const id = fullUrl.startsWith('urn:uuid:')
    ? fullUrl.slice('urn:uuid:'.length)
    : new RegExp(`^https?://.*/${request.type}/([^/]+)$`).exec(fullUrl)?.[1];
  return isResourceId(id) ? id : undefined;
}
