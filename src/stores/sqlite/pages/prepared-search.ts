import type { SearchQuery } from '../../../store/search-query.js';
import { type RequestedPage, requestedPage } from '../../sql/page.js';
import type { RowScope } from '../../sql/rows.js';
import { chooseScan } from './choose-scan.js';
import { Guard } from '../database/guard.js';
import type { Statements } from '../database/statements.js';
import { type Condition, conditionsOf, isLinked } from '../../sql/pages/condition.js';
import { withOwnScan } from '../scans/own-scans.js';
import { Probes } from './probe.js';
import { type ConditionSets, conditionSets } from '../skip/sets/condition-sets.js';
import { SkipCache } from '../skip/read/skip-cache.js';
import { SkipIndex, type SkipSource } from '../skip/read/skip-index.js';

/** A search, its conditions and the known lengths of their scans: the starting point of every way to its page. */
export class PreparedSearch {
  readonly query: SearchQuery;
  readonly scope: RowScope;
  readonly page: RequestedPage;
  readonly probes: Probes;
  readonly #statements: Statements;
  #conditions: readonly Condition[] | undefined;
  readonly #skipSource: SkipSource;
  #skips: { readonly sets: ConditionSets | undefined } | undefined;

  /**
   * @throws FhirError `invalid` - the limit, offset or position is malformed
   */
  constructor(
    query: SearchQuery,
    scope: RowScope,
    statements: Statements,
    skipSource: SkipSource = { cache: new SkipCache(), guard: new Guard() },
  ) {
    this.#skipSource = skipSource;
    this.query = query;
    this.scope = scope;
    this.page = requestedPage(query, scope.dialect.model);
    this.probes = new Probes(statements);
    this.#statements = statements;
  }

  /** PERF: computed on demand, since a plain page by id never needs them. */
  get conditions(): readonly Condition[] {
    return (this.#conditions ??= this.#makeConditions());
  }

  /** The sets of conditions; undefined if the file has no valid skip index. Only long searches use them. */
  get skips(): ConditionSets | undefined {
    this.#skips ??= { sets: this.#findSkips() };
    return this.#skips.sets;
  }

  #findSkips(): ConditionSets | undefined {
    this.#skipSource.cache.begin();
    // Reading a small type pays if it replaces looking at many resources of another type.
    const readsFew = this.conditions.some(isLinked);
    return conditionSets(this.scope, this.#statements, (collection) =>
      SkipIndex.of(collection, this.#statements, this.#skipSource, readsFew),
    );
  }

  #makeConditions(): readonly Condition[] {
    const conditions = conditionsOf(this.query.criteria, this.scope, chooseScan(this.#statements));
    return conditions.map((one) => withOwnScan(one, this.scope, this.#statements));
  }

  /** True if the page is found from its end. */
  get isBackwards(): boolean {
    return this.page.edge?.before === true;
  }
}
