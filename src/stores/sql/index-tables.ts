import type { FhirModel } from '../../fhir/model/fhir-model.js';
import type { SearchParameterType } from '../../fhir/model/definition-types.js';
import type { IndexTable } from './lookup.js';
import { type Sql, sql } from './sql.js';

/** The names of the index tables as SQL. */
export const TABLE_NAMES: { readonly [Table in IndexTable]: Sql } = {
  token: sql`token`,
  string: sql`string`,
  date: sql`date`,
  quantity: sql`quantity`,
  reference: sql`reference`,
  uri: sql`uri`,
  display: sql`display`,
};

/** The tables of index values, except `display`, which extends `token`. */
export const INDEX_TABLES = ['token', 'string', 'date', 'quantity', 'reference', 'uri'] as const;

export type ValueTable = (typeof INDEX_TABLES)[number];

/** The tables that hold values of a parameter, by its definition; all tables for a parameter without a definition. */
export function tablesOf(model: FhirModel, type: string, parameter: string): readonly ValueTable[] {
  // See index-entry.ts for the forms of codes.
  if (parameter.endsWith(':words')) return ['string'];
  if (parameter.includes(':')) return ['token'];
  const [code, component] = parameter.split('$') as [string, string | undefined];
  const definition = model.searchParameter(type, code);
  const kind = component === undefined ? definition?.type : definition?.components?.[Number(component)]?.type;
  return kind === undefined ? INDEX_TABLES : TABLES_BY_TYPE[kind];
}

const TABLES_BY_TYPE: { readonly [Type in SearchParameterType]: readonly ValueTable[] } = {
  string: ['string'],
  token: ['token'],
  date: ['date'],
  number: ['quantity'],
  quantity: ['quantity'],
  reference: ['reference', 'uri'],
  uri: ['uri'],
  composite: [],
  special: INDEX_TABLES,
};
