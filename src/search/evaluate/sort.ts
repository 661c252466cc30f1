import { compareTexts } from '../../platform/texts.js';
import { oncePer } from '../../platform/collections.js';
import type { SortKey } from '../criteria/criteria.js';
import { orderKey } from '../index/fold.js';
import type { IndexValue } from '../index/index-entry.js';
import type { SearchSubject } from './search-subject.js';

/**
 * The value by which a resource is ordered under one sort key.
 *
 * | value | ordered by |
 * |---|---|
 * | string | its text without accents and case |
 * | date | its start, in both directions |
 * | number, quantity | its lower bound; units are not converted |
 * | token | its code |
 * | reference | `Type/id` or the URL |
 * | uri | itself |
 *
 * Strings are compared by code point.
 *
 * Of several values the smallest counts ascending, the largest descending. See
 * https://hl7.org/fhir/R4/search.html#sort.
 *
 * @returns undefined if the resource has no such value.
 */
export function sortValue(subject: SearchSubject, key: SortKey): string | number | undefined {
  if (key.parameter === '_id') return subject.id;
  if (key.parameter === '_lastUpdated') return subject.lastUpdated;
  let chosen: string | number | undefined;
  for (const { value } of subject.entries.get(key.parameter) ?? []) {
    const candidate = orderOf(value);
    if (candidate === undefined) continue;
    if (chosen === undefined || compareValues(candidate, chosen, key.descending) < 0) chosen = candidate;
  }
  return chosen;
}

/**
 * A position in the order of a search: that of an existing or former resource. Pages that begin or end at a position
 * neither skip nor repeat resources when other resources change.
 */
export interface SearchPosition {
  /** The resource's value under each sort key; null if it has none. */
  readonly values: readonly (string | number | null)[];
  readonly id: string;
}

/** The position of a resource. */
export function positionOf(subject: SearchSubject, sort: readonly SortKey[] | undefined): SearchPosition {
  return { values: (sort ?? []).map((key) => sortValue(subject, key) ?? null), id: subject.id };
}

/** A position after every resource: missing values sort last, and `~` sorts after every id. */
export function endOf(sort: readonly SortKey[] | undefined): SearchPosition {
  return { values: (sort ?? []).map(() => null), id: '~' };
}

/** Negative for resources before the position, positive after it, 0 at it; the order is that of {@link compareSubjects}. */
export function compareToPosition(
  sort: readonly SortKey[] | undefined,
  position: SearchPosition,
): (subject: SearchSubject) => number {
  return (subject) => {
    for (const [index, key] of (sort ?? []).entries()) {
      const order = compareValues(sortValue(subject, key), position.values[index] ?? undefined, key.descending);
      // The position of the resource itself, even if its sort values have changed since.
      if (order !== 0 || key.parameter === '_id') return order;
    }
    return compareIds(subject.id, position.id);
  };
}

/**
 * The order of search results: by each key in turn, resources without a value last in either direction, ties by
 * ascending id. Without keys: by ascending id.
 *
 * A comparator remembers the sort values of the subjects it has seen for as long as both live.
 */
export function compareSubjects(sort: readonly SortKey[] | undefined): (a: SearchSubject, b: SearchSubject) => number {
  const ranked = oncePer((subject: SearchSubject) => rank(subject, sort));
  const compare = compareRanked(sort);
  return (a, b) => compare(ranked(a), ranked(b));
}

/** A resource with its value under each sort key. */
export interface RankedSubject {
  readonly subject: SearchSubject;
  readonly values: readonly (string | number | undefined)[];
}

export function rank(subject: SearchSubject, sort: readonly SortKey[] | undefined): RankedSubject {
  return { subject, values: (sort ?? []).map((key) => sortValue(subject, key)) };
}

/** The order of {@link compareSubjects}. */
export function compareRanked(sort: readonly SortKey[] | undefined): (a: RankedSubject, b: RankedSubject) => number {
  const keys = sort ?? [];
  return (a, b) => {
    for (const [index, { descending }] of keys.entries()) {
      const order = compareValues(a.values[index], b.values[index], descending);
      if (order !== 0) return order;
    }
    return compareIds(a.subject.id, b.subject.id);
  };
}

export function compareIds(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/** The sort value of one index value: the table of {@link sortValue}. */
export function orderOf(value: IndexValue): string | number | undefined {
  switch (value.kind) {
    case 'string':
      return orderKey(value);
    case 'date':
    case 'number':
    case 'quantity':
      return value.low;
    case 'token':
      return value.code;
    case 'reference':
      return 'url' in value ? value.url : `${value.type}/${value.id}`;
    case 'uri':
      return value.value;
  }
}

function compareValues(a: string | number | undefined, b: string | number | undefined, descending: boolean): number {
  if (a === b) return 0;
  if (a === undefined) return 1;
  if (b === undefined) return -1;
  const isBefore = typeof a === 'string' && typeof b === 'string' ? compareTexts(a, b) < 0 : a < b;
  return isBefore === descending ? 1 : -1;
}
