import type { Criteria, MatchCriteria } from '../../../../search/criteria/criteria.js';
import type { QuantityTest } from '../../../../search/criteria/value-test.js';
import { type Condition, conditionsOf, isOfOneTarget } from '../../../sql/pages/condition.js';
import { partWith } from '../../../sql/pages/value-range.js';
import { parameterKey, type RowScope } from '../../../sql/rows.js';
import { MadeCriteria } from '../../../sql/skip/made-criteria.js';
import { askedValues } from '../../../sql/skip/asked-values.js';
import {
  type ConditionSet,
  intersection,
  type KnownSets,
  type MemberCondition,
  setOfCriteria,
  union,
} from '../../../sql/skip/condition-set.js';
import type { KeySet } from '../../../sql/skip/key-set.js';
import { equalTestOf, setOfOthers } from '../../../sql/skip/other-values.js';
import { isOfIntervals, isRange } from '../../../sql/skip/range-tests.js';
import { askedUnit, inAnyUnit, OTHER_UNITS, setInUnit, setOfUnit, SEVERAL_UNITS } from '../../../sql/skip/unit-sets.js';
import type { Sql } from '../../../sql/sql.js';
import { resourceKey, uuidText } from '../../rows/keys.js';
import { isOfCode, withOwnScan } from '../../scans/own-scans.js';
import type { Run } from '../../database/run.js';
import type { LinkedSets } from './linked-sets.js';
import { RangeSet } from './range-set.js';
import { setsOfScans } from './short-scans.js';
import type { SkipOrderKeys } from '../read/order-keys.js';
import type { SkipIndex } from '../read/skip-index.js';
import { orderNames, type RowName } from '../read/skip-rows.js';
import { PRESENCE, SETS, SEVERAL, valueName } from '../../rows/skip-row.js';
import { onlyCode, TokenSets } from './token-sets.js';

/**
 * Finds the sets of conditions: those that the skip index keeps, parts of its orders, and short scans.
 *
 * What it takes is read for all of them together: first the rows of codes and orders, then parts of orders and scans.
 */
export class ConditionSets implements KnownSets {
  readonly index: SkipIndex;
  readonly #scope: RowScope;
  readonly #run: Run;
  readonly #known = new Map<Condition, ConditionSet | undefined>();
  /** What scans have found, by criteria; undefined: too much. */
  readonly #scanned = new Map<Criteria, ConditionSet | undefined>();
  readonly #ranges = new Map<Criteria, RangeSet>();
  /** The sets of conditions on other resources. */
  readonly #elsewhere = new Map<Criteria, ConditionSet | undefined>();
  readonly #made: MadeCriteria;
  /** The resources that have only the code that a test excludes, where they are few. */
  readonly #only = new Map<Criteria, KeySet | undefined>();
  readonly #linked: LinkedSets;
  readonly #tokens: TokenSets;

  constructor(index: SkipIndex, scope: RowScope, run: Run, linked: LinkedSets) {
    this.#linked = linked;
    this.#made = new MadeCriteria(scope);
    this.#tokens = new TokenSets(index, (parameter) => this.#keyOf(parameter));
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

  /** Those of each condition. Undefined where they take too long to find. */
  async prepare(conditions: readonly Condition[]): Promise<readonly (ConditionSet | undefined)[]> {
    const unknown = conditions.filter((one) => !this.#known.has(one));
    const all = unknown.map(({ criteria }) => (criteria === undefined ? [] : this.#made.leavesOf(criteria)));
    await this.index.load([...unknown.flatMap(namesOfValue), ...all.flat().flatMap((one) => this.#namesOf(one))]);
    const leaves = await this.#fewOf(all);
    const groups = unknown.flatMap((one) => this.#groupOf(one) ?? []);
    for (const one of leaves) this.#addRange(one);
    await this.index.load([
      ...leaves.flatMap((one) => this.#tokens.furtherNames(one)),
      ...leaves.flatMap((one) => this.#ranges.get(one)?.granules ?? []),
      ...groups.flatMap(({ order, granule }) => order.rowsOf(granule, granule)),
    ]);
    await this.#scan(leaves);
    for (const one of leaves) {
      if (one.kind === 'has' || one.kind === 'chain') this.#elsewhere.set(one, await this.#linked.find(one));
    }
    for (const one of unknown) this.#known.set(one, this.#find(one));
    return conditions.map((one) => this.#known.get(one));
  }

  /** Without those of a condition that has too many to read each; it gets no set then, or that of a unit. */
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

  /** Once it is prepared. */
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
      return { set: held, exact: shared.suffices || !this.index.hasSeveral(shared.parameter) };
    }
    return criteria && setOfCriteria(criteria, this);
  }

  /** The granule of the resources with one value, or with none; undefined where it has others, too. */
  #groupOf({ group }: Condition): { readonly order: SkipOrderKeys; readonly granule: number } | undefined {
    const order = group && this.index.order(group.order, group.descending);
    if (group === undefined || order === undefined) return undefined;
    const { starts, ties } = order;
    const granule = group.value === null ? starts.length : partWith(starts, group.value);
    const isOne = granule === starts.length || (ties.includes(granule) && starts[granule] === group.value);
    return isOne ? { order, granule } : undefined;
  }

  setOf(criteria: Criteria): ConditionSet | undefined {
    switch (criteria.kind) {
      case 'match':
        return this.#held(criteria) ?? this.#ofScan(criteria) ?? this.#inUnit(criteria) ?? this.#others(criteria);
      case 'last-updated':
        return this.#ranges.get(criteria)?.find();
      case 'id':
        return this.#ofScan(criteria);
      case 'composite':
        // The values may be in different groups, also of what surely has all of them.
        return inexact(
          union(this.#made.waysOf(criteria).map((parts) => intersection(parts.map((one) => one && this.setOf(one))))),
        );
      case 'has':
      case 'chain':
        return this.#elsewhere.get(criteria);
      default:
        return undefined;
    }
  }

  /** The names of the rows that criteria without others in them need. */
  #namesOf(criteria: Criteria): readonly RowName[] {
    if (criteria.kind === 'last-updated') return RangeSet.namesOf(criteria, this.#scope);
    if (criteria.kind !== 'match' && criteria.kind !== 'missing') return [];
    const subject = this.#keyOf(criteria.parameter);
    if (subject === undefined) return [];
    const presence = { sort: SETS, subject, value: PRESENCE };
    if (criteria.kind === 'missing') return [presence];
    const isOther = this.#made.oppositeOf(criteria) !== undefined;
    const ofOthers = isOther ? [presence, { sort: SETS, subject, value: SEVERAL }] : [];
    if (criteria.test.kind === 'token') return [...ofOthers, ...this.#tokens.namesOf(criteria)];
    if (isOther) return ofOthers;
    if (!isOfIntervals(criteria.test)) return this.#targetOf(criteria) ?? [];
    return [...this.#unitNames(criteria), ...RangeSet.namesOf(criteria, this.#scope)];
  }

  /** The rows of the unit that a test asks for, and of the resources with values in several units. */
  #unitNames({ parameter, test }: MatchCriteria): readonly RowName[] {
    const unit = test.kind === 'quantity' ? askedUnit(test, this.#scope) : undefined;
    const subject = this.#keyOf(parameter);
    if (unit === undefined || subject === undefined) return [];
    return [unit, OTHER_UNITS, SEVERAL_UNITS].map((one) => ({ sort: SETS, subject, value: valueName(one) }));
  }

  /** Their sets; undefined where no resource had a unit. */
  #unitSets(criteria: MatchCriteria): readonly [ofUnit: ConditionSet, several: KeySet] | undefined {
    const [own, others, several] = this.#unitNames(criteria).map((one) => this.index.setOf(one.subject, one.value));
    return others && several && [setOfUnit(own, others), several];
  }

  /** The row of the target that a test asks for. */
  #targetOf({ parameter, test }: MatchCriteria): readonly RowName[] | undefined {
    const asked = askedValues(test, this.#scope);
    const subject = this.#keyOf(parameter);
    if (asked === undefined || !('target' in asked) || subject === undefined) return undefined;
    const { type, id } = asked.target;
    const value = valueName(uuidText(resourceKey(this.#scope.project, type, id)));
    return [{ sort: SETS, subject, value }];
  }

  /** The set of codes or a target that many resources have. One that is not kept has to be looked up. */
  #held(criteria: MatchCriteria): ConditionSet | undefined {
    if (criteria.test.kind === 'token') return this.#tokens.having(criteria);
    const [name] = this.#targetOf(criteria) ?? [];
    const set = name && this.index.setOf(name.subject, name.value);
    return set && { set, exact: true };
  }

  /** The resources with another value than the searched ones. */
  #others(criteria: MatchCriteria): ConditionSet | undefined {
    const opposite = this.#made.oppositeOf(criteria);
    if (opposite === undefined) return undefined;
    const ofToken = this.#tokens.others(criteria);
    if (ofToken !== undefined) return ofToken;
    const [present, equal] = [this.present(criteria.parameter), this.setOf(opposite)];
    if (equal === undefined || present === undefined) return undefined;
    const only = this.#only.get(criteria);
    if (only !== undefined) return { set: present.copy().subtract(only), exact: true };
    const several = this.index.setOf(this.#keyOf(criteria.parameter)!, SEVERAL);
    // Who refers to several resources, or has several codes, has another one.
    const areOthers = isOfCode(opposite) || (isOfOneTarget(opposite) && this.#scope.baseUrl === undefined);
    if (!areOthers || several === undefined || !equal.exact) {
      return setOfOthers(present, equal, equalTestOf(criteria.test)!.isWhole ? several : undefined);
    }
    return { set: present.copy().subtract(equal.set.copy().subtract(several)), exact: true };
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

  /** In any unit, where the set of the asked one is known. */
  #addRange(criteria: Criteria): void {
    if (!isRange(criteria)) return;
    const isKnown = criteria.kind === 'match' && this.#unitSets(criteria) !== undefined;
    const asked = isKnown ? { ...criteria, test: inAnyUnit(criteria.test as QuantityTest) } : criteria;
    const range = RangeSet.of(asked, this.index, this.#scope);
    if (range !== undefined) this.#ranges.set(criteria, range);
  }

  /** Reads the short scans, and what ranges need. */
  async #scan(leaves: readonly Criteria[]): Promise<void> {
    const ranges = leaves.flatMap((one) => this.#ranges.get(one) ?? []);
    const written = ranges.length === 0 ? [] : await this.index.writtenNumbers();
    if (ranges.length > 0) await this.index.loadKeys();
    const reads = ranges.map((one) => one.reads(written));
    const scans = reads.flatMap((one) => one.scans);
    for (const criteria of leaves) {
      const only = this.#onlyCode(criteria);
      if (only !== undefined) scans.push({ scan: only, keep: (set) => void this.#only.set(criteria, set) });
      const scan = this.#shortScan(criteria);
      const keep = (set: KeySet | undefined): void => void this.#scanned.set(criteria, set && { set, exact: true });
      if (scan !== undefined) scans.push({ scan, keep });
    }
    const texts = reads.flatMap((one) => one.texts);
    const found = await setsOfScans(
      scans.map(({ scan }) => scan),
      this.index,
      this.#run,
      texts.map(({ text }) => text),
    );
    for (const [place, { keep }] of scans.entries()) keep(found.sets[place]);
    for (const [place, { keep }] of texts.entries()) keep(found.texts[place]!);
  }

  #onlyCode(criteria: Criteria): Sql | undefined {
    const opposite = this.#made.oppositeOf(criteria);
    return opposite && this.#held(opposite) === undefined ? onlyCode(opposite, this.#scope) : undefined;
  }

  #shortScan(criteria: Criteria): Sql | undefined {
    if (criteria.kind !== 'match' && criteria.kind !== 'id') return undefined;
    if (this.#made.oppositeOf(criteria) !== undefined) return undefined;
    if (criteria.kind === 'match') {
      if (this.#held(criteria) !== undefined) return undefined;
      const range = this.#ranges.get(criteria);
      if (range !== undefined && !(range.isVague && this.#unitNames(criteria).length === 0)) return undefined;
    }
    const [condition, ...others] = conditionsOf(criteria, this.#scope).map((one) => withOwnScan(one, this.#scope));
    const isShort = condition?.direct === true || this.index.size <= MAX_SWEPT;
    return others.length > 0 || !isShort ? undefined : condition?.scan;
  }

  #ofScan(criteria: Criteria): ConditionSet | undefined {
    return this.#scanned.get(criteria);
  }

  /** The resources in a range, among those with the unit. */
  #inUnit(criteria: MatchCriteria): ConditionSet | undefined {
    const found = this.#ranges.get(criteria)?.find();
    const sets = this.#unitSets(criteria);
    return sets === undefined ? found : setInUnit(found, ...sets);
  }
}

function inexact(found: ConditionSet | undefined): ConditionSet | undefined {
  return found && { set: found.set, exact: false };
}

/** The names of the rows that a condition needs in addition to its criteria. */
function namesOfValue({ shared, group }: Condition): readonly RowName[] {
  const ofGroup = group === undefined ? [] : orderNames(group.order);
  if (shared === undefined) return ofGroup;
  const { parameter: subject, value } = shared;
  return [{ sort: SETS, subject, value: valueName(String(value)) }, ...orderNames(subject), ...ofGroup];
}

/**
 * Conditions whose sets one statement reads. It has several columns for each, and PostgreSQL allows 1,664. Planning takes the
 * longer the more there are: a list of a thousand codes is found faster by its index.
 */
const MAX_LEAVES = 64;

/** Resources of a type whose values are all read for a set. */
const MAX_SWEPT = 65_536;
