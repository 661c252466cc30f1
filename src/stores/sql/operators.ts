import {
  type QuantityTest,
  type ReferenceTest,
  type StringTest,
  type TextTest,
  type TokenTest,
  type UriTest,
  type ValueTest,
  wordParts,
  testedCodes,
} from '../../search/criteria/value-test.js';
import { needsTerminology } from '../../search/criteria/criteria.js';
import { narrowerTypes } from '../../search/evaluate/test-value.js';
import { fold } from '../../search/index/fold.js';
import type { SqlDialect } from './dialect.js';
import type { Lookup } from './lookup.js';
import type { SearchScope } from './rows.js';
import { dateLookup, numberLookup } from './intervals.js';
import { allOf, anyOf, FALSE, negation, type Sql, sql, TRUE } from './sql.js';

/** Tests that SQL can express, including sets of similar tests. `text` tests occur only where texts are indexed. */
export type IndexedTest = ValueTest | TokenSet | ReferenceSet | UriSet;

/** Any of the codes, with the other conditions of the test. */
interface TokenSet {
  readonly kind: 'token-set';
  readonly test: TokenTest;
  readonly codes: readonly string[];
}

/** Any of the ids, in the test's types. */
interface ReferenceSet {
  readonly kind: 'reference-set';
  readonly test: ReferenceTest;
  readonly ids: readonly string[];
}

/** Equal to any of the uris. */
interface UriSet {
  readonly kind: 'uri-set';
  readonly uris: readonly string[];
}

/**
 * The lookups of values that pass a test: none if nothing can pass, two if the values may be in either of two tables.
 *
 * @param x the name of the index table's row in the conditions.
 */
export function lookupsFor(test: IndexedTest, x: Sql, scope: SearchScope): readonly Lookup[] {
  switch (test.kind) {
    case 'concept':
      throw needsTerminology();
    case 'token':
      return tokenLookups(test, testedCodes(test), x, scope);
    case 'token-set':
      return tokenLookups(test.test, test.codes, x, scope);
    case 'text':
      return [textLookup(test, x, scope)];
    case 'string':
      return [stringLookup(test, x, scope)];
    case 'date':
      return [dateLookup(test, x)];
    case 'number':
      return [numberLookup(test, x, sql`${x}.system IS NULL`)];
    case 'quantity':
      return quantityLookups(test, x, scope);
    case 'reference':
      return test.url === undefined
        ? localReferenceLookups(test, test.id === undefined ? undefined : [test.id], x, scope)
        : urlReferenceLookups(test, test.url, x, scope);
    case 'reference-set':
      return localReferenceLookups(test.test, test.ids, x, scope);
    case 'uri':
      return [uriLookup(test, x, scope)];
    case 'uri-set':
      return [inRange(scope.dialect.indexed.isOneOf(sql`${x}.value`, test.uris))];
  }
}

function tokenLookups(
  { system, noSystem, negated, below, except = [] }: TokenTest,
  codes: readonly string[] | undefined,
  x: Sql,
  { project, dialect }: SearchScope,
): readonly Lookup[] {
  const code = sql`${x}.code`;
  const ranges = codes === undefined ? [] : [dialect.codes.isOneOf(code, codes)];
  if (below === true) {
    ranges.push(...(codes ?? []).flatMap(narrowerTypes).map((start) => dialect.codes.startsWith(code, start)));
  }
  const key = noSystem === true ? dialect.noSystem : system === undefined ? undefined : dialect.system(project, system);
  const ofSystem = key !== undefined ? sql`${x}.system = ${key}` : system === undefined ? TRUE : FALSE;
  const others = except.length === 0 ? TRUE : sql`(${dialect.codes.isOneOf(code, except)}) IS NOT TRUE`;
  const condition = allOf([codes === undefined ? TRUE : anyOf(ranges), ofSystem, others]);
  if (negated) return [{ table: 'token', condition: sql`(${condition}) IS NOT TRUE` }];
  if (condition === FALSE) return [];
  const scans = ranges.map((range) => allOf([range, ofSystem]));
  if (codes === undefined) return [{ table: 'token', condition }];
  return [{ table: 'token', condition, scans, isPoint: below !== true && codes.length <= MAX_POINTS }];
}

/** The maximum number of alternatives of a point. Each takes a look-up of its own. */
const MAX_POINTS = 4;

/** A display or text of the token contains the text. */
function textLookup({ text }: TextTest, x: Sql, { dialect }: SearchScope): Lookup {
  return { table: 'display', condition: dialect.contains(sql`${x}.folded`, sql`${text}`) };
}

function stringLookup(test: StringTest, x: Sql, { dialect }: SearchScope): Lookup {
  const { comparator, text } = test;
  const { strings } = dialect;
  const folded = sql`${x}.folded`;
  switch (comparator) {
    case 'starts-with':
      return inRanges(strings.startsWith(folded, text));
    case 'equals':
      return { ...inRanges(strings.isOneOf(folded, [text])), isPoint: true };
    case 'exact':
      return inRanges(strings.isOneOf(folded, [fold(text)]).map((range) => sql`${range} AND ${x}.text = ${text}`));
    case 'words-start-with':
    case 'words-equal': {
      const { start, parts } = wordParts(test);
      const others = parts.map((part) => dialect.contains(sql`' ' || ${folded}`, sql`${part}`));
      return inRanges(strings.startsWith(folded, start).map((range) => allOf([range, ...others])));
    }
    case 'ends-with':
      return { table: 'string', condition: dialect.endsWith(folded, text) };
    case 'contains':
      return { table: 'string', condition: dialect.contains(folded, sql`${text}`) };
    case 'not-equals':
      return { table: 'string', condition: sql`${folded} <> ${text}` };
  }
}

function quantityLookups(test: QuantityTest, x: Sql, { project, dialect }: SearchScope): readonly Lookup[] {
  const { system, code } = test;
  const lookup = (unit: Sql): Lookup => {
    const whole = numberLookup(test, x, unit);
    return dialect.measuresByValue ? whole : { table: whole.table, condition: whole.condition };
  };
  if (system === undefined) {
    const named =
      code === undefined ? TRUE : sql`(${x}.code = ${dialect.unit(code)} OR ${x}.unit = ${dialect.unit(code)})`;
    return [lookup(allOf([sql`${x}.system IS NOT NULL`, named]))];
  }
  const key = dialect.system(project, system);
  if (key === undefined) return [];
  const ofSystem = sql`${x}.system = ${key}`;
  return [lookup(code === undefined ? ofSystem : sql`${ofSystem} AND ${x}.code = ${dialect.unit(code)}`)];
}

function localReferenceLookups(
  { types, negated }: ReferenceTest,
  ids: readonly string[] | undefined,
  x: Sql,
  scope: SearchScope,
): readonly Lookup[] {
  const condition = scope.dialect.pointsTo(x, scope.project, types, ids);
  if (negated) {
    return [
      { table: 'reference', condition: negation(condition) },
      { table: 'uri', condition: TRUE },
    ];
  }
  if (condition === FALSE) return [];
  const isPoint = types?.length === 1 && ids?.length === 1;
  return [{ table: 'reference', condition, ...(ids === undefined ? {} : { scans: [condition], isPoint }) }];
}

/** A canonical without a version also matches every version. */
function canonicalRanges(url: string, value: Sql, indexed: SqlDialect['indexed']): readonly Sql[] {
  const whole = indexed.isOneOf(value, [url]);
  return url.includes('|') ? [whole] : [whole, indexed.startsWith(value, `${url}|`)];
}

function urlReferenceLookups(
  { version, negated }: ReferenceTest,
  url: string,
  x: Sql,
  { dialect: { indexed } }: SearchScope,
): readonly Lookup[] {
  const value = sql`${x}.value`;
  const whole = indexed.isOneOf(value, [url]);
  const scans =
    version === undefined
      ? canonicalRanges(url, value, indexed)
      : version === 'exact'
        ? [whole]
        : [whole, indexed.startsWith(value, `${url}.`)];
  const condition = anyOf(scans);
  if (negated !== true) return [{ table: 'uri', condition, scans }];
  return [
    { table: 'uri', condition: negation(condition) },
    { table: 'reference', condition: TRUE },
  ];
}

function uriLookup({ comparator, value: searched }: UriTest, x: Sql, { dialect }: SearchScope): Lookup {
  const { indexed } = dialect;
  const value = sql`${x}.value`;
  switch (comparator) {
    case 'equals':
      return { ...inRange(indexed.isOneOf(value, [searched])), isPoint: true };
    case 'canonical': {
      const scans = canonicalRanges(searched, value, indexed);
      return { table: 'uri', condition: anyOf(scans), scans };
    }
    case 'not-canonical':
      return { table: 'uri', condition: negation(anyOf(canonicalRanges(searched, value, indexed))) };
    case 'starts-with':
      return inRange(indexed.startsWith(value, searched));
    case 'below': {
      const scans = [
        indexed.isOneOf(value, [searched]),
        indexed.startsWith(value, searched.endsWith('/') ? searched : `${searched}/`),
      ];
      return { table: 'uri', condition: anyOf(scans), scans };
    }
    case 'above': {
      const asPath = sql`CASE WHEN ${dialect.endsWith(value, '/')} THEN ${value} ELSE ${value} || '/' END`;
      return {
        table: 'uri',
        condition: sql`(${value} = ${searched} OR ${dialect.beginsWith(sql`${searched}`, asPath)})`,
      };
    }
    case 'ends-with':
      return { table: 'uri', condition: dialect.endsWith(value, searched) };
    case 'contains':
      return { table: 'uri', condition: dialect.contains(value, sql`${searched}`) };
    case 'not-equals':
      return { table: 'uri', condition: sql`${value} <> ${searched}` };
  }
}

function inRanges(scans: readonly Sql[]): Lookup {
  return { table: 'string', condition: anyOf(scans), scans };
}

function inRange(condition: Sql): Lookup {
  return { table: 'uri', condition, scans: [condition] };
}
