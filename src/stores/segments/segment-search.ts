import { childrenOf, ALL, type Criteria, type SortKey } from '../../search/criteria/criteria.js';
import type { PageEdge } from '../../store/guards.js';
import { type Ask, ask } from '../ask.js';
import { Evaluation, type FingerprintsOf, type TypeSegments } from './evaluation.js';
import type { Matches } from './matches.js';
import { decidingKeys, type Found, isOrdered, type Members, membersInOrder, placeOf } from './page.js';
import { isComplete, type SegmentPort, type StoredState } from './port.js';
import type { Segment } from './segment.js';
import { LoadedRows, SegmentCache, withRows } from './segment-rows.js';
import { TypeState } from './type-state.js';
import { SEGMENT_TUNING } from './upkeep.js';

/** A search by segments. */
export interface SegmentQuery {
  readonly type: string;
  readonly criteria: Criteria;
  readonly sort?: readonly SortKey[] | undefined;
  readonly offset?: number | undefined;
  /** Undefined: all. 0: none, with `total` the count alone. */
  readonly limit?: number | undefined;
  readonly total?: boolean | undefined;
  readonly edge?: PageEdge | undefined;
}

/** A page of matches. */
export interface SegmentPage {
  /** In the order of the search; undefined if segments do not know the order. */
  readonly ids: readonly string[] | undefined;
  readonly total?: number | undefined;
}

/** The segments of one project, as a process sees them. */
export class SegmentIndex {
  readonly #states = new Map<string, TypeState>();

  /**
   * @param fingerprints of the parameters of each type, as this process defines them
   * @param cache is shared by all projects
   */
  constructor(
    readonly fingerprints: FingerprintsOf,
    readonly cache = new SegmentCache(),
  ) {}

  /**
   * Answers a search.
   *
   * @returns undefined if segments do not answer it: the type has no complete list, or they do not know the order, and the
   * count is not wanted
   */
  *search(query: SegmentQuery, { isWhole = false, stale }: Lists = {}): Ask<SegmentPort, SegmentPage | undefined> {
    const { type, criteria, sort = [], offset = 0, limit = Infinity } = query;
    const types = typesOf(type, criteria);
    const states = yield* ask((port: SegmentPort) => port.states(types));
    const lacking = types.filter((_, index) => !isComplete(states[index]!.list));
    const grown = types.filter((_, index) => states[index]!.written.length >= SEGMENT_TUNING.minSize);
    if (lacking.length + grown.length > 0) stale?.([...lacking, ...grown]);
    if (lacking.includes(type) || (isWhole && lacking.length > 0)) return undefined;
    const opened = yield* this.#open(types, states);
    const segments = opened.segments.get(type)!;
    const { rows } = opened;
    const evaluation = new Evaluation(opened.segments, rows, this.fingerprints);
    const outdated = yield* evaluation.prepare(type, criteria, sort);
    if (outdated.length > 0) stale?.(outdated);
    const matches = yield* evaluation.matching(type, criteria);
    const keys = decidingKeys(sort);
    const knowsOrder =
      limit === 0 ||
      (keys.every(({ parameter }) => evaluation.knowsAll(type, parameter)) &&
        (yield* withRows(rows, () => isOrdered(segments, keys))));
    if (!knowsOrder && query.total !== true) return undefined;
    const isExact = matches.every((one) => one.isExact);
    const rest = { type, criteria: isExact ? ALL : yield* evaluation.inexactPart(type, criteria) };
    const page = new PageSearch(segments, matches, isExact, rows, rest);
    const isPage = knowsOrder && limit > 0;
    const ids = isPage ? yield* page.find(keys, query.edge, offset, limit) : limit === 0 ? [] : undefined;
    return { ids, ...(query.total === true && { total: yield* page.count() }) };
  }

  *#open(
    types: readonly string[],
    found: readonly StoredState[],
  ): Ask<SegmentPort, { readonly segments: TypeSegments; readonly rows: LoadedRows }> {
    const states: (TypeState | undefined)[] = [];
    for (const [index, type] of types.entries()) {
      const { list, written } = found[index]!;
      if (!isComplete(list)) {
        states.push(undefined);
        continue;
      }
      const known = this.#states.get(type);
      const before = known?.isBefore(list, written) === true ? known : TypeState.of(list);
      const state = yield* before.after(type, written, this.fingerprints(type), this.cache);
      this.#states.set(type, state);
      states.push(state);
    }
    const built = new Map(states.flatMap((state) => [...(state?.builtRows ?? [])]));
    const rows = new LoadedRows(this.cache, built);
    return { segments: new Map(types.map((type, index) => [type, states[index]?.open(rows)])), rows };
  }
}

/** What a search requires of lists, and reports of them. */
interface Lists {
  /** Whether all types that the search leads to must have a complete list. Otherwise a chain into one without is tested. */
  readonly isWhole?: boolean;
  /**
   * Called with types that have no complete list, or one with many writes since, or segments that were built with other
   * definitions of the parameters of the search.
   */
  readonly stale?: ((types: readonly string[]) => void) | undefined;
}

/** The type of a search, and all types that its chains and `has` lead to. */
export function typesOf(type: string, criteria: Criteria): readonly string[] {
  return [...new Set([type, ...typesIn(criteria)])];
}

function typesIn(criteria: Criteria): readonly string[] {
  const types = criteria.kind === 'chain' || criteria.kind === 'has' ? [criteria.type] : [];
  return [...types, ...childrenOf(criteria).flatMap(typesIn)];
}

/** The criteria that unsure matches are tested for. */
interface RestTest {
  readonly type: string;
  readonly criteria: Criteria;
}

/** Finds the pages and the count of matches, and tests those that are unsure. */
class PageSearch {
  readonly #possible: readonly Members[];
  /** The verdicts of the tests so far. */
  readonly #tested = new Map<string, boolean>();

  constructor(
    readonly segments: readonly Segment[],
    readonly matches: readonly Matches[],
    readonly isExact: boolean,
    readonly rows: LoadedRows,
    readonly rest: RestTest,
  ) {
    this.#possible = segments.map((segment, index) => ({ segment, set: matches[index]!.possible }));
  }

  *find(
    keys: readonly SortKey[],
    edge: PageEdge | undefined,
    offset: number,
    limit: number,
  ): Ask<SegmentPort, readonly string[]> {
    const found: string[] = [];
    const end = offset + limit;
    const backwards = edge?.before === true;
    let start = edge && placeOf(edge, keys);
    // Unsure matches are skipped only after a test.
    let batch = this.isExact ? limit : Math.max(MIN_BATCH, end);
    for (let skip = this.isExact ? offset : 0; ; skip = 0) {
      const part = yield* withRows(this.rows, () => {
        return membersInOrder(this.#possible, keys, start, { backwards, skip, limit: batch });
      });
      yield* this.#test(part.filter((one) => !this.#isSure(one)).map(idOf));
      for (const one of part) if (this.#isSure(one) || this.#tested.get(idOf(one)) === true) found.push(idOf(one));
      if (this.isExact || part.length < batch || found.length >= end) break;
      start = part.at(-1)!.place;
      batch = Math.min(MAX_BATCH, 2 * batch);
    }
    const page = this.isExact ? found : found.slice(offset, end);
    return backwards ? page.reverse() : page;
  }

  /** All matches, on all pages. */
  *count(): Ask<SegmentPort, number> {
    let count = 0;
    for (const [index, segment] of this.segments.entries()) {
      const { sure, unsure } = this.matches[index]!;
      count += sure.count;
      const positions = unsure.copy().subtract(sure).positions();
      for (let from = 0; from < positions.length; from += MAX_BATCH) {
        const part = positions.slice(from, from + MAX_BATCH);
        const ids = yield* withRows(this.rows, () => part.map((position) => segment.idAt(position)));
        yield* this.#test(ids);
        for (const id of ids) if (this.#tested.get(id) === true) count++;
      }
    }
    return count;
  }

  #isSure({ segment, position }: Found): boolean {
    return this.matches[this.segments.indexOf(segment)]!.sure.has(position);
  }

  *#test(all: readonly string[]): Ask<SegmentPort, void> {
    const { type, criteria } = this.rest;
    const ids = all.filter((id) => !this.#tested.has(id));
    if (ids.length === 0) return;
    const passing = new Set(yield* ask((port: SegmentPort) => port.matching(type, criteria, ids)));
    for (const id of ids) this.#tested.set(id, passing.has(id));
  }
}

function idOf({ place }: Found): string {
  return place.at(-1) as string;
}

/** Unsure matches that are tested together: the fewest and the most. */
const MIN_BATCH = 32;
const MAX_BATCH = 1_024;
