import { referenceTo } from '../../../fhir/reference.js';
import type { AnyResource } from '../../../fhir/resource.js';
import type { IndexEntry } from '../../../search/index/index-entry.js';
import { uniqueKeyTaken } from '../../../store/with-retries.js';
import { jsonLines } from '../../../store/json-text.js';
import type { ResourceKey } from '../../../store/resource-key.js';
import { nextInstant, withVersion } from '../../../store/versioned.js';
import { TABLE_NAMES } from '../../sql/index-tables.js';
import type { WrittenVersion } from '../../sql/commit-results.js';
import { Sql, sql } from '../../sql/sql.js';
import { arrayText, rowsOf } from '../rows/array.js';
import { byKey, deleteOf, isOfProject } from '../rows/by-key.js';
import { COPY, copyInto } from '../database/copy-text.js';
import { rollbackUnless } from '../database/errors.js';
import { GENERATION } from '../rows/index-port.js';
import { ALL_INDEX_TABLES, IndexRows } from '../rows/index-rows.js';
import { projectKey } from '../rows/keys.js';
import { withLiterals } from '../database/literals.js';
import { type FeedEntry, feedInsert } from '../rows/feed.js';
import { copyOf, type PendingVersion, upsert } from './pending-version.js';
import { noteWritten } from '../rows/segment-tables.js';
import { prepared } from '../database/statements.js';
import type { Transaction } from '../database/transaction.js';

/** The known state of a resource. */
export interface ResourceState {
  /** The newest version, a deletion included; 0 if never written. */
  readonly version: number;
  /** When it was written. Milliseconds since 1970. */
  readonly updated: number;
  /** True if the newest version is not a deletion. */
  readonly exists: boolean;
  /** How many of the oldest versions were removed. */
  readonly purged: number;
  /** Why it was erased; null: it was not. */
  readonly erased: string | null;
}

/**
 * The state of a project in a commit and its pending changes. Versions are computed here and written together by {@link
 * flush}: a commit of any size takes a few statements.
 */
export class ProjectWrites {
  readonly #shard: string;
  readonly #states = new Map<string, ResourceState>();
  /** The current holder of each unique text. */
  readonly #holders = new Map<string, Holder>();
  /** The known holders of unique keys in the database. */
  readonly #heldThere = new Map<string, string>();
  #pending = new Map<string, PendingVersion>();
  /** The entries that the feed does not have yet. */
  #feedEntries: FeedEntry[] = [];
  #rows: IndexRows;

  /**
   * @param now the instant of all versions to come. Milliseconds since 1970.
   * @param generation of the definitions that the rows are made with
   */
  constructor(
    project: string,
    private readonly now: number,
    private readonly generation: number,
  ) {
    this.#shard = projectKey(project);
    this.#rows = new IndexRows(this.#shard);
  }

  /** Locks these resources, if they exist, in the order of keys like {@link flush}. */
  async lock(transaction: Transaction, keys: readonly string[]): Promise<void> {
    const sorted = arrayText(keys.toSorted((a, b) => (a < b ? -1 : 1)));
    await transaction.run(sql`SELECT 1 FROM unnest(${sorted}::uuid[]) AS k(key)
      CROSS JOIN LATERAL (${byKey(this.#shard, sql`k.key`)} FOR UPDATE) r`);
  }

  /** Reads the state of these resources and the holders of these unique texts. */
  async load(transaction: Transaction, keys: readonly string[], texts: readonly string[]): Promise<void> {
    const rows = await transaction.readAlone(
      prepared(sql`SELECT replace(r.key::text, '-', ''), r.type, r.id, r.version, r.updated,
        r.content IS NOT NULL, r.purged, r.erased, (SELECT json_agg(u.text)::text FROM unique_key u WHERE ${isOfProject(sql`u.project`, this.#shard)} AND u.resource = r.key)
      FROM ${rowsOf(keys)} AS k(key) CROSS JOIN LATERAL (${byKey(this.#shard, sql`k.key`)}) r`),
    );
    for (const [key, type, id, version, updated, exists, purged, erased, held] of rows as readonly StateRow[]) {
      this.#states.set(key, { version, updated: Number(updated), exists, purged, erased });
      for (const text of JSON.parse(held ?? '[]') as string[]) this.#hold(text, { key, type, id });
    }
    if (texts.length === 0) return;
    const holders = await transaction.readAlone(sql`SELECT u.text, replace(u.resource::text, '-', ''), r.type, r.id
      FROM unique_key u CROSS JOIN LATERAL (${byKey(this.#shard, sql`u.resource`)}) r
      WHERE u.project = ${this.#shard} AND u.text = ANY (${arrayText(texts)})`);
    for (const [text, key, type, id] of holders as readonly string[][]) {
      this.#hold(text!, { key: key!, type: type!, id: id! });
    }
  }

  stateOf(key: string): ResourceState {
    return this.#states.get(key) ?? NEVER;
  }

  /** True if the resource has an unwritten version, which must be written before the next one. */
  isPending(key: string): boolean {
    return this.#pending.has(key);
  }

  /** The number of rows to write. */
  get size(): number {
    return this.#pending.size + this.#rows.size;
  }

  /** Adds the version after the newest one. @param resource null: a deletion. */
  add(
    key: string,
    { type, id }: ResourceKey,
    resource: AnyResource | null,
    entries: readonly IndexEntry[],
  ): WrittenVersion {
    const before = this.stateOf(key);
    const version = before.version + 1;
    const updated = nextInstant(this.now, before.version === 0 ? undefined : before.updated);
    const versionId = String(version);
    const lastUpdated = new Date(updated).toISOString();
    const text = resource === null ? null : jsonLines(withVersion(resource, versionId, lastUpdated));
    if (text !== null) this.#rows.add(key, type, entries);
    const { purged, erased } = before;
    this.#pending.set(key, { key, type, id, version, updated, text, wasIndexed: before.exists, erased: null });
    this.#states.set(key, { version, updated, exists: text !== null, purged, erased });
    this.#feedEntries.push({ key, version });
    return { versionId, lastUpdated, text };
  }

  /** Removes all versions of a resource, and adds a deletion as the only one. */
  erase(key: string, name: ResourceKey, reason: string): WrittenVersion {
    const purged = this.stateOf(key).version;
    const left = this.add(key, name, null, []);
    for (const [text, holder] of this.#holders) if (holder.key === key) this.#holders.delete(text);
    this.#pending.set(key, { ...this.#pending.get(key)!, erased: reason });
    this.#states.set(key, { ...this.stateOf(key), purged, erased: reason });
    return left;
  }

  /** Replaces the unique texts of the resource. @throws FhirError `conflict` */
  setUnique(key: string, { type, id }: ResourceKey, texts: ReadonlySet<string>, index: number): void {
    for (const [text, holder] of this.#holders) if (holder.key === key) this.#holders.delete(text);
    for (const text of texts) {
      const holder = this.#holders.get(text);
      if (holder !== undefined) throw uniqueKeyTaken(index, { type, id }, referenceTo(holder.type, holder.id));
      this.#holders.set(text, { key, type, id });
    }
  }

  /**
   * Writes all pending changes. Fails if one of the resources has changed concurrently.
   *
   * @param alone true if the transaction writes nothing else.
   */
  async flush(transaction: Transaction, alone: boolean): Promise<void> {
    if (this.#pending.size === 0) return;
    const freed = [...this.#heldThere].filter(([text, key]) => this.#holders.get(text)?.key !== key);
    if (freed.length > 0) {
      // Resources are always locked before their unique texts.
      await this.lock(transaction, [...this.#pending.keys()]);
      await transaction.run(sql`DELETE FROM unique_key
        WHERE project = ${this.#shard} AND text = ANY (${arrayText(freed.map(([text]) => text))})`);
      for (const [text] of freed) this.#heldThere.delete(text);
    }
    if (transaction.copies && this.#isBulk) await this.#copy(transaction, alone);
    else {
      const written = noteWritten(this.#shard, [...this.#pending.values()]);
      const statement = prepared(this.#statement([...this.#rows.inserts(), written], alone));
      await (alone ? transaction.writeAlone(statement) : transaction.run(statement));
    }
    for (const [text, { key }] of this.#holders) this.#heldThere.set(text, key);
    if (alone) this.#feedEntries = [];
    this.#pending = new Map();
    this.#rows = new IndexRows(this.#shard);
  }

  /** Appends the written versions to the feed, if the last flush has not. */
  async appendToFeed(transaction: Transaction): Promise<void> {
    if (this.#feedEntries.length > 0) await transaction.run(this.#feedStatement());
    this.#feedEntries = [];
  }

  #feedStatement(): Sql {
    const { turn, insert } = feedInsert(this.#shard, this.#feedEntries);
    return sql`WITH turn AS MATERIALIZED (${turn}) ${insert}`;
  }

  get #isBulk(): boolean {
    return this.size >= COPY.fromRows || this.#rows.characters >= COPY.fromCharacters;
  }

  /**
   * Like {@link flush}, with COPY for the index rows, and for resources and unique texts if all resources are new: a
   * resource that another commit has added violates the table's primary key.
   *
   * Resources come first, then the rows that they share, then their unique texts: the order in which all commits lock
   * them.
   */
  async #copy(transaction: Transaction, alone: boolean): Promise<void> {
    const shard = this.#shard;
    const versions = [...this.#pending.values()];
    const areNew = versions.every(({ version }) => version === 1);
    const beside = [...this.#rows.sharedInserts(), noteWritten(shard, versions)];
    if (!areNew) await transaction.run(this.#statement(beside, false));
    const taken = this.#taken();
    const ofResources = [
      { text: withLiterals(sql`SELECT ${rollbackUnless(sql`${GENERATION} = ${this.generation}`)}`) },
      copyOf(shard, versions),
      ...beside.map((insert) => ({ text: withLiterals(insert) })),
      ...(taken.length === 0 ? [] : [copyInto(sql`unique_key`, sql`project, text, resource`, shard, taken)]),
    ];
    const last = alone ? [{ text: withLiterals(this.#feedStatement()) }] : [];
    await transaction.copy([...(areNew ? ofResources : []), ...this.#rows.copies(), ...last], alone);
  }

  /**
   * One statement for all tables. Each part sees the database as it was before the statement.
   *
   * @param inserts the statements that write rows beside those of resources
   * @param alone whether it also adds the versions to the feed
   */
  #statement(inserts: readonly Sql[], alone: boolean): Sql {
    const shard = this.#shard;
    const versions = [...this.#pending.values()];
    const kept = versions.filter(({ version, erased }) => version > 1 && erased === null);
    const erased = versions.filter((version) => version.erased !== null).map(({ key }) => key);
    const indexed = versions.filter(({ wasIndexed }) => wasIndexed).map(({ key }) => key);
    const taken = this.#taken();
    const parts: Sql[] = [];
    if (kept.length > 0) {
      parts.push(sql`INSERT INTO version (project, type, resource, version, updated, content)
        SELECT r.project, r.type, r.key, r.version, r.updated, r.content
        FROM ${rowsOf(kept.map(({ key }) => key))} AS k(key) CROSS JOIN LATERAL (${byKey(shard, sql`k.key`)}) r`);
    }
    if (erased.length > 0) {
      parts.push(deleteOf(sql`version`, shard, rowsOf(erased)));
    }
    if (indexed.length > 0) {
      const rows = rowsOf(indexed);
      for (const table of ALL_INDEX_TABLES) {
        parts.push(deleteOf(TABLE_NAMES[table], shard, rows));
      }
    }
    parts.push(...inserts);
    if (taken.length > 0) {
      parts.push(sql`INSERT INTO unique_key (project, text, resource) SELECT ${shard}::uuid, u.*
        FROM unnest(${arrayText(taken.map(([text]) => text))}::text[], ${arrayText(taken.map(([, key]) => key))}::uuid[]) AS u`);
    }
    const withParts = parts.map((part, index) => sql`${new Sql(`w${index}`, [])} AS (${part}), `);
    const { turn, insert } = feedInsert(shard, alone ? this.#feedEntries : []);
    // PostgreSQL runs the parts that no other reads from the last to the first, so the commit takes its turn at the end.
    const first = alone ? sql`turn AS MATERIALIZED (${turn}), fed AS (${insert}), ` : sql``;
    const before = withParts.reduce((all, part) => sql`${all}${part}`, first);
    return sql`WITH ${before}saved AS (${upsert(shard, versions)})
      SELECT ${rollbackUnless(sql`count(*) = ${versions.length} AND ${GENERATION} = ${this.generation}`)}
      FROM saved`;
  }

  /** Unique texts that the database does not have yet, with the keys of their resources. */
  #taken(): readonly (readonly [text: string, key: string])[] {
    return [...this.#holders].flatMap(([text, { key }]) => (this.#heldThere.has(text) ? [] : [[text, key] as const]));
  }

  #hold(text: string, holder: Holder): void {
    this.#holders.set(text, holder);
    this.#heldThere.set(text, holder.key);
  }
}

interface Holder {
  readonly key: string;
  readonly type: string;
  readonly id: string;
}

type StateRow = readonly [
  key: string,
  type: string,
  id: string,
  version: number,
  updated: string | number,
  exists: boolean,
  purged: number,
  erased: string | null,
  held: string | null,
];

const NEVER: ResourceState = { version: 0, updated: 0, exists: false, purged: 0, erased: null };
