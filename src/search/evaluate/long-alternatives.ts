import type { Criteria, MatchCriteria } from '../criteria/criteria.js';
import type { ValueTest } from '../criteria/value-test.js';
import { getOrCreate, pushTo } from '../../platform/maps.js';
import type { IndexValue } from '../index/index-entry.js';
import type { SearchSubject } from './search-subject.js';
import { testValue } from './test-value.js';

/**
 * The alternatives of a long disjunction.
 *
 * PERF: for each value of a resource, one look-up finds the alternatives among a thousand codes that can pass.
 */
export class LongAlternatives {
  /** The alternatives that no text decides. */
  readonly others: readonly Criteria[];
  /** The other alternatives, by parameter and the text that a value must have. */
  readonly #byText = new Map<string, Map<string, MatchCriteria[]>>();

  constructor(alternatives: readonly Criteria[]) {
    this.others = alternatives.filter((one) => {
      const texts = one.kind === 'match' ? textsOf(one.test) : [];
      for (const text of texts) {
        const { parameter } = one as MatchCriteria;
        pushTo(
          getOrCreate(this.#byText, parameter, () => new Map<string, MatchCriteria[]>()),
          text,
          one,
        );
      }
      return texts.length === 0;
    });
  }

  /** Whether an alternative passes that is not in {@link others}. */
  somePasses({ entries }: SearchSubject): boolean {
    for (const [parameter, byText] of this.#byText) {
      for (const { value } of entries.get(parameter) ?? []) {
        const text = textOf(value);
        const possible = text === undefined ? undefined : byText.get(text);
        if (possible?.some(({ test }) => testValue(test, value)) === true) return true;
      }
    }
    return false;
  }
}

/** The strings that a passing value can have; empty if other values can pass. */
function textsOf(test: ValueTest): readonly string[] {
  switch (test.kind) {
    case 'token':
      if (test.code === undefined || test.negated === true || test.below === true) return [];
      return test.folded === undefined ? [test.code] : [test.code, test.folded];
    case 'reference':
      return test.id === undefined || test.url !== undefined || test.negated === true ? [] : [test.id];
    case 'uri':
      return test.comparator === 'equals' ? [test.value] : [];
    case 'string':
      return test.comparator === 'equals' ? [test.text] : [];
    default:
      return [];
  }
}

function textOf(value: IndexValue): string | undefined {
  switch (value.kind) {
    case 'token':
      return value.code;
    case 'reference':
      return 'id' in value ? value.id : undefined;
    case 'uri':
      return value.value;
    case 'string':
      return value.folded;
    default:
      return undefined;
  }
}
