import { FhirError } from '../../fhir/error.js';
import type { AnyResource } from '../../fhir/resource.js';
import type { IndexEntry } from '../../search/index-entry.js';
import { indexEntries } from '../../search/index-resource.js';
import { expectationFailed, uniqueKeyTaken, unmatchedFound } from '../../store/conflicts.js';
import { assertPutMatchesKey } from '../../store/guards.js';
import { jsonText } from '../../store/json-text.js';
import type { Change, DeleteWrite, Expectation, PutWrite, ResourceKey, Write, WriteResult } from '../../store/store.js';
import { nextInstant, withVersion } from '../../store/versioned.js';
import { type Dictionaries, settleAll } from './dictionary.js';
import type { SqliteDatabase } from './driver.js';
import { IndexWriter } from './index-writer.js';
import type { Searches } from './search.js';
import type { Statements } from './statements.js';

/** What a commit did. */
export interface Committed {
  readonly results: readonly WriteResult[];
  readonly changes: readonly Change[];
}

/** Applies writes in one transaction. */
export class Commits {
  readonly #database: SqliteDatabase;
  readonly #statements: Statements;
  readonly #dictionaries: Dictionaries;
  readonly #searches: Searches;
  readonly #index: IndexWriter;
  readonly #clock: () => Date;
  /** The instant of the commit at work. Milliseconds since 1970. */
  #now = 0;

  constructor(
    database: SqliteDatabase,
    statements: Statements,
    dictionaries: Dictionaries,
    searches: Searches,
    clock: () => Date,
  ) {
    this.#database = database;
    this.#statements = statements;
    this.#dictionaries = dictionaries;
    this.#searches = searches;
    this.#index = new IndexWriter(statements, dictionaries, (project, type, id) => this.#keyOf(project, type, id));
    this.#clock = clock;
  }

  commit(writes: readonly Write[]): Committed {
    // Extraction needs no lock, and takes longer than the writing.
    const entries = writes.map((write, index) => {
      if (write.kind !== 'put') return NO_ENTRIES;
      assertPutMatchesKey(write, index);
      return indexEntries(write.resource);
    });
    this.#now = this.#clock().getTime();
    const changes: Change[] = [];
    const results = this.transaction(() =>
      writes.map((write, index): WriteResult => {
        switch (write.kind) {
          case 'put':
            return this.#put(write, index, entries[index]!, changes);
          case 'delete':
            return this.#delete(write, index, changes);
          case 'unmatched': {
            const holder = this.#searches.firstMatch(write.query);
            if (holder !== undefined) throw unmatchedFound(index, holder);
            return { kind: 'unmatched' };
          }
        }
      }),
    );
    return { results, changes };
  }

  /** Runs an action that writes: all of it is kept, or after an error nothing. */
  transaction<Result>(action: () => Result): Result {
    if (this.#database.inTransaction) {
      throw new FhirError('unavailable', "The host's connection has a transaction open; it must end first");
    }
    this.#statements.write('BEGIN IMMEDIATE').run();
    try {
      const result = action();
      this.#statements.write('COMMIT').run();
      settleAll(this.#dictionaries, true);
      return result;
    } catch (error) {
      settleAll(this.#dictionaries, false);
      // SQLite has ended it by itself where the disk failed.
      if (this.#database.inTransaction) this.#statements.write('ROLLBACK').run();
      throw error;
    }
  }

  #put(
    { key, resource, expect, unique }: PutWrite,
    index: number,
    entries: readonly IndexEntry[],
    changes: Change[],
  ): WriteResult {
    const collection = this.#dictionaries.collections.intern(key.project, key.type);
    const owner = this.#dictionaries.resources.intern(collection, key.id);
    const before = this.#stateOf(owner);
    assertExpected(key, expect, before, index);
    const next = this.#nextVersion(owner, before, resource);
    if (before.content !== null) this.#index.remove(owner);
    this.#index.add({ project: key.project, collection, resource: owner }, entries);
    if (before.content !== null) this.#releaseUnique(owner);
    for (const text of new Set(unique)) this.#holdUnique(key, text, owner, index);
    changes.push({ kind: 'put', key: keyOnly(key), versionId: next.versionId });
    return putResult(before.content === null, next);
  }

  #delete({ key, expect }: DeleteWrite, index: number, changes: Change[]): WriteResult {
    const collection = this.#dictionaries.collections.find(key.project, key.type);
    const owner = collection === undefined ? undefined : this.#dictionaries.resources.find(collection, key.id);
    const before = owner === undefined ? ABSENT : this.#stateOf(owner);
    assertExpected(key, expect, before, index);
    if (owner === undefined || before.content === null) return { kind: 'delete', versionId: null };
    const { versionId } = this.#nextVersion(owner, before, null);
    this.#index.remove(owner);
    this.#releaseUnique(owner);
    changes.push({ kind: 'delete', key: keyOnly(key), versionId });
    return { kind: 'delete', versionId };
  }

  #keyOf(project: string, type: string, id: string): number {
    return this.#dictionaries.resources.intern(this.#dictionaries.collections.intern(project, type), id);
  }

  #stateOf(resource: number): ResourceState {
    const row = this.#statements.read('SELECT version, updated, content FROM resource WHERE key = ?').get(resource);
    const [version, updated, content] = row as [number, number, number | null];
    return { version, updated, content };
  }

  /** Writes the version after `before`. @param resource null: a deletion. */
  #nextVersion(owner: number, before: ResourceState, resource: AnyResource | null): NewVersion {
    const version = before.version + 1;
    const updated = nextInstant(this.#now, before.version === 0 ? undefined : before.updated);
    const versionId = String(version);
    const lastUpdated = new Date(updated).toISOString();
    const text = resource === null ? null : jsonText(withVersion(resource, versionId, lastUpdated));
    const key = Number(this.#statements.write(ADD_VERSION).run(owner, version, updated, text).lastInsertRowid);
    this.#statements.write(SET_STATE).run(version, updated, text === null ? null : key, owner);
    return { versionId, lastUpdated, text };
  }

  #releaseUnique(owner: number): void {
    this.#statements.write('DELETE FROM unique_key WHERE resource = ?').run(owner);
  }

  #holdUnique(key: ResourceKey, text: string, owner: number, index: number): void {
    const holder = this.#statements.read(FIND_HOLDER).get(key.project, text) as [string, string] | undefined;
    if (holder !== undefined) throw uniqueKeyTaken(index, key, `${holder[0]}/${holder[1]}`);
    this.#statements
      .write('INSERT INTO unique_key (project, text, resource) VALUES (?, ?, ?)')
      .run(key.project, text, owner);
  }
}

interface ResourceState {
  /** 0 while there was none. */
  readonly version: number;
  readonly updated: number;
  readonly content: number | null;
}

interface NewVersion {
  readonly versionId: string;
  readonly lastUpdated: string;
  /** Null: a deletion. */
  readonly text: string | null;
}

const NO_ENTRIES: readonly IndexEntry[] = [];
const ABSENT: ResourceState = { version: 0, updated: 0, content: null };

const ADD_VERSION = 'INSERT INTO version (resource, version, updated, text) VALUES (?, ?, ?, ?)';
const SET_STATE = 'UPDATE resource SET version = ?, updated = ?, content = ? WHERE key = ?';
const FIND_HOLDER = `SELECT c.type, r.id FROM unique_key u CROSS JOIN resource r ON r.key = u.resource
  CROSS JOIN collection c ON c.key = r.collection WHERE u.project = ? AND u.text = ?`;

/** The caller's own copy, made when it looks. PERF: most callers of a large commit never do. */
function putResult(created: boolean, { versionId, lastUpdated, text }: NewVersion): WriteResult {
  let resource: AnyResource | undefined;
  return {
    kind: 'put',
    created,
    versionId,
    lastUpdated,
    get resource() {
      return (resource ??= JSON.parse(text!) as AnyResource);
    },
  };
}

function assertExpected(key: ResourceKey, expect: Expectation | undefined, before: ResourceState, index: number): void {
  if (expect === undefined) return;
  const current = before.content === null ? null : String(before.version);
  if (current !== expect.version) throw expectationFailed(index, key, expect, current);
}

function keyOnly({ project, type, id }: ResourceKey): ResourceKey {
  return { project, type, id };
}
