import { FhirError } from '../../../fhir/error.js';
import type { AnyResource } from '../../../fhir/resource.js';
import { deletionOf } from '../../../store/removal.js';
import type { ResourceKey } from '../../../store/resource-key.js';
import { CallTexts } from '../../../store/text-budget.js';
import type { ReadResult, StoredResource } from '../../../store/stored-resource.js';
import { type KeptText, textLost } from '../rows/kept-text.js';
import { Sql } from '../../sql/sql.js';
import { type Contents, type ElementsAt, ONE_TEXT, TEXTS } from '../rows/contents.js';
import type { Dictionaries } from '../rows/dictionary.js';
import type { SqliteStatement } from '../database/driver.js';
import type { Statements } from '../database/statements.js';

/** Reads resources and versions by key. */
export class Reads {
  readonly #statements: Statements;
  readonly #contents: Contents;
  /** Kept, so that reads of one resource do not look up their statements. */
  #oneState: SqliteStatement | undefined;
  #oneText: SqliteStatement | undefined;

  constructor(
    statements: Statements,
    private readonly dictionaries: Dictionaries,
    contents: Contents,
  ) {
    this.#statements = statements;
    this.#contents = contents;
  }

  /**
   * One result per key, in the same order.
   *
   * @param texts counts the texts before they are read; one text is not counted
   * @throws FhirError `too-costly`
   */
  read(keys: readonly ResourceKey[], texts = new CallTexts(undefined)): readonly ReadResult[] {
    const [first] = keys;
    if (keys.length === 1 && first?.version === undefined) return [this.#readOne(first!)];
    if (this.readsTextsOf(keys)) {
      this.count(keys, texts);
      return this.resultsOfTexts(keys, this.textsOf(keys));
    }
    const states = this.statesOf(keys);
    const { contents, elements } = this.contentsOf(keys, states, texts);
    return this.resultsOf(keys, states, this.#contents.load(contents, elements));
  }

  /** Whether one statement reads the states of the keys with their texts: all are current, and none is cached. */
  readsTextsOf(keys: readonly ResourceKey[]): boolean {
    return !this.#contents.isCaching && keys.every(({ version }) => version === undefined);
  }

  /** Counts the current texts of many keys before they are read. @throws FhirError `too-costly` */
  count(keys: readonly ResourceKey[], texts: CallTexts): void {
    if (!texts.isBounded) return;
    const collections = keys.map(({ project, type }) => this.dictionaries.collections.find(project, type));
    const { text, values } = ofKeys(SIZES, keys, collections);
    texts.once(() => texts.takes((this.#statements.read(text).get(...values) as [number])[0]));
  }

  /** The current state of each key with its text; undefined if it never existed. */
  textsOf(keys: readonly ResourceKey[]): readonly (KeptState | undefined)[] {
    const collections = keys.map(({ project, type }) => this.dictionaries.collections.find(project, type));
    const states = keys.map((): KeptState | undefined => undefined);
    const { text, values } = ofKeys(WITH_TEXTS, keys, collections);
    const rows = this.#statements.read(text).all(...values) as readonly KeptState[];
    for (const row of rows) states[row[5]] = row;
    return states;
  }

  /** The results of {@link textsOf}, or of a part of it. */
  resultsOfTexts(keys: readonly ResourceKey[], states: readonly (KeptState | undefined)[]): readonly ReadResult[] {
    return states.map((state, index): ReadResult => {
      if (state === undefined) return { status: 'missing' };
      const [, version, updated, , , , content, erased] = state;
      if (content === null) return goneResult({ version, updated, content, erased });
      const key = keys[index]!;
      // With the version and the owner of the state, the checksum covers whether the text belongs to it.
      return foundResult(this.#contents.fromText(state, key.elements), key, version);
    });
  }

  /** The keys of the versions that exist. Counts their texts. @throws FhirError `too-costly` */
  contentsOf(keys: readonly ResourceKey[], states: readonly (State | undefined)[], texts: CallTexts): FoundContents {
    const contents: number[] = [];
    const found: ResourceKey[] = [];
    for (const [index, state] of states.entries()) {
      if (state === undefined || state.content === null) continue;
      contents.push(state.content);
      found.push(keys[index]!);
    }
    texts.once(() => this.#contents.fitting(contents, texts));
    return { contents, elements: (position) => found[position]!.elements };
  }

  /** The results of states, with the resources of {@link contentsOf}. */
  resultsOf(
    keys: readonly ResourceKey[],
    states: readonly (State | undefined)[],
    contents: readonly StoredResource[],
  ): readonly ReadResult[] {
    let next = 0;
    return states.map((state, index): ReadResult => {
      if (state === undefined) return { status: 'missing' };
      return state.content === null ? goneResult(state) : foundResult(contents[next++]!, keys[index]!, state.version);
    });
  }

  /** The statements behind {@link read} with an empty cache. */
  statements(keys: readonly ResourceKey[]): readonly Sql[] {
    const [first] = keys;
    if (first === undefined) return [];
    if (keys.length > 1) {
      const collections = keys.map(({ project, type }) => this.dictionaries.collections.find(project, type));
      const together = this.readsTextsOf(keys);
      const { text, values } = ofKeys(together ? WITH_TEXTS : STATES, [], collections);
      return [new Sql(text, values), ...(together ? [] : [new Sql(TEXTS, ['[]'])])];
    }
    const collection = this.dictionaries.collections.find(first.project, first.type) ?? 0;
    const one = [collection, first.id];
    return this.#contents.isCaching ? [new Sql(ONE_STATE, one), new Sql(ONE_TEXT, [0])] : [new Sql(ONE_RESOURCE, one)];
  }

  /**
   * PERF (scale): the usual read of one current resource is one statement. With a cache, the statement omits the text, which
   * takes four times as long to read as all the rest, and a second one reads a text that is not cached.
   */
  #readOne(key: ResourceKey): ReadResult {
    const { project, type, id } = key;
    const collection = this.dictionaries.collections.find(project, type);
    if (collection === undefined) return { status: 'missing' };
    if (this.#contents.isCaching) {
      const row = (this.#oneState ??= this.#statements.read(ONE_STATE)).get(collection, id);
      if (row === undefined) return { status: 'missing' };
      const [version, updated, content, erased] = row as StateRow;
      if (content === null) return goneResult({ version, updated, content, erased });
      return foundResult(this.#contents.load([content], () => key.elements)[0]!, key, version);
    }
    const row = (this.#oneText ??= this.#statements.read(ONE_RESOURCE)).get(collection, id);
    if (row === undefined) return this.#readDeleted(collection, id);
    const kept = row as KeptText;
    return foundResult(this.#contents.fromText(kept, key.elements), key, kept[1]);
  }

  /** The result for a resource without a text. */
  #readDeleted(collection: number, id: string): ReadResult {
    const row = this.#statements.read(ONE_STATE).get(collection, id);
    if (row === undefined) return { status: 'missing' };
    const [version, updated, content, erased] = row as StateRow;
    if (content !== null) throw textLost();
    return goneResult({ version, updated, content, erased });
  }

  /** The current state, or the given version, of each key; undefined if it never existed. */
  statesOf(keys: readonly ResourceKey[]): readonly (State | undefined)[] {
    const collections = keys.map(({ project, type }) => this.dictionaries.collections.find(project, type));
    const current = this.#currentStates(keys, collections);
    return keys.map(({ id, version }, index) => {
      if (version === undefined) return current[index];
      const collection = collections[index];
      return collection === undefined ? undefined : this.#stateAtVersion(collection, id, version);
    });
  }

  /** PERF (scale): one statement for all keys takes a third of the time of one statement per key. */
  #currentStates(
    keys: readonly ResourceKey[],
    collections: readonly (number | undefined)[],
  ): readonly (State | undefined)[] {
    const states: (State | undefined)[] = new Array<undefined>(keys.length);
    const { text, values } = ofKeys(STATES, keys, collections);
    const rows = this.#statements.read(text).all(...values) as readonly (readonly [number, ...StateRow])[];
    for (const [index, version, updated, content, erased] of rows) {
      states[index] = { version, updated, content, erased };
    }
    return states;
  }

  #stateAtVersion(collection: number, id: string, version: string): State | undefined {
    const number = Number(version);
    if (String(number) !== version) return undefined;
    const row = this.#statements.read(VERSION_STATE).get(collection, id, number) as StateRow | undefined;
    return row && { version: row[0], updated: row[1], content: row[2], erased: row[3] };
  }
}

/** The state of a version; `content` is null for a deletion. */
export interface State {
  readonly version: number;
  /** Milliseconds since 1970. */
  readonly updated: number;
  readonly content: number | null;
  /** Why the resource was erased; null: it was not. */
  readonly erased: string | null;
}

/** The keys of existing versions, and the elements to parse of each. */
interface FoundContents {
  readonly contents: readonly number[];
  readonly elements: ElementsAt;
}

type StateRow = [version: number, updated: number, content: number | null, erased: string | null];

/** The state of the key at a position, with its text. */
type KeptState = readonly [
  resource: number,
  version: number,
  updated: number,
  text: string | null,
  sum: number | null,
  position: number,
  content: number | null,
  erased: string | null,
];

const ONE_STATE =
  'SELECT version, updated, content, erased FROM resource WHERE collection = ? AND id = ? AND version > 0';
const ONE_RESOURCE = `SELECT v.resource, v.version, v.updated, v.text, v.sum FROM resource r CROSS JOIN version v ON v.key = r.content
  WHERE r.collection = ? AND r.id = ? AND v.resource = r.key AND v.version = r.version AND v.text IS NOT NULL`;
const STATES = {
  columns: 'j.key, r.version, r.updated, r.content, r.erased',
  texts: '',
};
const WITH_TEXTS = {
  columns: 'r.key, r.version, r.updated, v.text, v.sum, j.key, r.content, r.erased',
  texts: 'LEFT JOIN version v ON v.key = r.content',
};
const SIZES = { ...WITH_TEXTS, columns: 'coalesce(sum(octet_length(v.text)), 0)' };
const VERSION_STATE = `SELECT v.version, v.updated, CASE WHEN v.text IS NULL THEN NULL ELSE v.key END, r.erased
  FROM resource r CROSS JOIN version v ON v.resource = r.key WHERE r.collection = ? AND r.id = ? AND v.version = ?`;
/**
 * Reads columns of the states of many keys, each with its position.
 *
 * PERF (scale): ids of one collection, the usual case, take half the time of pairs.
 */
function ofKeys(
  { columns, texts }: typeof STATES,
  keys: readonly ResourceKey[],
  collections: readonly (number | undefined)[],
): { readonly text: string; readonly values: readonly (string | number)[] } {
  const [collection = 0] = collections;
  const from = `SELECT ${columns} FROM json_each(?) j CROSS JOIN resource r ${texts}`;
  if (collections.every((other = 0) => other === collection)) {
    const text = `${from} WHERE r.collection = ? AND r.id = j.value AND r.version > 0`;
    return { text, values: [JSON.stringify(keys.map(({ id }) => id)), collection] };
  }
  const pairs = keys.map(({ id }, index) => [collections[index] ?? 0, id]);
  const text = `${from} WHERE r.collection = j.value ->> 0 AND r.id = j.value ->> 1 AND r.version > 0`;
  return { text, values: [JSON.stringify(pairs)] };
}

function goneResult({ version, updated, erased }: State): ReadResult {
  return { status: 'gone', ...deletionOf(version, updated, erased) };
}

/** @throws FhirError `corrupt` - the text belongs to another resource or version */
function foundResult(stored: StoredResource, { type, id }: ResourceKey, version: number): ReadResult {
  const { versionId, lastUpdated, resource } = stored;
  if (resource.id !== id || resource.resourceType !== type || versionId !== String(version)) {
    throw new FhirError('corrupt', 'The database holds the text of one version in the place of another');
  }
  return new FoundResult('found', versionId, lastUpdated, resource);
}

/** An instance of a class, as `LoadedResource` is. */
class FoundResult implements StoredResource {
  constructor(
    readonly status: 'found',
    readonly versionId: string,
    readonly lastUpdated: string,
    readonly resource: AnyResource,
  ) {}
}
