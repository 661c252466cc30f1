import { byteLength } from '../../platform/bytes.js';
import type { FhirModel } from '../../fhir/model/fhir-model.js';
import type { AnyResource } from '../../fhir/resource.js';
import { referenceTo } from '../../fhir/reference.js';
import { inTurns, mapInTurns, Pace } from '../../platform/pace.js';
import { groupEntries, subjectWith } from '../../search/evaluate/search-subject.js';
import { indexEntries } from '../../search/index/index-resource.js';
import { type CallOptions } from '../../store/call-options.js';
import { CallPace } from '../../store/guards.js';
import { expectationFailed, matchFound, uniqueKeyTaken } from '../../store/with-retries.js';
import { deepFreeze, nextInstant, withVersion } from '../../store/versioned.js';
import { assertPutMatchesKey } from '../../store/guards.js';
import { jsonText, parseJsonText } from '../../store/json-text.js';
import { assertErasureReason, erasedForGood } from '../../store/removal.js';
import type { ResourceKey } from '../../store/resource-key.js';
import type {
  Change,
  DeleteWrite,
  EraseWrite,
  Expectation,
  NoMatchAssertion,
  PutWrite,
  Write,
  WriteResult,
} from '../../store/write.js';
import type { HeldVersion, Holding, ProjectData } from './project-data.js';
import { findingFirst } from './search.js';
import { TimeLimit, within } from './time-limit.js';

/** What a commit did. */
export interface Committed {
  readonly results: readonly WriteResult[];
  readonly changes: readonly Change[];
}

/**
 * Applies writes one after the other, in turns with other work if that takes long; the first that fails takes back all
 * before it.
 *
 * @throws FhirError `aborted`; also the errors of the writes
 */
export async function commitWrites(
  model: FhirModel,
  writes: readonly Write[],
  dataOf: (project: string) => ProjectData,
  now: number,
  options: CallOptions | undefined,
): Promise<Committed> {
  const commit = new Commit(model, dataOf, now);
  try {
    const pace = new CallPace(options);
    const results: WriteResult[] = [];
    for (let index = 0; index < writes.length; index++) {
      if (pace.isSpent) await pace.next();
      const write = writes[index]!;
      if (write.kind === 'assert-no-match') {
        const asserting = commit.asserting(write, index, options?.deadline);
        // Most searches take one step, and no promise.
        if (asserting.next().done !== true) await inTurns(asserting, pace);
        results.push({ kind: 'assert-no-match' });
      } else results.push(commit.apply(write, index));
    }
    return { results, changes: commit.changes };
  } catch (error) {
    await commit.takeBack();
    throw error;
  }
}

class Commit {
  readonly changes: Change[] = [];
  readonly #dataOf: (project: string) => ProjectData;
  readonly #now: number;
  /** How to take back what was done, oldest first. */
  readonly #undo: (() => void)[] = [];

  constructor(
    private readonly model: FhirModel,
    dataOf: (project: string) => ProjectData,
    now: number,
  ) {
    this.#dataOf = dataOf;
    this.#now = now;
  }

  apply(write: Exclude<Write, NoMatchAssertion>, index: number): WriteResult {
    switch (write.kind) {
      case 'put':
        return this.#put(write, index);
      case 'delete':
        return this.#delete(write, index);
      case 'erase':
        return this.#erase(write, index);
    }
  }

  *asserting({ query }: NoMatchAssertion, index: number, deadline: number | undefined): Generator<void, void> {
    const time = new TimeLimit(deadline);
    const match = yield* within(time, findingFirst(this.#dataOf(query.project), query, time));
    if (match !== undefined) throw matchFound(index, referenceTo(match.type, match.id));
  }

  async takeBack(): Promise<void> {
    await mapInTurns(this.#undo.toReversed(), new Pace(), (undo) => undo());
  }

  #put(write: PutWrite, index: number): WriteResult {
    assertPutMatchesKey(write, index);
    const { key, resource, expect, unique = [] } = write;
    const data = this.#dataOf(key.project);
    const found = data.holding(key.type, key.id);
    assertExpected(key, expect, found, index);
    if (found?.erased !== undefined) throw erasedForGood(index, key);
    const created = found?.subject === undefined;
    const holding = found ?? this.#addHolding(data, key);
    const version = this.#addVersion(data, holding, key, resource, 'put');
    this.#setSubject(data, holding, version);
    this.#setUnique(data, holding, [...new Set(unique)], index);
    return { kind: 'put', created, ...storedVersion(version) };
  }

  #delete({ key, expect }: DeleteWrite, index: number): WriteResult {
    const data = this.#dataOf(key.project);
    const holding = data.holding(key.type, key.id);
    assertExpected(key, expect, holding, index);
    if (holding?.subject === undefined) return { kind: 'delete', versionId: null };
    const version = this.#addVersion(data, holding, key, undefined);
    this.#setSubject(data, holding, version);
    this.#setUnique(data, holding, [], index);
    return { kind: 'delete', versionId: version.versionId };
  }

  #erase(write: EraseWrite, index: number): WriteResult {
    assertErasureReason(write, index);
    const { key, reason, expect } = write;
    const data = this.#dataOf(key.project);
    const holding = data.holding(key.type, key.id);
    assertExpected(key, expect, holding, index);
    if (holding === undefined) return { kind: 'erase', versionId: null, versions: 0 };
    const count = holding.versions.length;
    if (holding.erased !== undefined) {
      return { kind: 'erase', versionId: holding.versions.at(-1)!.versionId, versions: 0 };
    }
    const version = this.#addVersion(data, holding, key, undefined, 'erase');
    this.#undo.push(data.removeOldest([[holding, count]]));
    holding.erased = reason;
    this.#undo.push(() => (holding.erased = undefined));
    this.#setSubject(data, holding, version);
    this.#setUnique(data, holding, [], index);
    return { kind: 'erase', versionId: version.versionId, versions: count };
  }

  #addHolding(data: ProjectData, { type, id }: ResourceKey): Holding {
    const holding = data.addHolding(type, id);
    this.#undo.push(() => data.removeHolding(holding));
    return holding;
  }

  #addVersion(
    data: ProjectData,
    holding: Holding,
    { project, type, id }: ResourceKey,
    resource: AnyResource | undefined,
    kind: Change['kind'] = 'delete',
  ): HeldVersion {
    const { versions } = holding;
    const versionId = String(Number(versions.at(-1)?.versionId ?? 0) + 1);
    const updated = nextInstant(this.#now, versions.at(-1)?.updated);
    const frozen = resource && frozenVersion(resource, versionId, updated);
    const { resource: kept, bytes = 0 } = frozen ?? {};
    const version = data.addVersion(holding, { versionId, updated, resource: kept, bytes });
    this.#undo.push(() => data.removeVersion(holding));
    this.changes.push({ kind, key: { project, type, id }, versionId });
    return version;
  }

  #setSubject(data: ProjectData, holding: Holding, { resource, updated }: HeldVersion): void {
    const before = holding.subject;
    const indexed = resource && groupEntries(indexEntries(this.model, resource));
    data.setSubject(holding, indexed && subjectWith(resource, updated, indexed));
    this.#undo.push(() => data.setSubject(holding, before));
  }

  #setUnique(data: ProjectData, holding: Holding, texts: readonly string[], index: number): void {
    for (const text of texts) {
      const holder = data.uniqueHolder(text);
      if (holder !== undefined && holder !== holding) {
        throw uniqueKeyTaken(index, holding, referenceTo(holder.type, holder.id));
      }
    }
    const before = holding.unique;
    data.setUnique(holding, texts);
    this.#undo.push(() => data.setUnique(holding, before));
  }
}

/** A version that is not a deletion, as the store answers it. */
export function storedVersion({ versionId, updated, resource }: HeldVersion): {
  readonly versionId: string;
  readonly lastUpdated: string;
  readonly resource: AnyResource;
} {
  return { versionId, lastUpdated: new Date(updated).toISOString(), resource: resource! };
}

function frozenVersion(
  resource: AnyResource,
  versionId: string,
  updated: number,
): { readonly resource: AnyResource; readonly bytes: number } {
  // A copy through JSON keeps exactly what a store on disk would.
  const text = jsonText(withVersion(resource, versionId, new Date(updated).toISOString()));
  return { resource: deepFreeze(parseJsonText(text)), bytes: byteLength(text) };
}

function assertExpected(
  key: ResourceKey,
  expect: Expectation | undefined,
  holding: Holding | undefined,
  index: number,
): void {
  if (expect === undefined) return;
  const current = holding?.subject === undefined ? null : holding.versions.at(-1)!.versionId;
  if (current !== expect.version) throw expectationFailed(index, key, expect, current);
}
