import type { QuantityTest, ReferenceTest, StringTest, TokenTest, UriTest, ValueTest } from '../../search/criteria.js';
import { fold } from '../../search/fold.js';
import type { Dictionaries } from './dictionary.js';
import { dateLookup, numberLookup } from './spans.js';
import { allOf, anyOf, FALSE, negation, type Sql, sql, TRUE } from './sql.js';
import { contains, endsWith, startsWith } from './texts.js';

/**
 * Where and how a test looks at index values.
 *
 * Both forms mean the same. `condition` is the shorter one, for the few rows of a resource at hand. Each of `scans` is one
 * range of the index by value (their rows may overlap); left out where only a look at every value of the parameter helps.
 */
export interface Lookup {
  readonly table: IndexTable;
  readonly condition: Sql;
  readonly scans?: readonly Sql[];
}

export type IndexTable = 'token' | 'string' | 'date' | 'quantity' | 'reference' | 'uri';

/** What the operators need to know of the query around them. */
export interface OperatorScope {
  readonly project: string;
  readonly dictionaries: Dictionaries;
}

/** Tests that SQL can express, sets of alike ones included. `text` tests are not: their texts are not indexed. */
export type IndexedTest = Exclude<ValueTest, { readonly kind: 'text' }> | TokenSet | ReferenceSet;

/** Any of the codes, with what else the test says. */
export interface TokenSet {
  readonly kind: 'token-set';
  readonly test: TokenTest;
  readonly codes: readonly string[];
}

/** Any of the ids, in the test's types. */
export interface ReferenceSet {
  readonly kind: 'reference-set';
  readonly test: ReferenceTest;
  readonly ids: readonly string[];
}

/**
 * The places to look for values that pass a test: none where nothing can pass, two where values of the kind may be in
 * either of two tables.
 *
 * @param x the name of the index table's row in the conditions.
 */
export function lookupsFor(test: IndexedTest, x: Sql, scope: OperatorScope): readonly Lookup[] {
  switch (test.kind) {
    case 'token':
      return tokenLookups(test, test.code === undefined ? undefined : [test.code], x, scope);
    case 'token-set':
      return tokenLookups(test.test, test.codes, x, scope);
    case 'string':
      return [stringLookup(test, x)];
    case 'date':
      return [dateLookup(test, x)];
    case 'number':
      return [numberLookup(test, x, sql`${x}.system IS NULL`)];
    case 'quantity':
      return quantityLookups(test, x, scope);
    case 'reference':
      return test.url === undefined
        ? localReferenceLookups(test, test.id === undefined ? undefined : [test.id], x, scope)
        : urlReferenceLookups(test.url, test.negated ?? false, x);
    case 'reference-set':
      return localReferenceLookups(test.test, test.ids, x, scope);
    case 'uri':
      return [uriLookup(test, x)];
  }
}

/** Equal to the only one of the texts, or to any of them. */
export function isOneOf(column: Sql, texts: readonly string[]): Sql {
  if (texts.length === 1) return sql`${column} = ${texts[0]!}`;
  return sql`${column} IN (SELECT value FROM json_each(${JSON.stringify(texts)}))`;
}

function tokenLookups(
  { system, noSystem, negated }: TokenTest,
  codes: readonly string[] | undefined,
  x: Sql,
  { project, dictionaries }: OperatorScope,
): readonly Lookup[] {
  const ofCode = codes === undefined ? TRUE : isOneOf(sql`${x}.code`, codes);
  const key =
    noSystem === true ? NO_SYSTEM : system === undefined ? undefined : dictionaries.systems.find(project, system);
  const ofSystem = key !== undefined ? sql`${x}.system = ${key}` : system === undefined ? TRUE : FALSE;
  const condition = allOf([ofCode, ofSystem]);
  if (negated) return [{ table: 'token', condition: sql`(${condition}) IS NOT 1` }];
  if (condition === FALSE) return [];
  return [{ table: 'token', condition, ...(codes === undefined ? {} : { scans: [condition] }) }];
}

/** `token.system` and `quantity.system` of values without one. */
export const NO_SYSTEM = 0;

function stringLookup({ comparator, text }: StringTest, x: Sql): Lookup {
  const folded = sql`${x}.folded`;
  switch (comparator) {
    case 'starts-with':
      return ranged('string', startsWith(folded, text));
    case 'equals':
      return ranged('string', sql`${folded} = ${text}`);
    case 'exact':
      return ranged('string', sql`${folded} = ${fold(text)} AND ${x}.text = ${text}`);
    case 'ends-with':
      return { table: 'string', condition: endsWith(folded, text) };
    case 'contains':
      return { table: 'string', condition: contains(folded, text) };
    case 'not-equals':
      return { table: 'string', condition: sql`${folded} <> ${text}` };
  }
}

function quantityLookups(test: QuantityTest, x: Sql, { project, dictionaries }: OperatorScope): readonly Lookup[] {
  const { system, code } = test;
  if (system === undefined) {
    const named = code === undefined ? TRUE : sql`(${x}.code = ${code} OR ${x}.unit = ${code})`;
    return [numberLookup(test, x, allOf([sql`${x}.system IS NOT NULL`, named]))];
  }
  const key = dictionaries.systems.find(project, system);
  if (key === undefined) return [];
  const ofSystem = sql`${x}.system = ${key}`;
  return [numberLookup(test, x, code === undefined ? ofSystem : sql`${ofSystem} AND ${x}.code = ${code}`)];
}

function localReferenceLookups(
  { types, negated }: ReferenceTest,
  ids: readonly string[] | undefined,
  x: Sql,
  scope: OperatorScope,
): readonly Lookup[] {
  const targets = targetKeys(types, ids, scope);
  const condition = targets === TRUE || targets === FALSE ? targets : sql`${x}.target IN (${targets})`;
  if (negated) {
    return [
      { table: 'reference', condition: negation(condition) },
      { table: 'uri', condition: TRUE },
    ];
  }
  if (condition === FALSE) return [];
  return [{ table: 'reference', condition, ...(ids === undefined ? {} : { scans: [condition] }) }];
}

/** Keys of the resources of these types, with these ids; undefined: of any. TRUE: all there are, FALSE: none. */
function targetKeys(
  types: readonly string[] | undefined,
  ids: readonly string[] | undefined,
  { project, dictionaries }: OperatorScope,
): Sql {
  if (types === undefined) {
    if (ids === undefined) return TRUE;
    return sql`SELECT t.key FROM collection c CROSS JOIN resource t ON t.collection = c.key
      WHERE c.project = ${project} AND ${isOneOf(sql`t.id`, ids)}`;
  }
  const collections = types.flatMap((type) => dictionaries.collections.find(project, type) ?? []);
  if (collections.length === 0) return FALSE;
  const ofType =
    collections.length === 1
      ? sql`t.collection = ${collections[0]!}`
      : sql`t.collection IN (SELECT value FROM json_each(${JSON.stringify(collections)}))`;
  return sql`SELECT t.key FROM resource t WHERE ${ofType} AND ${ids === undefined ? TRUE : isOneOf(sql`t.id`, ids)}`;
}

/** A canonical without version also names every version of it. */
function urlReferenceLookups(url: string, negated: boolean, x: Sql): readonly Lookup[] {
  const value = sql`${x}.value`;
  const scans = [sql`${value} = ${url}`, ...(url.includes('|') ? [] : [startsWith(value, `${url}|`)])];
  const condition = anyOf(scans);
  if (!negated) return [{ table: 'uri', condition, scans }];
  return [
    { table: 'uri', condition: negation(condition) },
    { table: 'reference', condition: TRUE },
  ];
}

function uriLookup({ comparator, value: searched }: UriTest, x: Sql): Lookup {
  const value = sql`${x}.value`;
  switch (comparator) {
    case 'equals':
      return ranged('uri', sql`${value} = ${searched}`);
    case 'starts-with':
      return ranged('uri', startsWith(value, searched));
    case 'below': {
      const scans = [
        sql`${value} = ${searched}`,
        startsWith(value, searched.endsWith('/') ? searched : `${searched}/`),
      ];
      return { table: 'uri', condition: anyOf(scans), scans };
    }
    case 'above': {
      const asPath = sql`CASE WHEN substr(${value}, -1) = '/' THEN ${value} ELSE ${value} || '/' END`;
      return { table: 'uri', condition: sql`(${value} = ${searched} OR instr(${searched}, ${asPath}) = 1)` };
    }
    case 'ends-with':
      return { table: 'uri', condition: endsWith(value, searched) };
    case 'contains':
      return { table: 'uri', condition: contains(value, searched) };
    case 'not-equals':
      return { table: 'uri', condition: sql`${value} <> ${searched}` };
  }
}

/** A lookup whose condition is a range of the index as it stands. */
function ranged(table: IndexTable, condition: Sql): Lookup {
  return { table, condition, scans: [condition] };
}
