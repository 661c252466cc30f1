import type { ChainCriteria, Criteria, HasCriteria } from '../../../../search/criteria/criteria.js';
import { linkOf, rowCondition } from '../../../sql/conditions.js';
import { byOwnUrl } from '../../../sql/own-urls.js';
import { type Condition, conditionsOf } from '../../../sql/pages/condition.js';
import { isDirect, planRows } from '../../../sql/plan.js';
import { chainScope, innerScope, isCurrent, ofParameter, parameterKey, type RowScope } from '../../../sql/rows.js';
import { type ConditionSet, intersection, union } from '../../../sql/skip/condition-set.js';
import { KeySet } from '../../../sql/skip/key-set.js';
import { allOf, sql, type Sql, TRUE } from '../../../sql/sql.js';
import { withOwnScan } from '../../scans/own-scans.js';
import { oneResourceOf } from '../../scans/page-statement.js';
import type { Run } from '../../database/run.js';
import { setsOfScans } from './short-scans.js';
import type { SkipIndex } from '../read/skip-index.js';
import { presenceName } from '../read/skip-rows.js';

/** Finds the sets of conditions on a type. */
export interface FindsSets {
  readonly index: SkipIndex;
  /** The set of each condition; undefined if finding it takes too long. */
  prepare(conditions: readonly Condition[]): Promise<readonly (ConditionSet | undefined)[]>;
}

/** The sets of conditions on other resources: chains and `_has`. The references of the skip index connect them. */
export class LinkedSets {
  readonly #index: SkipIndex;
  readonly #scope: RowScope;
  readonly #run: Run;
  readonly #setsOf: (scope: RowScope) => Promise<FindsSets | undefined>;

  /** @param setsOf the sets of another type; undefined if it has no skip index */
  constructor(
    index: SkipIndex,
    scope: RowScope,
    run: Run,
    setsOf: (scope: RowScope) => Promise<FindsSets | undefined>,
  ) {
    this.#index = index;
    this.#scope = scope;
    this.#run = run;
    this.#setsOf = setsOf;
  }

  /** The set of a condition. Undefined if finding it takes too long. */
  async find(criteria: HasCriteria | ChainCriteria): Promise<ConditionSet | undefined> {
    // The index keeps no absolute references below the service's own base, and no references of contained resources.
    if (this.#scope.inside !== undefined || (await this.#hasOwnUrls(criteria))) return undefined;
    return criteria.kind === 'has' ? this.#having(criteria) : this.#chained(criteria);
  }

  /** PERF: few projects have such references, and checking their index takes much less than a search without sets. */
  async #hasOwnUrls({ kind, type, parameter }: HasCriteria | ChainCriteria): Promise<boolean> {
    if (this.#scope.baseUrl === undefined) return false;
    const [source, target] = kind === 'has' ? [innerScope(this.#scope, type), this.#scope.type] : [this.#scope, type];
    const key = parameterKey(source, parameter);
    return key !== undefined && (await this.#run(byOwnUrl(key, source, target))).length > 0;
  }

  /** Resources to which matches of another type refer. */
  async #having({ type, parameter, of }: HasCriteria): Promise<ConditionSet | undefined> {
    const scope = innerScope(this.#scope, type);
    const reference = parameterKey(scope, parameter) as number;
    const sets = await this.#setsOf(scope);
    const sources = sets && (await this.#matching(of, scope, sets));
    if (sources === undefined) return this.#targetsOfFew(of, scope, reference);
    const { index } = sets!;
    const set = this.#index.emptySet();
    for (const [layer, references] of (await index.references(reference)).entries()) {
      const numbers = await index.numbersOfTargets(reference, layer, this.#index);
      const targets = new KeySet(0, references.targets.size);
      references.addTargets(sources.set, targets);
      for (const place of targets.keys()) set.add(numbers[place]!);
    }
    if (this.#index.isLayered) set.intersect(this.#index.all);
    if (index.pending > 0) {
      const joined = sql`JOIN reference x ON x.resource = ${scope.row}.key AND ${this.#ofReference(reference, scope)}`;
      const pending = await this.#numbersOf(this.#pending(of, scope, index, sql`x.target`, joined));
      if (pending === undefined) return undefined;
      set.unite(pending);
    }
    return { set, exact: sources.exact };
  }

  /** Resources that refer to matches of another type. */
  async #chained(criteria: ChainCriteria): Promise<ConditionSet | undefined> {
    const none = { set: this.#index.emptySet(), exact: true };
    const inside = (await this.#hasInside(criteria)) ? await this.#inside(criteria) : none;
    return criteria.reach === 'inside' || inside === undefined
      ? inside
      : union([inside, await this.#outside(criteria)]);
  }

  /** PERF: few resources contain others, and the statement that looks for them takes a millisecond. */
  async #hasInside(criteria: ChainCriteria): Promise<boolean> {
    const link = linkOf(criteria, this.#scope);
    if (link === undefined) return false;
    const name = presenceName(link.key as number);
    await this.#index.load([name]);
    return (this.#index.setOf(name.subject, name.value)?.count ?? 0) > 0;
  }

  async #inside(criteria: ChainCriteria): Promise<ConditionSet | undefined> {
    const { scan } = planRows({ ...criteria, reach: 'inside' }, this.#scope);
    const set = scan && (await this.#numbersOf(scan));
    return set && { set, exact: true };
  }

  async #outside({ parameter, type, of }: ChainCriteria): Promise<ConditionSet | undefined> {
    const reference = parameterKey(this.#scope, parameter) as number;
    const scope = chainScope(this.#scope, type);
    const sets = await this.#setsOf(scope);
    const known = sets && (await this.#matching(of, scope, sets));
    const keys = known === undefined ? await this.#allKeys(of, scope) : await this.#pendingKeys(of, scope, sets!.index);
    if (keys === undefined) return undefined;
    const set = this.#index.emptySet();
    for (const [layer, references] of (await this.#index.references(reference)).entries()) {
      const targets = new KeySet(0, references.targets.size);
      if (known !== undefined) {
        const numbers = await this.#index.numbersOfTargets(reference, layer, sets!.index);
        for (let place = 0; place < numbers.length; place++) if (known.set.has(numbers[place]!)) targets.add(place);
      }
      references.targets.addTo(targets, keys);
      references.addSources(targets, set);
    }
    if (this.#index.isLayered) set.intersect(this.#index.all);
    return { set, exact: known?.exact !== false };
  }

  /** The matches in another type, without resources written since its index was built. */
  async #matching(criteria: Criteria, scope: RowScope, sets: FindsSets): Promise<ConditionSet | undefined> {
    const { index } = sets;
    const conditions = conditionsOf(criteria, scope).map((one) => withOwnScan(one, scope));
    const all = { set: index.all, exact: true };
    const found = intersection([all, ...(await sets.prepare(conditions))]);
    if (found === undefined || (!found.exact && found.set.count === index.all.count)) return undefined;
    for (const number of await index.writtenNumbers()) found.set.delete(number);
    return found;
  }

  /** The targets of the matches in a type without a skip index, if they are few. */
  async #targetsOfFew(criteria: Criteria, scope: RowScope, reference: number): Promise<ConditionSet | undefined> {
    const { scan, residual } = planRows(criteria, scope);
    if (!isDirect(criteria) || scan === undefined || residual !== TRUE) return undefined;
    const sources = sql`SELECT * FROM (${scan}) u LIMIT ${MAX_SOURCES + 1}`;
    const [row] = await this.#run(sql`SELECT count(*) FROM (${sources}) s`);
    if (Number(row![0]) > MAX_SOURCES) return undefined;
    const set = await this.#numbersOf(
      sql`SELECT x.target FROM (${sources}) s (key) JOIN reference x ON x.resource = s.key AND ${this.#ofReference(reference, scope)}`,
    );
    return set && { set, exact: true };
  }

  #ofReference(reference: number, scope: RowScope): Sql {
    return sql`${ofParameter(sql`x`, reference, scope)} AND x.grp = 0`;
  }

  /** All matches in a type without a skip index; undefined if there are many. */
  #allKeys(criteria: Criteria, scope: RowScope): Promise<Buffer | undefined> {
    const { scan, residual } = planRows(criteria, scope);
    const all = sql`SELECT ${scope.row}.key FROM resource ${scope.row} WHERE ${allOf([isCurrent(scope), rowCondition(criteria, scope)])}`;
    return this.#keysOf(scan !== undefined && residual === TRUE ? scan : all, MAX_LINKS);
  }

  /** The matches among resources of another type that were written since its index was built. */
  #pendingKeys(criteria: Criteria, scope: RowScope, index: SkipIndex): Promise<Buffer | undefined> | Buffer {
    if (index.pending === 0) return Buffer.alloc(0);
    return this.#keysOf(this.#pending(criteria, scope, index, sql`${scope.row}.key`, sql``), Infinity);
  }

  #pending(criteria: Criteria, scope: RowScope, index: SkipIndex, column: Sql, join: Sql): Sql {
    const { row } = scope;
    return sql`SELECT ${column} FROM (SELECT DISTINCT u.resource FROM (${index.written}) u) w
      ${oneResourceOf(scope, row, sql`w.resource`)} ${join}
      WHERE ${allOf([sql`${row}.content IS NOT NULL`, rowCondition(criteria, scope)])}`;
  }

  async #numbersOf(scan: Sql): Promise<KeySet | undefined> {
    const { sets } = await setsOfScans([{ scan }], this.#index, this.#run);
    return sets[0];
  }

  /** The bytes of the keys that a scan finds; undefined if it finds more than the limit. */
  async #keysOf(scan: Sql, limit: number): Promise<Buffer | undefined> {
    const cut = limit === Infinity ? sql`` : sql`LIMIT ${limit + 1}`;
    const [row] = await this.#run(sql`SELECT count(*), encode(string_agg(uuid_send(k.key), ''), 'base64')
      FROM (SELECT * FROM (${scan}) u ${cut}) k (key)`);
    const [count, keys] = row as readonly [unknown, string | null];
    return Number(count) > limit ? undefined : Buffer.from(keys ?? '', 'base64');
  }
}

/** Maximum resources whose references are read for a set: some milliseconds. */
const MAX_SOURCES = 8_192;

/** Maximum resources of another type that are read for a set: some milliseconds. */
const MAX_LINKS = 16_384;
