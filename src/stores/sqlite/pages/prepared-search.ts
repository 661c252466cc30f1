import type { SearchQuery } from '../../../store/search-query.js';
import { type RequestedPage, requestedPage } from '../../sql/page.js';
import { chainScope, innerScope, type RowScope } from '../../sql/rows.js';
import type { Criteria } from '../../../search/criteria/criteria.js';
import { type Condition, conditionsOf } from '../../sql/pages/condition.js';
import type { Statements } from '../database/statements.js';
import { withOwnScan } from '../scans/own-scans.js';
import { TUNING } from '../scans/tuning.js';
import { chooseScan } from './choose-scan.js';
import { Probes } from './probe.js';

/** A condition, and the number of rows of its scan. */
interface CountedScan {
  readonly condition: Condition;
  readonly rows: number;
}

/** A search, its conditions and the known lengths of their scans: the starting point of every way to its page. */
export class PreparedSearch {
  readonly page: RequestedPage;
  readonly #probes: Probes;
  #conditions: readonly Condition[] | undefined;
  #narrow: { readonly scan: CountedScan | undefined } | undefined;

  /**
   * @throws FhirError `invalid` - the limit, offset or position is malformed
   */
  constructor(
    readonly query: SearchQuery,
    readonly scope: RowScope,
    readonly statements: Statements,
  ) {
    this.page = requestedPage(query, scope.dialect.model);
    this.#probes = new Probes(statements);
  }

  /** Computed on demand, since a plain page by id never needs them. */
  get conditions(): readonly Condition[] {
    return (this.#conditions ??= this.#conditionsOf(this.query.criteria, this.scope));
  }

  /** The condition of the fewest rows, if that are few. */
  get narrow(): CountedScan | undefined {
    this.#narrow ??= { scan: this.#probes.shortestUnder(TUNING.narrow, this.#brief(this.conditions, this.scope)) };
    return this.#narrow.scan;
  }

  /**
   * The condition with the shortest scan of fewer rows. Scans are read further and further until one of them ends.
   */
  shortestScan(most: number): CountedScan | undefined {
    if (this.narrow !== undefined) return this.narrow;
    const scans = this.conditions.filter(({ scan }) => scan !== undefined);
    for (const look of [...LOOKS.filter((one) => one < most), Math.min(most, Number.MAX_SAFE_INTEGER)]) {
      const shortest = this.#probes.shortestUnder(look, scans);
      if (shortest !== undefined) return shortest;
    }
    return undefined;
  }

  /** True if the page is found from its end. */
  get isBackwards(): boolean {
    return this.page.edge?.before === true;
  }

  #conditionsOf(criteria: Criteria, scope: RowScope): readonly Condition[] {
    const conditions = conditionsOf(criteria, scope, chooseScan(this.statements));
    return conditions.map((one) => withOwnScan(one, scope));
  }

  /** The conditions whose scans give their first rows at once: index ranges, scans of few, and links from few. */
  #brief(conditions: readonly Condition[], scope: RowScope): readonly Condition[] {
    const isBrief = (one: Condition): boolean => one.direct === true || this.#isFromFew(one, scope);
    return conditions.filter((one) => isBrief(one) && one.scan !== undefined);
  }

  #isFromFew({ criteria }: Condition, scope: RowScope): boolean {
    if (criteria?.kind !== 'chain' && criteria?.kind !== 'has') return false;
    const inner = (criteria.kind === 'chain' ? chainScope : innerScope)(scope, criteria.type);
    if (inner.collection === undefined) return true;
    const conditions = this.#brief(this.#conditionsOf(criteria.of, inner), inner);
    return this.#probes.shortestUnder(TUNING.narrow, conditions) !== undefined;
  }
}

/** How far scans are read to find the shortest one, in rows. */
const LOOKS: readonly number[] = [10_000, 100_000, 1_000_000];
