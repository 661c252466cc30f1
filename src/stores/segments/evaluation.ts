import { isHeldApart, parametersOf } from '../../search/criteria/parameters-of.js';
import {
  childrenOf,
  and,
  type ChainCriteria,
  type CompositeCriteria,
  type Criteria,
  type HasCriteria,
  type MatchCriteria,
  type MissingCriteria,
  type SortKey,
} from '../../search/criteria/criteria.js';
import type { ValueTest } from '../../search/criteria/value-test.js';
import { linkParameter } from '../../search/index/inside.js';
import { getOrCreate } from '../../platform/collections.js';
import { type Ask, ask } from '../ask.js';
import { foldedRun, type KnownParameters, LAST_UPDATED, parameterOf } from './build-segment.js';
import { addReferred, addReferring, linksTo } from './links.js';
import { Matches } from './matches.js';
import type { SegmentPort } from './port.js';
import { addRunMatches } from './run-matches.js';
import type { Segment } from './segment.js';
import { ifLoaded, NOT_LOADED, type LoadedRows, withRows } from './segment-rows.js';
import { isInterval } from './value.js';

/** The segments of the types of a search; undefined for a type that has none. */
export type TypeSegments = ReadonlyMap<string, readonly Segment[] | undefined>;

/** The fingerprints of the parameters of a type, as this process defines them. */
export type FingerprintsOf = (type: string) => KnownParameters;

/** Finds the matches of criteria, segment by segment. */
export class Evaluation {
  /** By type and segment. */
  readonly #known = new Map<Segment, Map<Criteria, Matches>>();
  /** The matches of the inner criteria of chains and `has`. */
  readonly #inner = new Map<string, Map<Criteria, readonly Matches[]>>();

  constructor(
    private readonly segments: TypeSegments,
    private readonly rows: LoadedRows,
    private readonly fingerprints: FingerprintsOf,
  ) {}

  /**
   * Reads the headers, then the directories, of all that criteria and a sort refer to.
   *
   * @returns the types with segments that were built with other definitions of these parameters
   */
  *prepare(type: string, criteria: Criteria, sort: readonly SortKey[]): Ask<SegmentPort, readonly string[]> {
    yield* withRows(this.rows, () => {
      forAll(
        [...this.segments.values()].flatMap((one) => one ?? []),
        (segment) => segment.header,
      );
    });
    const indexed = parametersOf(type, criteria, sort);
    const parameters = [...indexed, { type, parameter: LAST_UPDATED }];
    const runs = parameters.flatMap(({ type: of, parameter }) =>
      (this.segments.get(of) ?? []).flatMap((segment) =>
        [parameter, foldedRun(parameter)].map((name) => [segment, name] as const),
      ),
    );
    // Decoded, so that the cache keeps also those that this search does not need.
    yield* withRows(this.rows, () => {
      forAll(runs, ([segment, name]) => segment.run(name));
    });
    const outdated = indexed.filter(({ type: of, parameter }) => {
      // No segment knows a parameter that this process does not.
      const isDefined = Object.hasOwn(this.fingerprints(of), parameter);
      return isDefined && this.segments.get(of)?.every((one) => this.#knows(of, parameter, one)) === false;
    });
    return [...new Set(outdated.map((one) => one.type))];
  }

  /** The matches in each segment of a type. */
  *matching(type: string, criteria: Criteria): Ask<SegmentPort, readonly Matches[]> {
    const known = getOrCreate(this.#inner, type, () => new Map<Criteria, readonly Matches[]>());
    const before = known.get(criteria);
    if (before !== undefined) return before;
    for (const link of linksIn(criteria)) if (this.segments.get(link.type)) yield* this.matching(link.type, link.of);
    const found: Matches[] = [];
    const segments = this.segments.get(type)!;
    for (;;) {
      for (const [index, segment] of segments.entries()) {
        if (found[index] !== undefined) continue;
        yield;
        const matches = ifLoaded(() => this.#matches(type, criteria, segment));
        if (matches !== undefined) found[index] = matches;
      }
      const { noted } = this.rows;
      if (noted.length === 0) break;
      this.rows.accept(noted, yield* ask((port: SegmentPort) => port.rows(noted)));
    }
    known.set(criteria, found);
    return found;
  }

  /** Whether all segments of a type know a parameter. */
  knowsAll(type: string, parameter: string): boolean {
    return isHeldApart(parameter) || this.segments.get(type)!.every((one) => this.#knows(type, parameter, one));
  }

  /** The criteria that a match must be tested for: of a conjunction, the parts that some segment does not decide. */
  *inexactPart(type: string, criteria: Criteria): Ask<SegmentPort, Criteria> {
    if (criteria.kind !== 'and') return criteria;
    const inexact: Criteria[] = [];
    for (const one of criteria.of) {
      const matches = yield* this.matching(type, one);
      if (!matches.every(({ isExact }) => isExact)) inexact.push(one);
    }
    return and(inexact);
  }

  /** Not to be changed by the caller. */
  #matches(type: string, criteria: Criteria, segment: Segment): Matches {
    const ofSegment = getOrCreate(this.#known, segment, () => new Map<Criteria, Matches>());
    return getOrCreate(ofSegment, criteria, () => {
      switch (criteria.kind) {
        case 'and': {
          const matches = new Matches(segment.live.copy());
          for (const one of forAll(criteria.of, (one) => this.#matches(type, one, segment))) matches.intersect(one);
          return matches;
        }
        case 'not':
          return this.#matches(type, criteria.of, segment).negated(segment.live);
        default: {
          const matches = Matches.none(segment);
          this.#add(type, criteria, segment, matches);
          return matches.among(segment.live);
        }
      }
    });
  }

  /** Adds the matches. Resources that are not live may be among them. */
  #add(type: string, criteria: Criteria, segment: Segment, into: Matches): void {
    switch (criteria.kind) {
      case 'all':
        into.sure.unite(segment.live);
        break;
      case 'none':
        break;
      case 'or':
        // A thousand alternatives share one set.
        forAll(criteria.of, (one) => this.#add(type, one, segment, into));
        break;
      case 'and':
      case 'not':
        into.unite(this.#matches(type, criteria, segment));
        break;
      case 'id':
        for (const position of forAll(criteria.ids, (id) => segment.positionOf(id) ?? -1)) {
          if (position >= 0) into.sure.add(position);
        }
        break;
      case 'last-updated':
        addRunMatches(segment.run(LAST_UPDATED)!, { test: criteria.test }, into);
        break;
      case 'match':
      case 'missing':
      case 'composite':
      case 'chain':
        if (!this.#knows(type, criteria.parameter, segment)) into.addUnsure(segment.live);
        else if (criteria.kind === 'match') this.#addMatch(criteria, segment, into);
        else if (criteria.kind === 'missing') addMissing(criteria, segment, into);
        else if (criteria.kind === 'composite') this.#addComposite(criteria, segment, into);
        else this.#addChain(criteria, segment, into);
        break;
      case 'has':
        this.#addHas(type, criteria, segment, into);
    }
  }

  #knows(type: string, parameter: string, segment: Segment): boolean {
    return segment.knows(parameterOf(parameter), this.fingerprints(type));
  }

  #addMatch({ parameter, test }: MatchCriteria, segment: Segment, into: Matches): void {
    const run = segment.run(test.kind === 'string' ? foldedRun(parameter) : parameter);
    if (run !== undefined) addRunMatches(run, { test }, into);
  }

  #addComposite({ parameter, tests }: CompositeCriteria, segment: Segment, into: Matches): void {
    const run = segment.run(parameter);
    if (run === undefined || tests.length === 0) return;
    if (tests.length !== 2) return void into.addUnsure(run.directory.present);
    const [one, other] = tests as readonly [ValueTest, ValueTest];
    const [first, test] = isInterval(one.kind) ? [other, one] : [one, other];
    addRunMatches(run, { first, test }, into);
  }

  /** Resources inside the referring one are tested per resource: few have any. */
  #addChain({ parameter, type, of, reach }: ChainCriteria, segment: Segment, into: Matches): void {
    const inside = reach === 'outside' ? undefined : segment.run(linkParameter(parameter, type));
    if (inside !== undefined) into.addUnsure(inside.directory.present);
    const run = reach === 'inside' ? undefined : segment.run(parameter);
    if (run === undefined) return;
    into.addUnsure(run.directory.partial);
    if (run.kind !== 'reference') return;
    const targets = this.segments.get(type);
    if (targets === undefined) return void into.addUnsure(run.directory.present);
    const matching = this.#inner.get(type)!.get(of)!;
    forAll([...targets.entries()], ([index, target]) => {
      addReferring(run, linksTo(run, type, target, this.rows.cache), matching[index]!, into);
    });
  }

  #addHas(type: string, { parameter, type: from, of }: HasCriteria, segment: Segment, into: Matches): void {
    const sources = this.segments.get(from);
    if (sources === undefined) return void into.addUnsure(segment.live);
    const matching = this.#inner.get(from)!.get(of)!;
    forAll([...sources.entries()], ([index, source]) => {
      const run = source.run(parameter);
      if (!this.#knows(from, parameter, source) || run?.directory.partial.isEmpty === false) {
        into.addUnsure(segment.live);
      } else if (run?.kind === 'reference') {
        addReferred(run, linksTo(run, type, segment, this.rows.cache), matching[index]!, into);
      }
    });
  }
}

function addMissing({ parameter, missing }: MissingCriteria, segment: Segment, into: Matches): void {
  const present = segment.run(parameter)?.directory.present;
  if (!missing) into.sure.unite(present ?? segment.emptySet());
  else into.sure.unite(present === undefined ? segment.live : segment.live.copy().subtract(present));
}

/** The chains and `has` of criteria, except those inside others. */
function linksIn(criteria: Criteria): readonly (ChainCriteria | HasCriteria)[] {
  if (criteria.kind === 'chain' || criteria.kind === 'has') return [criteria];
  return childrenOf(criteria).flatMap(linksIn);
}

/** Evaluates all, so that the rows that any of them needs are noted. */
export function forAll<One, Result>(all: readonly One[], evaluate: (one: One) => Result): readonly Result[] {
  const found: Result[] = [];
  let isComplete = true;
  for (const one of all) {
    try {
      found.push(evaluate(one));
    } catch (error) {
      if (error !== NOT_LOADED) throw error;
      isComplete = false;
    }
  }
  if (!isComplete) throw NOT_LOADED;
  return found;
}
