import type { SortKey } from '../../../../search/criteria/criteria.js';
import type { RowScope } from '../../../sql/rows.js';
import type { Guard } from '../../database/guard.js';
import type { Statements } from '../../database/statements.js';
import { addList, leastInList, listAt, readInto, readList } from '../../../sql/skip/key-bytes.js';
import { KeySet, wordsOf } from '../../../sql/skip/key-set.js';
import type { ValueGroups } from '../../../sql/skip/value-groups.js';
import { shapeScan } from '../../rows/shapes.js';
import { fewResources, rangeOfKeys, referencesOfFew, type SkipReferences } from './few-resources.js';
import { countRows } from './reference-rows.js';
import { addSources, addTargets, KEYS_IN_ROW, readReferences, type References } from '../../../sql/skip/references.js';
import type { SkipCache } from './skip-cache.js';
import { countGranuleRows, readHeader, readSkipData, writtenSince } from './skip-header.js';
import { skipOrderOf } from './skip-order.js';
import {
  BY_END,
  BY_LARGEST,
  BY_SMALLEST,
  EVERYTHING,
  FORMAT,
  GRANULES_IN_ROW,
  GROUPS,
  IN_SYSTEM,
  inSystem,
  ORDER,
  PRESENCE,
  SETS,
  SKIP_TUNING,
  type SkipHeader,
  type SkipOrder,
  SYSTEMS,
  systemsOf,
  type SystemsOf,
  TARGETS,
  orderOfIds,
} from '../../rows/skip-row.js';

/** The context in which skip indexes are read. */
export interface SkipSource {
  readonly cache: SkipCache;
  /** Checks the deadline between parts of the work. */
  readonly guard: Guard;
  /** Called with a type of a project if its skip index should be built or updated. */
  readonly noteStale?: (collection: number) => void;
}

/** An order, with the keys of each granule. */
export interface SkipOrderKeys extends SkipOrder {
  /** The keys of a granule in ascending order. @param granule from 0 up to the number of starts @param among only these */
  keysOf(granule: number, among?: KeySet): readonly number[];
  addTo(set: KeySet, granule: number): void;
  /** A lower bound of the number of resources in a granule. PERF: reads no key. */
  atLeast(granule: number): number;
}

/**
 * The skip index of a type of a project, as of the moment it was built: see skip-row.ts. A small type has no rows in the table,
 * so its resources and their references are read instead.
 */
export class SkipIndex {
  readonly header: SkipHeader;
  /** The resources written or deleted since the index was built, which does not describe them. */
  readonly pending: readonly number[];
  readonly #collection: number;
  readonly #statements: Statements;
  readonly #cache: SkipCache;
  readonly #guard: Guard;
  /** All resources of a small type. */
  readonly #few: readonly number[] | undefined;
  readonly #orders = new Map<string, SkipOrder | undefined>();
  readonly #systems = new Map<string, SystemsOf | undefined>();
  #all: KeySet | undefined;

  private constructor(
    header: SkipHeader,
    pending: readonly number[],
    collection: number,
    statements: Statements,
    { cache, guard }: SkipSource,
    few: readonly number[] | undefined,
  ) {
    this.#few = few;
    this.#cache = cache;
    this.#guard = guard;
    this.header = header;
    this.pending = pending;
    this.#collection = collection;
    this.#statements = statements;
  }

  /**
   * Opens the skip index of a type. Undefined if the file has no valid and whole one, or too much was written since it was built.
   *
   * @param orFew reads the resources of a small type
   */
  static of(collection: number, statements: Statements, source: SkipSource, orFew = false): SkipIndex | undefined {
    const header = readHeader(collection, statements);
    const few = header === undefined && orFew ? fewResources(collection, statements) : undefined;
    if (few !== undefined) return new SkipIndex(headerOf(few), [], collection, statements, source, few);
    const pending = header && writtenSince(header.lastVersion, collection, statements);
    if (pending === undefined || pending.length > SKIP_TUNING.maxFresh) source.noteStale?.(collection);
    if (pending === undefined || pending.length > SKIP_TUNING.maxPending) return undefined;
    const index = new SkipIndex(header!, pending, collection, statements, source, undefined);
    index.#all = index.#read(SETS, orderOfIds(collection), EVERYTHING);
    return index.#all && index;
  }

  /**
   * Ends work that takes too long: see guard.ts. Called between values or rows, because sets are also made in the event loop.
   *
   * @param tests how many resources are about to be tested
   */
  check(tests = 0): void {
    this.#guard.check();
    this.#guard.expect(tests * ROWS_PER_TEST);
  }

  emptySet(): KeySet {
    const { first, size } = this.header;
    return new KeySet(first, size, this.#cache.allocate(wordsOf(size)), this.#cache.allocate);
  }

  /** All resources. */
  get all(): KeySet {
    // A large type has them from the start.
    return (this.#all ??= this.#setOfKeys(this.#few!));
  }

  /** The resources with a value; undefined if the index does not keep that set. Callers share the set and must not change it. */
  setOf(subject: number, value: string | number): KeySet | undefined {
    return this.#read(SETS, subject, value);
  }

  /** Whether the index keeps the set of a unit: without it, that set is unknown, and not empty. */
  keepsUnit(parameter: number, unit: string): boolean {
    return this.header.units?.[parameter]?.includes(unit) === true;
  }

  /** The systems of a code, or of all values of a parameter; undefined if the index does not keep their sets. */
  systemsOf(parameter: number, code: string | undefined): SystemsOf | undefined {
    const name = JSON.stringify([parameter, code]);
    if (!this.#systems.has(name)) this.#systems.set(name, this.#readSystems(parameter, code));
    return this.#systems.get(name);
  }

  /** The resources with a code, or with any value, of one of {@link SystemsOf.own}. Callers must not change the set. */
  setInSystem(parameter: number, code: string | undefined, system: number): KeySet | undefined {
    return this.#read(parameter, IN_SYSTEM, inSystem(system, code));
  }

  /** The resources with a value of a parameter; undefined if the index does not have them. Callers must not change the set. */
  present(parameter: number): KeySet | undefined {
    if (this.#few === undefined) return this.setOf(parameter, PRESENCE);
    const scan = shapeScan(this.#collection, parameter, 'some');
    return this.#setOfKeys(this.#statements.column(scan) as readonly number[]);
  }

  /** The order of a key; undefined if the index does not have it. */
  order(key: SortKey, scope: RowScope): SkipOrderKeys | undefined {
    const { sort } = skipOrderOf(key, scope) ?? {};
    if (sort === undefined) return undefined;
    const smallest = this.#granules(sort, BY_SMALLEST);
    if (smallest === undefined) return undefined;
    const subject = key.descending && smallest.several ? BY_LARGEST : BY_SMALLEST;
    const order = subject === BY_LARGEST ? this.#granules(sort, subject) : smallest;
    return order && this.#withKeys(order, sort, subject);
  }

  /**
   * The resources with long intervals of a parameter, by the end of the last one of each. Undefined if the index does not have
   * that order.
   */
  ends(parameter: number): SkipOrderKeys | undefined {
    const order = this.#granules(parameter, BY_END);
    return order?.of === this.header.id ? this.#withKeys(order, parameter, BY_END) : undefined;
  }

  /** The groups of a composite with a code; undefined if the index does not have them. @param value its component */
  groups(value: number, code: string): (SkipOrderKeys & { readonly groups: ValueGroups }) | undefined {
    if (this.#few !== undefined) return undefined;
    const subject = readSkipData(this.#statements, value, GROUPS, code) as string | undefined;
    const order = subject === undefined ? undefined : this.#granules(value, Number(subject));
    if (order?.groups === undefined) return undefined;
    return { ...this.#withKeys(order, value, Number(subject)), groups: order.groups };
  }

  /** The references of a parameter; undefined if the index does not have them. */
  references(parameter: number): SkipReferences | undefined {
    if (this.#few !== undefined) return referencesOfFew(parameter, this.#statements);
    const rows: References[] = [];
    for (let row = 0; row < countRows(this.header.size); row++) {
      const bytes = this.#bytes(parameter, TARGETS, row);
      if (bytes === undefined) return undefined;
      rows.push(readReferences(bytes));
    }
    const each = (add: (references: References, first: number) => void): void => {
      for (const [row, references] of rows.entries()) {
        this.check();
        add(references, this.header.first + row * KEYS_IN_ROW);
      }
    };
    return {
      addTargets: (sources, into) => {
        each((references, first) => addTargets(references, first, sources, into));
      },
      addSources: (targets, into) => {
        each((references, first) => addSources(references, first, targets, into));
      },
    };
  }

  /** Whether some resource may have several values of a parameter. */
  hasSeveral(parameter: number): boolean {
    return this.#granules(parameter, BY_SMALLEST)?.several ?? true;
  }

  #withKeys(order: SkipOrder, sort: number, subject: number): SkipOrderKeys {
    const list = this.#reader(sort, subject, order.starts.length + 1);
    return {
      ...order,
      keysOf: (granule, among) => readList(list(granule), this.header.first, among),
      addTo: (set, granule) => addList(set, list(granule)),
      atLeast: (granule) => leastInList(list(granule)),
    };
  }

  #setOfKeys(keys: readonly number[]): KeySet {
    const set = this.emptySet();
    for (const key of keys) set.add(key);
    return set;
  }

  /** Reads granules; neighboring granules are in one row of the table, which is read once. */
  #reader(sort: number, subject: number, count: number): (granule: number) => Uint8Array {
    let last: { readonly row: number; readonly bytes: Uint8Array | undefined } | undefined;
    return (granule) => {
      const row = Math.floor(granule / GRANULES_IN_ROW);
      if (last?.row !== row) {
        last = { row, bytes: this.#bytes(sort, subject, row) };
      }
      const lists = Math.min(GRANULES_IN_ROW, count - row * GRANULES_IN_ROW);
      return listAt(last.bytes!, granule % GRANULES_IN_ROW, lists);
    };
  }

  #granules(sort: number, subject: number): SkipOrder | undefined {
    const name = `${sort} ${subject}`;
    if (!this.#orders.has(name)) this.#orders.set(name, this.#readGranules(sort, subject));
    return this.#orders.get(name);
  }

  #readGranules(sort: number, subject: number): SkipOrder | undefined {
    if (this.#few !== undefined) return undefined;
    const text = readSkipData(this.#statements, sort, subject, ORDER) as string | undefined;
    const order = text === undefined ? undefined : (JSON.parse(text) as SkipOrder);
    if (order === undefined) return undefined;
    const rows = Math.ceil((order.starts.length + 1) / GRANULES_IN_ROW);
    if (countGranuleRows(this.#statements, sort, subject) < rows) return undefined;
    // An update adds smaller values to the first granule, and leaves its start as it was.
    return order.ties.includes(0) ? order : { ...order, starts: order.starts.with(0, -Infinity) };
  }

  #readSystems(parameter: number, code: string | undefined): SystemsOf | undefined {
    if (this.#few !== undefined) return undefined;
    const text = readSkipData(this.#statements, parameter, SYSTEMS, systemsOf(code)) as string | undefined;
    const systems = text === undefined ? undefined : (JSON.parse(text) as SystemsOf);
    return systems?.areMany === true ? undefined : systems;
  }

  #read(sort: number, subject: number, value: string | number): KeySet | undefined {
    const name = `${this.#name(sort, subject, value)} set`;
    const bytes = this.#bytes(sort, subject, value);
    if (bytes === undefined) return undefined;
    const readAs = (set: KeySet): KeySet => {
      readInto(set, bytes, () => this.all);
      return set;
    };
    if (!isLong(bytes)) return readAs(this.emptySet());
    // A cached set outlives the search, so it must not use the memory of the search.
    const { first, size } = this.header;
    return this.#cache.get(name, () => readAs(new KeySet(first, size, undefined, this.#cache.allocate)));
  }

  #bytes(sort: number, subject: number, value: string | number): Uint8Array | undefined {
    this.check();
    if (this.#few !== undefined) return undefined;
    const read = (): Uint8Array | undefined => {
      const bytes = readSkipData(this.#statements, sort, subject, value) as Uint8Array | undefined;
      // Short buffers share their memory with others.
      return bytes && (bytes.byteOffset === 0 ? bytes : new Uint8Array(bytes));
    };
    return this.#cache.get(this.#name(sort, subject, value), read);
  }

  #name(sort: number, subject: number, value: string | number): string {
    // The code "0" is not the number 0.
    return `${this.header.id} ${sort} ${subject} ${JSON.stringify(value)}`;
  }
}

/** A header for the resources of a small type. */
function headerOf(keys: readonly number[]): SkipHeader {
  const { first, size } = rangeOfKeys(keys);
  const count = keys.length;
  return { format: FORMAT, id: '', epoch: null, lastVersion: 0, first, size, count, built: count };
}

/** PERF: a short form takes less memory than its set, and little time to read. */
function isLong(bytes: Uint8Array): boolean {
  return bytes.length > 16_384 || bytes.length === 1;
}

/** The cost of a test of a resource, in sorted rows. */
const ROWS_PER_TEST = 8;
