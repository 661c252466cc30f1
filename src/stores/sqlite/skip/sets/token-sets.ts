import { codesOf, type TokenTest } from '../../../../search/criteria/value-test.js';
import type { MatchCriteria } from '../../../../search/criteria/criteria.js';
import { parameterKey, type RowScope } from '../../../sql/rows.js';
import { type ConditionSet, union } from '../../../sql/skip/condition-set.js';
import type { KeySet } from '../../../sql/skip/key-set.js';
import { setOfOtherTokens } from '../../../sql/skip/other-values.js';
import { PRESENCE, SEVERAL } from '../../rows/skip-row.js';
import type { SkipIndex } from '../read/skip-index.js';

/** Finds the sets of frequent codes and of systems. */
export class TokenSets {
  readonly #index: SkipIndex;
  readonly #scope: RowScope;

  constructor(index: SkipIndex, scope: RowScope) {
    this.#index = index;
    this.#scope = scope;
  }

  /** The resources with a searched value. Undefined if the index lacks their set, because a code is not frequent. */
  having(criteria: MatchCriteria): ConditionSet | undefined {
    const test = this.#testOf(criteria);
    if (test === undefined || test.negated) return undefined;
    return union(test.asked.map((one) => this.#having(test.subject, one)));
  }

  /** The resources with a value other than an excluded one. Undefined if the index does not have them exactly. */
  others(criteria: MatchCriteria): ConditionSet | undefined {
    const test = this.#testOf(criteria);
    // A resource may have a code in two forms and no other code.
    if (test?.negated !== true || test.asked.length > 1) return undefined;
    const { subject, asked } = test;
    const [excluded] = asked as readonly [Asked];
    const equal = this.#having(subject, excluded);
    const [several, present] = [SEVERAL, PRESENCE].map((name) => this.#index.setOf(subject, name));
    if (equal?.exact !== true || several === undefined || present === undefined) return undefined;
    const others = this.#otherSystems(subject, excluded).map(
      (system) => this.#having(subject, { ...excluded, system })?.set,
    );
    if (!others.every((one) => one !== undefined)) return undefined;
    return setOfOtherTokens(present, equal.set, excluded.code === undefined ? undefined : several, others);
  }

  /** Undefined for criteria that values without the named codes and systems can pass too. */
  #testOf({ parameter, test }: MatchCriteria): Test | undefined {
    if (test.kind !== 'token' || parameter.includes('$') || test.below === true || test.except !== undefined)
      return undefined;
    const subject = parameterKey(this.#scope, parameter) as number | undefined;
    const codes = codesOf(test) ?? [undefined];
    const system = this.#systemOf(test);
    if (subject === undefined || (system === undefined && test.code === undefined)) return undefined;
    return { subject, asked: codes.map((code) => ({ code, system })), negated: test.negated === true };
  }

  #systemOf({ system, noSystem }: TokenTest): number | undefined {
    const { dialect, project } = this.#scope;
    if (noSystem === true) return dialect.noSystem as number;
    return system === undefined ? undefined : ((dialect.system(project, system) ?? UNKNOWN_SYSTEM) as number);
  }

  #having(subject: number, { code, system }: Asked): ConditionSet | undefined {
    const whole = (): KeySet | undefined => this.#index.setOf(subject, code ?? PRESENCE);
    const exactly = (set: KeySet | undefined): ConditionSet | undefined => set && { set, exact: true };
    if (system === undefined) return exactly(whole());
    const systems = this.#index.systemsOf(subject, code);
    if (systems === undefined) {
      const set = code === undefined ? undefined : whole();
      return set && { set, exact: false };
    }
    if (systems.same.includes(system)) return exactly(whole());
    if (!systems.own.includes(system)) return exactly(this.#index.emptySet());
    return exactly(this.#index.setInSystem(subject, code, system));
  }

  /** The other systems of an excluded code, or of an excluded system's parameter. */
  #otherSystems(subject: number, { code, system }: Asked): readonly number[] {
    const { same = [], own = [] } = (system !== undefined && this.#index.systemsOf(subject, code)) || {};
    return [...same, ...own].filter((one) => one !== system);
  }
}

interface Test {
  /** The key of the parameter. */
  readonly subject: number;
  readonly asked: readonly Asked[];
  readonly negated: boolean;
}

/** Values with a code, of a system, or both. */
interface Asked {
  readonly code: string | undefined;
  /** The key of the system. */
  readonly system: number | undefined;
}

/** The key of a system that no value of the project has. */
const UNKNOWN_SYSTEM = -1;
