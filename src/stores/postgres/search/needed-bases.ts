import type { FhirModel } from '../../../fhir/model/fhir-model.js';
import type { Criteria } from '../../../search/criteria/criteria.js';
import { parametersOf, type TypeParameter } from '../../../search/criteria/parameters-of.js';
import { linkParameter } from '../../../search/index/inside.js';
import type { SearchQuery } from '../../../store/search-query.js';
import { ownUrlRanges } from '../../sql/own-urls.js';
import { ofParameter, parameterKey, rowScope } from '../../sql/rows.js';
import { allOf, exists, negation, type Sql, sql, TRUE } from '../../sql/sql.js';
import { isRolledBack } from '../database/errors.js';
import type { Run } from '../database/run.js';
import { postgresDialect } from '../rows/dialect.js';
import type { SearchIndex } from './search.js';

/**
 * Runs searches without their base, if none of the references that they read is absolute and below that base.
 *
 * Each request over HTTP has a base, and few projects have such references. With a base, a test of a reference
 * reads two tables. One check shows whether the base
 * is needed, and its result is kept. Each statement without the base fails if such a reference has been written since,
 * as it does after a change of the index; then the search runs again with its base.
 */
export class NeededBases {
  readonly #model: FhirModel;
  /** How many searches with their base are left until the next check; 0: the base is not needed. */
  readonly #known = new Map<string, number>();

  constructor(model: FhirModel) {
    this.#model = model;
  }

  /** @param beside further parameters of the type: the parameter of a search by reference */
  async find<Index extends SearchIndex, Result>(
    query: SearchQuery,
    beside: readonly string[],
    index: Index,
    find: (query: SearchQuery, index: Index) => Promise<Result>,
  ): Promise<Result> {
    const lacks = lacksOwnUrls(query, beside, this.#model);
    if (lacks === undefined) return find(query, index);
    const local = { ...query, baseUrl: undefined };
    if (lacks === TRUE) return find(local, index);
    const name = lacks.values.join(' ');
    const known = this.#known.get(name);
    const left = known === undefined || known === 1 ? await look(lacks, index.run) : known - Math.sign(known);
    this.#note(name, left);
    if (left > 0) return find(query, index);
    try {
      return await find(local, { ...index, lacks });
    } catch (error) {
      if (!isRolledBack(error)) throw error;
      const found = await find(query, index);
      this.#note(name, SEARCHES);
      return found;
    }
  }

  #note(name: string, left: number): void {
    if (this.#known.size >= MAX_KNOWN) this.#known.clear();
    this.#known.set(name, left);
  }
}

/** The query as it would be searched now, for an explanation. */
export async function localized(
  query: SearchQuery,
  beside: readonly string[],
  model: FhirModel,
  run: Run,
): Promise<SearchQuery> {
  const lacks = lacksOwnUrls(query, beside, model);
  if (lacks === undefined || (lacks !== TRUE && (await look(lacks, run)) > 0)) return query;
  return { ...query, baseUrl: undefined };
}

async function look(lacks: Sql, run: Run): Promise<number> {
  return (await run(sql`SELECT 1 WHERE ${lacks}`)).length > 0 ? 0 : SEARCHES;
}

/** Searches with a base until the next check. */
const SEARCHES = 1_000;
const MAX_KNOWN = 4_096;

const X = sql`x`;

/** The condition that none of the query's references is below its base. Undefined: the base may be needed anyway. */
function lacksOwnUrls(query: SearchQuery, beside: readonly string[], model: FhirModel): Sql | undefined {
  const { baseUrl, project, type, criteria, sort } = query;
  if (baseUrl === undefined) return undefined;
  const dialect = postgresDialect(model);
  const used = parametersOf(type, criteria, sort, beside).filter((one) => readsReferences(one, model));
  // Components are in groups, which are not in the index by value.
  if (used.some((one) => model.searchParameter(one.type, one.parameter)?.type === 'composite')) return undefined;
  const tests = (table: Sql, all: readonly TypeParameter[], ranges: readonly Sql[]): readonly Sql[] =>
    all.flatMap((one) => {
      const scope = rowScope({ project, dialect }, one.type);
      const key = parameterKey(scope, one.parameter);
      if (key === undefined) return [];
      return negation(exists(sql`${table} x`, allOf([ofParameter(X, key, scope), sql`x.grp = 0`, ...ranges])));
    });
  const urls = ownUrlRanges(undefined, undefined, X, { project, dialect, baseUrl });
  return allOf([
    ...tests(sql`uri`, used, urls),
    // References of contained resources are in groups as well, so there must be no such resources.
    ...tests(sql`quantity`, linksInside(type, criteria, model), []),
  ]);
}

function readsReferences({ type, parameter: code }: TypeParameter, model: FhirModel): boolean {
  const parameter = model.searchParameter(type, code);
  if (parameter?.type === 'composite') return (parameter.components ?? []).some((part) => part.type === 'reference');
  return parameter?.type === 'reference';
}

/** The links to contained resources whose references the criteria read. */
function linksInside(type: string, criteria: Criteria, model: FhirModel): readonly TypeParameter[] {
  switch (criteria.kind) {
    case 'and':
    case 'or':
      return criteria.of.flatMap((one) => linksInside(type, one, model));
    case 'not':
      return linksInside(type, criteria.of, model);
    case 'has':
      return linksInside(criteria.type, criteria.of, model);
    case 'chain': {
      const { parameter, type: target, of } = criteria;
      const reads = parametersOf(target, of).some((one) => readsReferences(one, model));
      if (!reads) return [];
      return [{ type, parameter: linkParameter(parameter, target) }, ...linksInside(target, of, model)];
    }
    default:
      return [];
  }
}
