import { requiredCodes, type ReferenceTest, type TokenTest } from '../../search/criteria/value-test.js';
import type { IndexedTest } from './operators.js';

/**
 * Merges alternatives of one kind for a parameter into sets: a thousand codes become one bound list, and the statement
 * text does not depend on their number.
 */
export function mergeTests(tests: readonly IndexedTest[]): readonly IndexedTest[] {
  if (tests.length < 2) return tests;
  const merged: IndexedTest[] = [];
  const tokens = new Map<string, { readonly test: TokenTest; readonly codes: string[] }>();
  const references = new Map<string, { readonly test: ReferenceTest; readonly ids: string[] }>();
  const uris: string[] = [];
  for (const test of tests) {
    const codes = test.kind === 'token' ? requiredCodes(test) : undefined;
    if (test.kind === 'token' && codes !== undefined) {
      const shape = JSON.stringify([test.system, test.noSystem]);
      const set = tokens.get(shape);
      if (set === undefined) tokens.set(shape, { test, codes: [...codes] });
      else set.codes.push(...codes);
    } else if (test.kind === 'reference' && test.id !== undefined && test.url === undefined && !test.negated) {
      const { id, ...rest } = test;
      const shape = JSON.stringify(test.types);
      const set = references.get(shape);
      if (set === undefined) references.set(shape, { test: rest, ids: [id] });
      else set.ids.push(id);
    } else if (test.kind === 'uri' && test.comparator === 'equals') {
      uris.push(test.value);
    } else {
      merged.push(test);
    }
  }
  for (const set of tokens.values()) merged.push({ kind: 'token-set', ...set });
  for (const set of references.values()) merged.push({ kind: 'reference-set', ...set });
  if (uris.length > 0) merged.push({ kind: 'uri-set', uris });
  return merged;
}
