import type { AnyResource } from '../../../fhir/resource.js';
import { jsonLines } from '../../../store/json-text.js';
import type { ResourceKey } from '../../../store/resource-key.js';
import { nextInstant, withVersion } from '../../../store/versioned.js';
import type { WrittenVersion } from '../../sql/commit-results.js';
import { checksum } from './checksum.js';
import { LAST_VERSION_KEY } from './removal-epoch.js';
import { removeVersions } from './remove-versions.js';
import type { PreparedPut } from './prepared-write.js';
import type { Dictionaries } from './dictionary.js';
import type { Statements } from '../database/statements.js';

/** The state of a key in the tables `resource` and `version`. */
export interface ResourceState {
  /** Key of the `resource` row; undefined if absent. */
  readonly owner: number | undefined;
  /** The newest version, a deletion included; 0 if never written. */
  readonly version: number;
  /** When it was written. Milliseconds since 1970. */
  readonly updated: number;
  /** True if the newest version is not a deletion. */
  readonly exists: boolean;
  /** Key of the current version; null if none exists. */
  readonly content: number | null;
  /** How many of the oldest versions were removed. */
  readonly purged: number;
  /** Why it was erased; null: it was not. */
  readonly erased: string | null;
}

const NEVER: ResourceState = {
  owner: undefined,
  version: 0,
  updated: 0,
  exists: false,
  content: null,
  purged: 0,
  erased: null,
};

/** A version that this commit wrote. */
export interface NewVersion extends WrittenVersion {
  /** Key of the `resource` row. */
  readonly owner: number;
  readonly collection: number;
}

/** The columns of a version. They differ between two versions that have the same key in two copies of a file. */
export type VersionMark = readonly [
  key: number,
  resource: number,
  version: number,
  updated: number,
  sum: number | null,
];

/** Writes the tables `resource` and `version`. Only inside a transaction, which starts with {@link begin}. */
export class Versions {
  #now = 0;
  /** {@link #now} as an instant. */
  #instant = '';
  #nextKey = 0;
  #newest: VersionMark | undefined;

  constructor(
    private readonly statements: Statements,
    private readonly dictionaries: Dictionaries,
  ) {}

  /** @param now the instant of all versions to come. Milliseconds since 1970. */
  begin(now: number): void {
    const [last] = this.statements.read(LAST_KEY).get() as [number];
    this.#nextKey = last + 1;
    this.beginCommit();
    this.#newest = undefined;
    this.#now = now;
    this.#instant = new Date(now).toISOString();
  }

  /**
   * Begins a further commit of the transaction. The first version of a commit has an odd key, and all others have even ones:
   * so readers of the feed know a commit from the next, also where versions were removed.
   */
  beginCommit(): void {
    this.#nextKey += 1 - (this.#nextKey % 2);
  }

  /** The newest version written since {@link begin}. */
  get newest(): VersionMark | undefined {
    return this.#newest;
  }

  /** True if the file never held a version. */
  get areNone(): boolean {
    return this.#nextKey === 1;
  }

  stateOf({ project, type, id }: ResourceKey): ResourceState {
    const collection = this.dictionaries.collections.find(project, type);
    const owner = collection === undefined ? undefined : this.dictionaries.resources.find(collection, id);
    if (owner === undefined) return NEVER;
    const row = this.statements.read(READ_STATE).get(owner) as StateRow;
    const [version, updated, content, purged, erased] = row;
    return { owner, version, updated, exists: content !== null, content, purged, erased };
  }

  /**
   * Writes the first version of a resource, if its id is new.
   *
   * Most resources of an import are new, and this takes one statement less than looking first.
   *
   * @returns undefined if the id has a row already
   */
  addFirst(write: PreparedPut): NewVersion | undefined {
    const { key, firstText } = write;
    const { collections, resources } = this.dictionaries;
    const collection = collections.intern(key.project, key.type);
    if (resources.isKnown(collection, key.id)) return undefined;
    const state = { version: 1, updated: this.#now, content: this.#nextKey };
    const owner = resources.makeIfNew(collection, key.id, state);
    if (owner === undefined) return undefined;
    const text =
      firstText?.lastUpdated === this.#instant
        ? firstText.text
        : jsonLines(withVersion(write.resource, '1', this.#instant));
    return this.#write(owner, collection, 1, this.#now, text);
  }

  /** Writes the version after `state`. @param resource null: a deletion */
  add(key: ResourceKey, state: ResourceState, resource: AnyResource | null): NewVersion {
    const collection = this.dictionaries.collections.intern(key.project, key.type);
    const version = state.version + 1;
    const updated = nextInstant(this.#now, state.version === 0 ? undefined : state.updated);
    const content = resource === null ? null : this.#nextKey;
    const stored = { version, updated, content };
    const owner = state.owner ?? this.dictionaries.resources.make(collection, key.id, stored);
    if (state.content !== null) this.statements.write(ADD_PAST).run(collection, state.updated, state.content);
    if (resource === null) this.statements.write(ADD_PAST).run(collection, updated, this.#nextKey);
    if (state.owner !== undefined) this.statements.write(SET_STATE).run(version, updated, content, owner);
    const text = resource === null ? null : jsonLines(withVersion(resource, String(version), this.#instantOf(updated)));
    return this.#write(owner, collection, version, updated, text);
  }

  /** Removes all versions of a resource, and writes a deletion as the only one. */
  erase(key: ResourceKey, state: ResourceState, reason: string): NewVersion {
    const left = this.add(key, state, null);
    // Removed after the new version is written, so that its key is above all keys that were ever used.
    removeVersions(this.statements, left, state.version);
    this.statements.write(SET_ERASED).run(state.version, reason, left.owner);
    return left;
  }

  #write(owner: number, collection: number, version: number, updated: number, text: string | null): NewVersion {
    const sum = checksum(owner, version, updated, text);
    const key = this.#nextKey;
    this.#nextKey += 2 - (key % 2);
    this.statements.write(ADD_VERSION).run(key, owner, version, updated, text, sum);
    this.#newest = [key, owner, version, updated, sum];
    return { owner, collection, versionId: String(version), lastUpdated: this.#instantOf(updated), text };
  }

  #instantOf(updated: number): string {
    return updated === this.#now ? this.#instant : new Date(updated).toISOString();
  }
}

type StateRow = [version: number, updated: number, content: number | null, purged: number, erased: string | null];

const SET_ERASED = 'UPDATE resource SET purged = ?, erased = ? WHERE key = ?';
const READ_STATE = 'SELECT version, updated, content, purged, erased FROM resource WHERE key = ?';
/** A key never changes its meaning, even if the rows of the last keys were removed: see removal.ts. */
const LAST_KEY = `SELECT max(coalesce((SELECT max(key) FROM version), 0),
  coalesce((SELECT CAST(value AS INTEGER) FROM meta WHERE name = '${LAST_VERSION_KEY}'), 0))`;
const SET_STATE = 'UPDATE resource SET version = ?, updated = ?, content = ? WHERE key = ?';
const ADD_VERSION = 'INSERT INTO version (key, resource, version, updated, text, sum) VALUES (?, ?, ?, ?, ?, ?)';
const ADD_PAST = 'INSERT INTO past (collection, updated, version) VALUES (?, ?, ?)';
