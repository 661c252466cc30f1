import type { Criteria, MatchCriteria } from '../criteria/criteria.js';
import type { ValueTest } from '../criteria/value-test.js';
import { getOrCreate, pushTo } from '../../platform/maps.js';
import type { IndexValue } from '../index/index-entry.js';
import type { SearchSubject } from './search-subject.js';
import { testValue } from './test-value.js';

/**
 * The alternatives of a long disjunction.
 *
 * PERF: of a thousand codes one look finds those that can pass, for each value of a resource.
 */
export class LongAlternatives {
  /** What no text decides. */
  readonly others: readonly Criteria[];
  /** By parameter and the text that a value must have. */
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

  /** Whether one passes that is not among the others. */
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
