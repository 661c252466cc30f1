import { nameChecksum } from './checksum.js';
import { FrequentCodes } from './frequent-codes.js';
import type { SqliteDatabase } from '../database/driver.js';
import type { SqlValue } from '../../sql/sql.js';
import type { Statements } from '../database/statements.js';

/** The tables that number names, within an owner. See schema.ts. */
export interface Dictionaries {
  /** Project, type. */
  readonly collections: Dictionary<string>;
  /** Collection, code. */
  readonly parameters: Dictionary<number>;
  /** Collection, id. */
  readonly resources: ResourceDictionary;
  /** Project, uri. */
  readonly systems: Dictionary<string>;
  readonly frequentCodes: FrequentCodes;
}

export function createDictionaries(database: SqliteDatabase, statements: Statements): Dictionaries {
  return {
    collections: new CollectionDictionary(database, statements, 'collection'),
    parameters: new Dictionary(database, statements, 'parameter'),
    resources: new ResourceDictionary(database, statements, 'resource'),
    systems: new Dictionary(database, statements, 'system'),
    frequentCodes: new FrequentCodes(statements),
  };
}

/** Ends a transaction for all of them. See {@link Dictionary.settle}. */
export function settleAll(dictionaries: Dictionaries, committed: boolean): void {
  for (const dictionary of all(dictionaries)) dictionary.settle(committed);
}

/** Clears all caches after a repair of the tables. */
export function forgetAll(dictionaries: Dictionaries): void {
  for (const dictionary of all(dictionaries)) dictionary.forget();
  dictionaries.frequentCodes.forget();
}

function all(dictionaries: Dictionaries): readonly Pick<Dictionary<string>, 'settle' | 'forget'>[] {
  const { collections, parameters, resources, systems } = dictionaries;
  return [collections, parameters, resources, systems];
}

/**
 * One table of names and their numbers.
 *
 * A committed number never changes, so it is cached. Another process may assign a missing number at any time, so its
 * absence is not cached. Numbers learned inside a transaction are forgotten if it is rolled back.
 */
class Dictionary<Owner extends string | number> {
  readonly #known = new Map<Owner, Map<string, number>>();
  #size = 0;
  #unsettled: (readonly [Owner, string])[] = [];
  #generation = 0;

  constructor(
    private readonly database: SqliteDatabase,
    private readonly statements: Statements,
    private readonly table: keyof typeof TEXTS,
  ) {}

  /** The number of a name; undefined if it has none yet. */
  find(owner: Owner, name: string): number | undefined {
    const known = this.#known.get(owner)?.get(name);
    if (known !== undefined) return known;
    const row = this.statements.read(TEXTS[this.table].find).get(owner, name) as [number] | undefined;
    if (row !== undefined) this.#remember(owner, name, row[0]);
    return row?.[0];
  }

  /** The number of a name, assigned if necessary. Only inside a transaction. */
  intern(owner: Owner, name: string): number {
    const found = this.find(owner, name);
    if (found !== undefined) return found;
    return this.insert(TEXTS[this.table].make, owner, name)!;
  }

  /** True if the number of the name is cached. */
  isKnown(owner: Owner, name: string): boolean {
    return this.#known.get(owner)?.has(name) === true;
  }

  /** Changes when numbers that were returned before may have become wrong. */
  get generation(): number {
    return this.#generation;
  }

  /** Ends a transaction: keeps the numbers learned in it, or forgets them after a rollback. */
  settle(committed: boolean): void {
    if (!committed) {
      this.#generation += 1;
      for (const [owner, name] of this.#unsettled) this.#known.get(owner)?.delete(name);
    }
    if (this.#unsettled.length > 0) this.#unsettled = [];
  }

  /** Clears the cache of names. */
  forget(): void {
    this.#known.clear();
    this.#size = 0;
    this.#unsettled = [];
    this.#generation += 1;
  }

  /** The checksum stored with the name, in tables that have one. */
  protected checksum(_owner: Owner, _name: string): number | undefined {
    return undefined;
  }

  /** Makes a row that begins with the name and, if the table has one, its checksum. @returns undefined if it exists */
  protected insert(text: string, owner: Owner, name: string, ...values: readonly SqlValue[]): number | undefined {
    const sum = this.checksum(owner, name);
    const given = sum === undefined ? values : [sum, ...values];
    const { changes, lastInsertRowid } = this.statements.write(text).run(owner, name, ...given);
    if (changes === 0) return undefined;
    const key = Number(lastInsertRowid);
    this.#remember(owner, name, key);
    return key;
  }

  #remember(owner: Owner, name: string, key: number): void {
    // PERF (import-rate): clearing the cache is rare, and cheaper than tracking the order of use at every look-up.
    if (++this.#size > MAX_KNOWN) {
      this.#known.clear();
      this.#size = 1;
    }
    const names = this.#known.get(owner);
    if (names === undefined) this.#known.set(owner, new Map([[name, key]]));
    else names.set(name, key);
    if (this.database.inTransaction) this.#unsettled.push([owner, name]);
  }
}

class CollectionDictionary extends Dictionary<string> {
  protected override checksum(project: string, type: string): number {
    return nameChecksum(0, project, type);
  }
}

/** Resources have a number from the moment they are written or referred to. */
class ResourceDictionary extends Dictionary<number> {
  protected override checksum(collection: number, id: string): number {
    return nameChecksum(collection, '', id);
  }

  /** Makes the row of a new resource, with its first version. See schema.ts for the columns. */
  make(collection: number, id: string, { version, updated, content }: StoredState): number {
    return this.insert(MAKE_WITH_VERSION, collection, id, version, updated, content)!;
  }

  /** Like {@link make}, for a resource that may have a row. @returns undefined if it has one */
  makeIfNew(collection: number, id: string, { version, updated, content }: StoredState): number | undefined {
    return this.insert(MAKE_IF_NEW, collection, id, version, updated, content);
  }
}

const MAKE_WITH_VERSION =
  'INSERT INTO resource (collection, id, sum, version, updated, content) VALUES (?, ?, ?, ?, ?, ?)';
const MAKE_IF_NEW = `${MAKE_WITH_VERSION} ON CONFLICT (collection, id) DO NOTHING`;

/** The columns of `resource` that describe the newest version. See schema.ts. */
export interface StoredState {
  readonly version: number;
  /** Milliseconds since 1970. */
  readonly updated: number;
  readonly content: number | null;
}

/** Maximum number of cached names per table; each takes about 100 bytes. */
const MAX_KNOWN = 50_000;

const TEXTS = {
  collection: {
    find: 'SELECT key FROM collection WHERE project = ? AND type = ?',
    make: 'INSERT INTO collection (project, type, sum) VALUES (?, ?, ?)',
  },
  parameter: {
    find: 'SELECT key FROM parameter WHERE collection = ? AND code = ?',
    make: 'INSERT INTO parameter (collection, code) VALUES (?, ?)',
  },
  resource: {
    find: 'SELECT key FROM resource WHERE collection = ? AND id = ?',
    make: 'INSERT INTO resource (collection, id, sum) VALUES (?, ?, ?)',
  },
  system: {
    find: 'SELECT key FROM system WHERE project = ? AND uri = ?',
    make: 'INSERT INTO system (project, uri) VALUES (?, ?)',
  },
} as const;
