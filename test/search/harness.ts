import { type ErrorCode, FhirError } from '../../src/index.js';
import {
  type Criteria,
  fold,
  type IndexEntry,
  type IndexValue,
  R4,
  type SearchSubject,
  type SearchWorld,
  type ValueTest,
} from '../../src/store.js';
import { parseParameter } from '../../src/search/parse/parse-parameter.js';
import type { SearchOptions } from '../../src/search/parse/parse-context.js';
import { groupEntries } from '../../src/search/evaluate/search-subject.js';
import { testValue } from '../../src/search/evaluate/test-value.js';

/** The only test of a parameter with one plain value. */
export function testOf(type: string, name: string, value: string, options?: SearchOptions, model = R4): ValueTest {
  const criteria = parseParameter(model, type, name, [value], options);
  if (criteria.kind === 'match' || criteria.kind === 'last-updated') return criteria.test;
  throw new Error(`Expected one test, got criteria of kind ${criteria.kind}`);
}

/** Whether a search for a value finds a stored value. */
export function finds(type: string, name: string, value: string, stored: IndexValue, options?: SearchOptions): boolean {
  return testValue(testOf(type, name, value, options), stored);
}

/** The error of a refused call. */
export function refusal(call: () => unknown): {
  readonly code: ErrorCode;
  readonly message: string;
  readonly details: unknown;
} {
  try {
    call();
  } catch (error) {
    if (error instanceof FhirError) return { code: error.code, message: error.message, details: error.details };
    throw error;
  }
  throw new Error('Expected a FhirError, but the call returned');
}

export function text(value: string): IndexValue {
  return { kind: 'string', text: value, folded: fold(value) };
}

/** A stored date from two UTC instants, the second exclusive. */
export function interval(start: string, end: string): IndexValue {
  return { kind: 'date', low: Date.parse(start), high: Date.parse(end) };
}

export function subject(
  reference: `${string}/${string}`,
  values: { readonly [parameter: string]: readonly IndexValue[] } = {},
  groups: readonly IndexEntry[] = [],
  lastUpdated = 0,
): SearchSubject {
  const [type, id] = reference.split('/') as [string, string];
  const entries = Object.entries(values).flatMap(([parameter, list]) =>
    list.map((value): IndexEntry => ({ parameter, group: 0, value })),
  );
  return { type, id, lastUpdated, entries: groupEntries([...entries, ...groups]) };
}

/** Exactly the given resources. */
export function worldOf(...subjects: readonly SearchSubject[]): SearchWorld {
  return {
    find: (type, id) => subjects.find((one) => one.type === type && one.id === id),
    referencing: (type, parameter, target) =>
      subjects.filter(
        (one) =>
          one.type === type &&
          one.entries
            .get(parameter)
            ?.some(
              ({ value }) =>
                value.kind === 'reference' && 'id' in value && value.type === target.type && value.id === target.id,
            ),
      ),
  };
}

export const EMPTY_WORLD: SearchWorld = worldOf();

/** Number of levels of criteria. */
export function depthOf(criteria: Criteria): number {
  switch (criteria.kind) {
    case 'and':
    case 'or':
      return 1 + Math.max(...criteria.of.map(depthOf));
    case 'not':
    case 'chain':
    case 'has':
      return 1 + depthOf(criteria.of);
    default:
      return 1;
  }
}
