import type { CompositeCriteria, Criteria, MatchCriteria } from '../../../../search/criteria/criteria.js';
import type { QuantityTest } from '../../../../search/criteria/value-test.js';
import { type Condition, conditionsOf } from '../../../sql/pages/condition.js';
import { parameterKey, type RowScope } from '../../../sql/rows.js';
import {
  type ConditionSet,
  type KnownSets,
  type MemberCondition,
  setOfCriteria,
} from '../../../sql/skip/condition-set.js';
import type { KeySet } from '../../../sql/skip/key-set.js';
import { isOfIntervals, isRange } from '../../../sql/skip/range-tests.js';
import { inAnyUnit, setInUnit } from '../../../sql/skip/unit-sets.js';
import type { Sql } from '../../../sql/sql.js';
import { withOwnScan } from '../../scans/own-scans.js';
import type { Run } from '../../database/run.js';
import { CompositeSets } from './composite-sets.js';
import { DerivedCriteria } from './derived-criteria.js';
import { GroupSets } from './group-sets.js';
import type { LinkedSets } from './linked-sets.js';
import { OtherSets } from './other-sets.js';
import { RangeSet } from './range-set.js';
import { type KeptScan, setsOfScans } from './short-scans.js';
import { granuleOf, type SkipOrderKeys } from '../read/order-keys.js';
import type { SkipIndex } from '../read/skip-index.js';
import { orderNames, type RowName } from '../read/skip-rows.js';
import { PRESENCE, SETS, SEVERAL, SKIP_TUNING, valueName } from '../../rows/skip-row.js';
import { targetName } from './target-name.js';
import { onlyCode, TokenSets } from './token-sets.js';
import { UnitSets } from './unit-sets.js';

/**
 * Finds the sets of conditions: sets that the skip index keeps, parts of its orders, and short scans. It reads for all conditions
 * together: first the rows of codes and orders, then parts of orders and scans.
 */
export class ConditionSets implements KnownSets {
  readonly index: SkipIndex;
  readonly isForCount: boolean;
  readonly #scope: RowScope;
  readonly #run: Run;
  readonly #known = new Map<Condition, ConditionSet | undefined>();
  /** The criteria whose scans and ranges were read. */
  readonly #read = new Set<Criteria>();
  readonly #found = new Map<Criteria, ConditionSet | undefined>();
  /** The matches that scans have found; undefined if they are many. */
  readonly #scanned = new Map<Criteria, ConditionSet | undefined>();
  readonly #ranges = new Map<Criteria, RangeSet>();
  /** The sets of conditions on other resources. */
  readonly #ofLinked = new Map<Criteria, ConditionSet | undefined>();
  readonly #derived: DerivedCriteria;
  readonly #linked: LinkedSets;
  readonly #tokens: TokenSets;
  readonly #units: UnitSets;
  readonly #others: OtherSets;
  readonly #composites: CompositeSets;
  readonly #groups: GroupSets;

  /** @param isForCount see {@link KnownSets} */
  constructor(index: SkipIndex, scope: RowScope, run: Run, linked: LinkedSets, isForCount = false) {
    this.isForCount = isForCount;
    this.#linked = linked;
    this.#derived = new DerivedCriteria(scope);
    const keyOf = (parameter: string): number | undefined => this.#keyOf(parameter);
    this.#tokens = new TokenSets(index, keyOf);
    this.#units = new UnitSets(index, scope, keyOf);
    this.#others = new OtherSets(index, scope, this.#derived, this.#tokens, this.#units);
    const keyOfComponent = (code: string): number | undefined => parameterKey(scope, code) as number | undefined;
    this.#composites = new CompositeSets(index, scope, this.#derived, keyOfComponent);
    this.#groups = new GroupSets(index, scope, keyOfComponent);
    this.index = index;
    this.#scope = scope;
    this.#run = run;
  }

  get all(): KeySet {
    return this.index.all;
  }

  emptySet(): KeySet {
    return this.index.emptySet();
  }

  /** The set of each condition; undefined if finding it takes too long. */
  async prepare(conditions: readonly Condition[]): Promise<readonly (ConditionSet | undefined)[]> {
    const unknown = conditions.filter((one) => !this.#known.has(one));
    const all = unknown.map(({ criteria }) => (criteria === undefined ? [] : this.#derived.leavesOf(criteria)));
    await this.index.load([...unknown.flatMap(namesOfValue), ...all.flat(2).flatMap((one) => this.#namesOf(one))]);
    const isWhole = (one: Criteria): boolean => one.kind === 'composite' && this.#groups.isWhole(one);
    const needed = all.map((own) => own.flatMap(([leaf, ...sources]) => (isWhole(leaf) ? [leaf] : [leaf, ...sources])));
    const few = new Set((await this.#fewOf(needed)).map((one) => this.#derived.same(one)));
    const leaves = [...few].filter((one) => !this.#read.has(one));
    const groups = unknown.flatMap((one) => this.#groupOf(one) ?? []);
    for (const one of leaves) this.#addRange(one);
    await this.index.load([
      ...leaves.flatMap((one) => this.#tokens.furtherNames(one)),
      ...leaves.flatMap((one) => (one.kind === 'composite' ? this.#groups.granulesOf(one) : [])),
      ...leaves.flatMap((one) => this.#ranges.get(one)?.granules ?? []),
      ...groups.flatMap(({ order, granule }) => order.rowsOf(granule, granule)),
    ]);
    await this.#scan(leaves);
    for (const one of leaves) {
      if (one.kind === 'has' || one.kind === 'chain') this.#ofLinked.set(one, await this.#linked.find(one));
      this.#read.add(one);
    }
    for (const one of unknown) this.#known.set(one, this.#find(one));
    return conditions.map((one) => this.#known.get(one));
  }

  /** Leaves out the criteria of conditions that have too many to read each. Such a condition gets no set, or that of a unit. */
  async #fewOf(all: readonly (readonly Criteria[])[]): Promise<readonly Criteria[]> {
    if (all.flat().length <= MAX_LEAVES) return all.flat();
    await this.index.load(all.flat().flatMap((one) => this.#tokens.furtherNames(one)));
    let left = MAX_LEAVES;
    return all.flatMap((leaves) => {
      const read = leaves.filter((one) => one.kind === 'match' && this.#held(one) === undefined).length;
      if (read > left) return [];
      left -= read;
      return leaves;
    });
  }

  /** The set of a condition. {@link prepare} it first. */
  of(condition: Condition): ConditionSet | undefined {
    return this.#known.get(condition);
  }

  #find(condition: MemberCondition): ConditionSet | undefined {
    const { members, shared, criteria } = condition;
    if (members !== undefined) return { set: members, exact: true };
    const group = this.#groupOf(condition);
    if (group !== undefined) {
      const set = this.emptySet();
      group.order.addTo(set, group.granule);
      if (this.index.isLayered) set.intersect(this.all);
      return { set, exact: true };
    }
    const held = shared && this.index.setOf(shared.parameter, valueName(String(shared.value)));
    if (shared !== undefined && held !== undefined) {
      return { set: held, exact: shared.suffices || !this.index.orders.hasSeveral(shared.parameter) };
    }
    return criteria && setOfCriteria(criteria, this);
  }

  #groupOf({ group }: Condition): { readonly order: SkipOrderKeys; readonly granule: number } | undefined {
    const order = group && this.index.orders.of(group.order, group.descending);
    const granule = order && granuleOf(order, group.value);
    return granule === undefined ? undefined : { order: order!, granule };
  }

  setOf(asked: Criteria): ConditionSet | undefined {
    const criteria = this.#derived.same(asked);
    if (!this.#read.has(criteria)) return this.#ofLeaf(criteria);
    if (!this.#found.has(criteria)) this.#found.set(criteria, this.#ofLeaf(criteria));
    return this.#found.get(criteria);
  }

  #ofLeaf(criteria: Criteria): ConditionSet | undefined {
    switch (criteria.kind) {
      case 'match':
        return (
          this.#held(criteria) ??
          this.#scanned.get(criteria) ??
          this.#others.find(criteria, this) ??
          this.#inUnit(criteria)
        );
      case 'last-updated':
        return this.#ranges.get(criteria)?.find();
      case 'id':
        return this.#scanned.get(criteria);
      case 'composite':
        return this.#ofComposite(criteria);
      case 'has':
      case 'chain':
        return this.#ofLinked.get(criteria);
      default:
        return undefined;
    }
  }

  #ofComposite(criteria: CompositeCriteria): ConditionSet | undefined {
    const byParts = (): ConditionSet | undefined => this.#composites.find(criteria, (part) => this.setOf(part));
    // Of very many criteria, some have no granules read.
    return (this.#read.has(criteria) ? this.#groups.of(criteria, byParts) : undefined) ?? byParts();
  }

  /** The names of the rows that a leaf needs. */
  #namesOf(criteria: Criteria): readonly RowName[] {
    if (criteria.kind === 'last-updated') return RangeSet.namesOf(criteria, this.#scope);
    if (criteria.kind === 'composite')
      return [...this.#composites.namesOf(criteria), ...this.#groups.namesOf(criteria)];
    if (criteria.kind !== 'match' && criteria.kind !== 'missing') return [];
    const subject = this.#keyOf(criteria.parameter);
    if (subject === undefined) return [];
    const presence = { sort: SETS, subject, value: PRESENCE };
    if (criteria.kind === 'missing') return [presence];
    const isOther = this.#derived.oppositeOf(criteria) !== undefined;
    const ofOthers = isOther ? [presence, { sort: SETS, subject, value: SEVERAL }] : [];
    if (criteria.test.kind === 'token') return [...ofOthers, ...this.#tokens.namesOf(criteria)];
    if (isOther) return [...ofOthers, ...this.#units.namesOf(criteria)];
    if (!isOfIntervals(criteria.test)) return this.#targetOf(criteria);
    return [...this.#units.namesOf(criteria), ...RangeSet.namesOf(criteria, this.#scope)];
  }

  /** The row of the target that a test asks for. */
  #targetOf({ parameter, test }: MatchCriteria): readonly RowName[] {
    const value = targetName(test, this.#scope);
    const subject = this.#keyOf(parameter);
    return value === undefined || subject === undefined ? [] : [{ sort: SETS, subject, value }];
  }

  /** The set of codes or a target that many resources have. Undefined for others, which must be looked up. */
  #held(criteria: MatchCriteria): ConditionSet | undefined {
    if (criteria.test.kind === 'token') return this.#tokens.having(criteria);
    const [name] = this.#targetOf(criteria);
    const set = name && this.index.setOf(name.subject, name.value);
    return set && { set, exact: true };
  }

  present(parameter: string): KeySet | undefined {
    if (parameter.includes('$')) return undefined;
    const key = this.#keyOf(parameter);
    // A parameter without the row had no value in any resource.
    return (key === undefined ? undefined : this.index.setOf(key, PRESENCE)) ?? this.emptySet();
  }

  #keyOf(parameter: string): number | undefined {
    return parameter.includes('$') ? undefined : (parameterKey(this.#scope, parameter) as number | undefined);
  }

  /** If the set of the asked unit is known, the range is in any unit. */
  #addRange(criteria: Criteria): void {
    if (!isRange(criteria)) return;
    const isKnown = criteria.kind === 'match' && this.#units.of(criteria) !== undefined;
    const asked = isKnown ? { ...criteria, test: inAnyUnit(criteria.test as QuantityTest) } : criteria;
    const range = RangeSet.of(asked, this.index, this.#scope);
    if (range !== undefined) this.#ranges.set(criteria, range);
  }

  /** Reads the short scans, and the values that ranges need. */
  async #scan(leaves: readonly Criteria[]): Promise<void> {
    const ranges = leaves.flatMap((one) => this.#ranges.get(one) ?? []);
    const written = ranges.length === 0 ? [] : await this.index.writtenNumbers();
    if (ranges.length > 0) await this.index.loadKeys();
    const most = this.#mostScanned;
    const reads = ranges.map((one) => one.reads(written, most));
    const scans: KeptScan[] = reads.flatMap((one) => one.scans);
    for (const criteria of leaves) {
      const only = this.#onlyCode(criteria);
      if (only !== undefined) scans.push({ scan: only, keep: (set) => this.#others.keepOnly(criteria, set) });
      const scan = this.#shortScan(criteria);
      const keep = (set: KeySet | undefined): void => void this.#scanned.set(criteria, set && { set, exact: true });
      if (scan !== undefined) scans.push({ scan, keep, most });
    }
    const texts = reads.flatMap((one) => one.texts);
    const found = await setsOfScans(
      scans,
      this.index,
      this.#run,
      texts.map(({ text }) => text),
    );
    for (const [place, { keep }] of scans.entries()) keep(found.sets[place]);
    for (const [place, { keep }] of texts.entries()) keep(found.texts[place]!);
  }

  #onlyCode(criteria: Criteria): Sql | undefined {
    const opposite = this.#derived.oppositeOf(criteria);
    return opposite && this.#held(opposite) === undefined ? onlyCode(opposite, this.#scope) : undefined;
  }

  #shortScan(criteria: Criteria): Sql | undefined {
    if (criteria.kind !== 'match' && criteria.kind !== 'id') return undefined;
    if (criteria.kind === 'match') {
      if (this.#others.isKnown(criteria)) return undefined;
      if (this.#held(criteria) !== undefined) return undefined;
      const range = this.#ranges.get(criteria);
      if (range !== undefined) {
        const isScanned = range.isVague && this.#units.namesOf(criteria).length === 0;
        // PERF: a scan that surely finds too many is not begun.
        if (!isScanned || range.sureCount > this.#mostScanned) return undefined;
      }
    }
    const [condition, ...others] = conditionsOf(criteria, this.#scope).map((one) => withOwnScan(one, this.#scope));
    const isShort = condition?.direct === true || this.index.size <= MAX_SWEPT;
    return others.length > 0 || !isShort ? undefined : condition?.scan;
  }

  /** PERF: a count without the set of a condition compares all resources, which takes longer than a longer scan. */
  get #mostScanned(): number {
    return this.isForCount ? SKIP_TUNING.maxCounted : SKIP_TUNING.maxScanned;
  }

  /** The resources in a range, among those with the unit. */
  #inUnit(criteria: MatchCriteria): ConditionSet | undefined {
    const found = this.#ranges.get(criteria)?.find();
    const sets = this.#units.of(criteria);
    return sets === undefined ? found : setInUnit(found, ...sets);
  }
}

/** The names of the rows that a condition needs in addition to its criteria. */
function namesOfValue({ shared, group }: Condition): readonly RowName[] {
  const ofGroup = group === undefined ? [] : orderNames(group.order);
  if (shared === undefined) return ofGroup;
  const { parameter: subject, value } = shared;
  return [{ sort: SETS, subject, value: valueName(String(value)) }, ...orderNames(subject), ...ofGroup];
}

/**
 * The most criteria whose sets one statement reads. It has several columns for each, and PostgreSQL allows 1,664. The more
 * there are, the longer planning takes: the index finds a list of a thousand codes faster.
 */
const MAX_LEAVES = 64;

/** The most resources of a type whose values are all read for a set. */
const MAX_SWEPT = 65_536;
