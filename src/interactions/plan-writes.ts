import { type GuardedKey, type GuardedWrite, withIndex } from '../access/contract.js';
import { FhirError } from '../fhir/error.js';
import { keepDecimalTexts } from '../fhir/json/decimal-texts.js';
import { gone, keyText } from '../fhir/reference.js';
import { isResourceId, type AnyResource } from '../fhir/resource.js';
import { onFirstUse } from '../platform/shared-work.js';
import { and, not, type Criteria } from '../search/criteria/criteria.js';
import type { ReadResult } from '../store/stored-resource.js';
import type { Expectation } from '../store/write.js';
import { assertResource, expectationOf, type WriteRequest } from './write-request.js';
import { findMatch, parseCondition } from './condition.js';
import { assertReadable, type GuardedSession, requireFound } from './interaction-session.js';

/** A write of the commit, and the meaning of its failure. */
export interface PlannedWrite {
  readonly write: GuardedWrite;
  /** Position of its request. */
  readonly from: number;
  /**
   * | role | meaning |
   * |---|---|
   * | write | the requested write |
   * | patched | a patch of a version that was read before. If another version is current: another writer came first |
   * | no-match-expected | nothing matches the condition of a create. If something does: another writer came first, or an earlier write of the commit meets it |
   * | unique-match | only the found resource matches the condition |
   */
  readonly role: 'write' | 'patched' | 'no-match-expected' | 'unique-match';
}

/** The writes of one commit, and the requests that need none. */
export interface WritePlan {
  readonly writes: readonly PlannedWrite[];
  /** By position of the request: the stored resource that its condition matched. */
  readonly found: ReadonlyMap<number, AnyResource>;
  /** The keys that the requests write, `Type/id`. */
  readonly touched: ReadonlySet<string>;
}

/** Facts known before planning, by position of the request. */
export interface Settled {
  /** The ids of created resources. */
  readonly ids: readonly string[];
  /** Requests whose condition is met by an earlier request's write, with its key. */
  readonly matched: ReadonlyMap<number, GuardedKey>;
}

/**
 * Plans the writes of one commit; each request builds on the effects of those before it.
 *
 * @throws FhirError with the request's position in `details.index`
 */
export async function planWrites(
  requests: readonly WriteRequest[],
  settled: Settled,
  session: GuardedSession,
): Promise<WritePlan> {
  const planner = new Planner(session, settled, await readForPatches(requests, session));
  for (const [index, request] of requests.entries()) {
    try {
      await planner.add(request, index);
    } catch (error) {
      throw error instanceof FhirError ? withIndex(error, index) : error;
    }
  }
  return { writes: planner.writes, found: planner.found, touched: new Set(planner.state.keys()) };
}

async function readForPatches(
  requests: readonly WriteRequest[],
  { store, options }: GuardedSession,
): Promise<ReadonlyMap<string, ReadResult>> {
  const keys = new Map<string, GuardedKey>();
  for (const request of requests) {
    if (request.interaction === 'patch' && isResourceId(request.key.id)) keys.set(keyText(request.key), request.key);
  }
  if (keys.size === 0) return new Map();
  const results = await store.read([...keys.values()], options);
  return new Map(Array.from(keys.keys(), (name, index) => [name, results[index]!]));
}

class Planner {
  readonly writes: PlannedWrite[] = [];
  readonly found = new Map<number, AnyResource>();
  /** The resources as left by the requests so far, by `Type/id`; null if deleted. */
  readonly state = new Map<string, AnyResource | null>();

  constructor(
    private readonly session: GuardedSession,
    private readonly settled: Settled,
    private readonly stored: ReadonlyMap<string, ReadResult>,
  ) {}

  add(request: WriteRequest, from: number): Promise<void> | void {
    switch (request.interaction) {
      case 'create':
        return this.#create(request, from);
      case 'update':
        return this.#update(request, from);
      case 'patch':
        return this.#patch(request, from);
      case 'delete':
        return this.#delete(request, from);
    }
  }

  /** See https://hl7.org/fhir/R4/http.html#create and #ccreate. */
  async #create({ resource, ifNoneExist }: WriteRequest & { interaction: 'create' }, from: number): Promise<void> {
    assertResource(this.session.store.model, resource);
    const type = resource.resourceType;
    if (ifNoneExist !== undefined) {
      const criteria = parseCondition(this.session.store.model, type, ifNoneExist);
      if (await this.#isMet(type, criteria, from)) return;
      this.#check({ type, criteria, from, role: 'no-match-expected' });
    }
    this.#put({ type, id: this.settled.ids[from]! }, resource, { version: null }, from, 'write', true);
  }

  /** Whether a stored resource or an earlier request's write meets the condition of a create. */
  async #isMet(type: string, criteria: Criteria, from: number): Promise<boolean> {
    const written = this.settled.matched.get(from);
    if (written !== undefined) {
      this.#check({
        type,
        criteria: and([criteria, not({ kind: 'id', ids: [written.id] })]),
        from,
        role: 'unique-match',
      });
      return true;
    }
    // Earlier requests changed these resources; the commit checks whether that matters.
    const match = await findMatch(type, criteria, this.state, this.session);
    if (match === undefined) return false;
    const ids = [...this.state.values()].flatMap((made) => (made?.resourceType === type ? made.id! : []));
    if (ids.length > 0)
      this.#check({ type, criteria: and([criteria, { kind: 'id', ids }]), from, role: 'unique-match' });
    this.found.set(from, match.resource);
    return true;
  }

  /** See https://hl7.org/fhir/R4/http.html#update. */
  #update(request: WriteRequest & { interaction: 'update' }, from: number): void {
    const { resource, ifMatch, ifNoneMatch, ifNoneExist } = request;
    assertResource(this.session.store.model, resource);
    const { resourceType: type, id } = resource;
    if (!isResourceId(id)) {
      throw new FhirError('invalid', `An update needs the id of the ${type}: 1 to 64 letters, digits, "-" or "."`);
    }
    if (ifNoneExist !== undefined) {
      const criteria = parseCondition(this.session.store.model, type, ifNoneExist);
      this.#check({ type, criteria, from, role: 'unique-match' });
    }
    this.#put({ type, id }, resource, expectationOf(ifMatch, ifNoneMatch), from);
  }

  /** Hidden elements are unchanged. See https://hl7.org/fhir/R4/http.html#patch. */
  async #patch({ key, operations, ifMatch }: WriteRequest & { interaction: 'patch' }, from: number): Promise<void> {
    const stated = expectationOf(ifMatch);
    assertReadable(this.session.store.model, key);
    const made = this.state.get(keyText(key));
    if (made === null) throw gone(key);
    const before = made ?? requireFound(this.stored.get(keyText(key)), key);
    const { applyJsonPatch } = await loadJsonPatch();
    if (!('versionId' in before)) return this.#put(key, applyJsonPatch(before, operations), stated, from);
    const expect = stated ?? { version: before.versionId };
    const role = stated === undefined ? 'patched' : 'write';
    this.#put(key, applyJsonPatch(before.resource, operations), expect, from, role);
  }

  /** See https://hl7.org/fhir/R4/http.html#delete. */
  #delete({ key, ifMatch }: WriteRequest & { interaction: 'delete' }, from: number): void {
    assertReadable(this.session.store.model, key);
    const write = { kind: 'delete', key, expect: expectationOf(ifMatch), mustExist: true } as const;
    this.writes.push({ write, from, role: 'write' });
    this.state.set(keyText(key), null);
  }

  #put(
    key: GuardedKey,
    resource: AnyResource,
    expect: Expectation | undefined,
    from: number,
    role: PlannedWrite['role'] = 'write',
    generatedId?: true,
  ): void {
    const { resourceType, ...elements } = resource;
    const kept = keepDecimalTexts(resource, { resourceType, ...elements, id: key.id });
    const write = { kind: 'put', key, resource: kept, expect, keepSecrets: true, generatedId } as const;
    this.writes.push({ write, from, role });
    this.state.set(keyText(key), kept);
  }

  #check({ type, criteria, from, role }: Pick<PlannedWrite, 'from' | 'role'> & { type: string; criteria: Criteria }) {
    this.writes.push({ write: { kind: 'assert-no-match', query: { type, criteria } }, from, role });
  }
}

/** PERF (start): loading takes 5 ms, which processes without patches should not spend. */
const loadJsonPatch = onFirstUse(() => import('../fhir/json-patch.js'));
