import { FhirError } from '../../fhir/error.js';
import { getOrCreate, oncePer, pushTo } from '../../platform/collections.js';
import type { ChainCriteria, CompositeCriteria, Criteria, HasCriteria, MatchCriteria } from '../criteria/criteria.js';
import type { ValueTest } from '../criteria/value-test.js';
import type { IndexValue } from '../index/index-entry.js';
import { insideSubjects, type SearchSubject, type SearchWorld } from './search-subject.js';
import { fitsDate, testValue } from './test-value.js';

/** Maximum nesting of criteria; parsers stay far below it. */
const MAX_DEPTH = 1_000;

/**
 * Evaluates criteria against a resource. This function defines their meaning; SQL stores translate it.
 *
 * @param world resolves chains and `_has`; it determines which resources exist for this search.
 * @throws FhirError `too-costly` - criteria nested deeper than 1,000 levels.
 */
export function matches(criteria: Criteria, subject: SearchSubject, world: SearchWorld): boolean {
  return holds(criteria, subject, world, 0);
}

function holds(criteria: Criteria, subject: SearchSubject, world: SearchWorld, depth: number): boolean {
  if (depth > MAX_DEPTH) {
    throw new FhirError(
      'too-costly',
      `Criteria may be nested ${MAX_DEPTH} levels deep, these are deeper: simplify them`,
    );
  }
  switch (criteria.kind) {
    case 'all':
      return true;
    case 'none':
      return false;
    case 'and':
      return criteria.of.every((one) => holds(one, subject, world, depth + 1));
    case 'or':
      return someHolds(criteria.of, subject, world, depth + 1);
    case 'not':
      return !holds(criteria.of, subject, world, depth + 1);
    case 'id':
      return subject.container === undefined && isAmong(criteria.ids, subject.id);
    case 'last-updated':
      // Instants are stored to the millisecond and last one millisecond.
      return fitsDate(criteria.test, subject.lastUpdated, subject.lastUpdated + 1);
    case 'match':
      return subject.entries.get(criteria.parameter)?.some(({ value }) => testValue(criteria.test, value)) ?? false;
    case 'missing':
      return subject.entries.has(criteria.parameter) !== criteria.missing;
    case 'composite':
      return holdsInOneGroup(criteria, subject);
    case 'chain':
      return pointsToMatch(criteria, subject, world, depth);
    case 'has':
      return isPointedToByMatch(criteria, subject, world, depth);
  }
}

/** A set is made of a long list once, for all resources. */
function isAmong(ids: readonly string[], id: string): boolean {
  return ids.length < LONG_LIST ? ids.includes(id) : setOf(ids).has(id);
}

function someHolds(of: readonly Criteria[], subject: SearchSubject, world: SearchWorld, depth: number): boolean {
  if (of.length < LONG_LIST) return of.some((one) => holds(one, subject, world, depth));
  const alternatives = alternativesOf(of);
  return alternatives.somePasses(subject) || alternatives.others.some((one) => holds(one, subject, world, depth));
}

const LONG_LIST = 32;
const alternativesOf = oncePer((of: readonly Criteria[]) => new LongAlternatives(of));
const setOf = oncePer((ids: readonly string[]): ReadonlySet<string> => new Set(ids));

/** All components must pass within the same group, such as one component of an Observation. */
function holdsInOneGroup({ parameter, tests }: CompositeCriteria, { entries }: SearchSubject): boolean {
  let groups: ReadonlySet<number> | undefined;
  for (const [index, test] of tests.entries()) {
    const passing = new Set<number>();
    for (const { group, value } of entries.get(`${parameter}$${index}`) ?? []) {
      if ((groups === undefined || groups.has(group)) && testValue(test, value)) passing.add(group);
    }
    if (passing.size === 0) return false;
    groups = passing;
  }
  return groups !== undefined;
}

function pointsToMatch(criteria: ChainCriteria, subject: SearchSubject, world: SearchWorld, depth: number): boolean {
  const { parameter, type, reach } = criteria;
  const isMatch = (target: SearchSubject): boolean => holds(criteria.of, target, world, depth + 1);
  if (reach !== 'inside' && outsideSubjects(criteria, subject, world).some(isMatch)) return true;
  return reach !== 'outside' && insideSubjects(subject, parameter, type).some(isMatch);
}

function outsideSubjects(
  { parameter, type }: ChainCriteria,
  { entries, container, sealed }: SearchSubject,
  world: SearchWorld,
): readonly SearchSubject[] {
  return (entries.get(parameter) ?? []).flatMap(({ value }) => {
    if (value.kind !== 'reference' || !('id' in value) || value.type !== type) return [];
    const target = world.find(value.type, value.id);
    if (target === undefined) return [];
    return container === undefined && sealed !== true ? target : { ...target, sealed: true };
  });
}

function isPointedToByMatch(criteria: HasCriteria, subject: SearchSubject, world: SearchWorld, depth: number): boolean {
  if (subject.container !== undefined) return false;
  for (const source of world.referencing(criteria.type, criteria.parameter, subject)) {
    if (holds(criteria.of, source, world, depth + 1)) return true;
  }
  return false;
}

/**
 * The alternatives of a long disjunction.
 *
 * For each value of a resource, one look-up finds the alternatives among a thousand codes that can pass.
 */
class LongAlternatives {
  /** The alternatives that no text decides. */
  readonly others: readonly Criteria[];
  /** The other alternatives, by parameter and the text that a value must have. */
  readonly #byText = new Map<string, Map<string, MatchCriteria[]>>();

  constructor(alternatives: readonly Criteria[]) {
    this.others = alternatives.filter((one) => {
      const texts = one.kind === 'match' ? textsOfTest(one.test) : [];
      for (const text of texts) {
        const { parameter } = one as MatchCriteria;
        pushTo(
          getOrCreate(this.#byText, parameter, () => new Map<string, MatchCriteria[]>()),
          text,
          one,
        );
      }
      return texts.length === 0;
    });
  }

  /** Whether an alternative passes that is not in {@link others}. */
  somePasses({ entries }: SearchSubject): boolean {
    for (const [parameter, byText] of this.#byText) {
      for (const { value } of entries.get(parameter) ?? []) {
        const text = textOfValue(value);
        const possible = text === undefined ? undefined : byText.get(text);
        if (possible?.some(({ test }) => testValue(test, value)) === true) return true;
      }
    }
    return false;
  }
}

/** The strings that a passing value can have; empty if other values can pass. */
export function textsOfTest(test: ValueTest): readonly string[] {
  switch (test.kind) {
    case 'token':
      if (test.code === undefined || test.negated === true || test.below === true) return [];
      return test.folded === undefined ? [test.code] : [test.code, test.folded];
    case 'reference':
      return test.id === undefined || test.url !== undefined || test.negated === true ? [] : [test.id];
    case 'uri':
      return test.comparator === 'equals' ? [test.value] : [];
    case 'string':
      return test.comparator === 'equals' ? [test.text] : [];
    default:
      return [];
  }
}

/** The string of a value that {@link textsOfTest} compares. */
export function textOfValue(value: IndexValue): string | undefined {
  switch (value.kind) {
    case 'token':
      return value.code;
    case 'reference':
      return 'id' in value ? value.id : undefined;
    case 'uri':
      return value.value;
    case 'string':
      return value.folded;
    default:
      return undefined;
  }
}
