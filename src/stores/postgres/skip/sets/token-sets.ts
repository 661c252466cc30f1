import { codesOf, type TokenTest } from '../../../../search/criteria/value-test.js';
import type { Criteria, MatchCriteria } from '../../../../search/criteria/criteria.js';
import { type ConditionSet, union } from '../../../sql/skip/condition-set.js';
import { setOfOtherTokens } from '../../../sql/skip/other-values.js';
import { ofParameter, parameterKey, type RowScope } from '../../../sql/rows.js';
import { allOf, type Sql, sql } from '../../../sql/sql.js';
import { NO_SYSTEM } from '../../rows/dialect.js';
import { textKey, uuidText } from '../../rows/keys.js';
import type { SkipIndex } from '../read/skip-index.js';
import { inSystemName, PRESENCE, SETS, SEVERAL, systemsName, valueName } from '../../rows/skip-row.js';
import type { RowName } from '../read/skip-rows.js';

/**
 * Finds the sets of codes and systems. Load {@link namesOf} first, with the sets of resources with a value and with several;
 * then {@link furtherNames}: the systems of a code name the rows of its sets.
 */
export class TokenSets {
  readonly #index: SkipIndex;
  readonly #keyOf: (parameter: string) => number | undefined;

  /** @param keyOf the key of a parameter; undefined if the skip index has none */
  constructor(index: SkipIndex, keyOf: (parameter: string) => number | undefined) {
    this.#index = index;
    this.#keyOf = keyOf;
  }

  namesOf(criteria: Criteria): readonly RowName[] {
    const test = this.#testOf(criteria);
    if (test === undefined) return [];
    const names = test.asked.flatMap(({ code, system }) => {
      if (system === undefined) return [valueName(code!)];
      return code === undefined ? [systemsName(code), PRESENCE] : [systemsName(code)];
    });
    return inSets(test.subject, names);
  }

  furtherNames(criteria: Criteria): readonly RowName[] {
    const test = this.#testOf(criteria);
    if (test === undefined) return [];
    const { subject, asked, negated } = test;
    const all = negated ? asked.flatMap((one) => [one, ...this.#otherSystems(subject, one)]) : asked;
    return inSets(
      subject,
      all.flatMap((one) => this.#rowOf(subject, one)?.value ?? []),
    );
  }

  /** The resources with a searched value. Undefined if the skip index lacks them, because the code is not frequent. */
  having(criteria: Criteria): ConditionSet | undefined {
    const test = this.#testOf(criteria);
    if (test === undefined || test.negated) return undefined;
    return union(test.asked.map((one) => this.#having(test.subject, one)));
  }

  /** The resources with a value that is not excluded. Undefined if the skip index does not have them. */
  others(criteria: Criteria): ConditionSet | undefined {
    const test = this.#testOf(criteria);
    // A resource may have a code in two forms and no other code.
    if (test?.negated !== true || test.asked.length > 1) return undefined;
    const { subject, asked } = test;
    const [excluded] = asked as readonly [Asked];
    const equal = this.#having(subject, excluded);
    const [several, present] = [SEVERAL, PRESENCE].map((name) => this.#index.setOf(subject, name));
    if (equal?.exact !== true || several === undefined || present === undefined) return undefined;
    const others = this.#otherSystems(subject, excluded).map((one) => this.#having(subject, one)?.set);
    if (!others.every((one) => one !== undefined)) return undefined;
    return setOfOtherTokens(present, equal.set, excluded.code === undefined ? undefined : several, others);
  }

  /** Undefined for criteria that do not name codes or systems. */
  #testOf(criteria: Criteria): Test | undefined {
    if (criteria.kind !== 'match' || criteria.test.kind !== 'token') return undefined;
    const { test, parameter } = criteria;
    const [subject, asked] = [this.#keyOf(parameter), askedIn(test)];
    if (subject === undefined || asked === undefined) return undefined;
    return { subject, asked, negated: test.negated === true };
  }

  #having(subject: number, asked: Asked): ConditionSet | undefined {
    const row = this.#rowOf(subject, asked);
    if (row === undefined) return undefined;
    const set = row.value === undefined ? this.#index.emptySet() : this.#index.setOf(subject, row.value);
    return set && { set, exact: row.exact };
  }

  /** The same code of its other systems, or the other systems. */
  #otherSystems(subject: number, { code, system }: Asked): readonly Asked[] {
    const systems = system === undefined ? undefined : this.#index.systemsOf(subject, systemsName(code));
    if (systems === undefined) return [];
    return [...systems.same, ...systems.own].filter((one) => one !== system).map((one) => ({ code, system: one }));
  }

  /** The row that has the set; without a value if no resource is in it. */
  #rowOf(
    subject: number,
    { code, system }: Asked,
  ): { readonly value: string | undefined; readonly exact: boolean } | undefined {
    const whole = code === undefined ? PRESENCE : valueName(code);
    if (system === undefined) return { value: whole, exact: true };
    const systems = this.#index.systemsOf(subject, systemsName(code));
    if (systems === undefined && code !== undefined) return { value: whole, exact: false };
    if (systems === undefined) {
      // If no resource has a value, none has one of the system.
      const present = this.#index.setOf(subject, PRESENCE)?.count ?? 0;
      return present === 0 ? { value: undefined, exact: true } : undefined;
    }
    if (systems.same.includes(system)) return { value: whole, exact: true };
    return { value: systems.own.includes(system) ? inSystemName(system, code) : undefined, exact: true };
  }
}

/**
 * Selects the resources whose values are all a code of a system, if criteria ask for that. See extremes.ts for the bits.
 */
export function onlyCode({ parameter, test }: MatchCriteria, scope: RowScope): Sql | undefined {
  const [asked, folded] = (test.kind === 'token' && askedIn(test)) || [];
  const key = parameterKey(scope, parameter);
  if (asked?.code === undefined || asked.system === undefined || folded !== undefined || key === undefined)
    return undefined;
  const x = sql`x`;
  const ofCode = [ofParameter(x, key, scope), sql`x.grp = 0`, scope.dialect.codes.isOneOf(sql`x.code`, [asked.code])];
  return sql`SELECT x.resource FROM token x WHERE ${allOf([...ofCode, sql`x.extreme & 4 = 0`])}
    GROUP BY x.resource HAVING bool_and(x.system = ${asked.system})`;
}

/** A test of the codes and systems of a parameter. */
interface Test {
  readonly subject: number;
  readonly asked: readonly Asked[];
  /** True if the test excludes them. */
  readonly negated: boolean;
}

/** Values with a code, of a system (its key, as the database writes it), or both. */
export interface Asked {
  readonly code: string | undefined;
  readonly system: string | undefined;
}

/** The values that a test names or excludes. Undefined for tests that other values pass too. */
export function askedIn(test: TokenTest): readonly Asked[] | undefined {
  const { system, noSystem } = test;
  if (test.below === true || test.except !== undefined) return undefined;
  const key = noSystem === true ? NO_SYSTEM : system === undefined ? undefined : uuidText(textKey(system));
  const codes = codesOf(test);
  if (codes === undefined) return key === undefined ? undefined : [{ code: undefined, system: key }];
  return codes.map((code) => ({ code, system: key }));
}

function inSets(subject: number, values: readonly string[]): readonly RowName[] {
  return values.map((value) => ({ sort: SETS, subject, value }));
}
