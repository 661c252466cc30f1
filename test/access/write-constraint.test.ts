import { afterAll, beforeEach, describe, expect, test } from 'vitest';
import { checkPolicies } from '../../src/access.js';
import { type AnyResource, FhirError, MemoryStore } from '../../src/index.js';
import { R4 } from '../../src/store.js';
import { assertWriteConstraint, loadForPolicies } from '../../src/access/policy/write-constraint.js';
import type { JsonObject } from '../../src/fhir/resource.js';
import { forgetFhirPath, loadFhirPath } from '../../src/fhirpath/library.js';

/** Expressions that no cache has seen. */
let serial = 0;
const fresh = (expression: string): string => `${expression} and ${(serial += 1)} > 0`;

function refusal(expression: string): unknown {
  try {
    return assertWriteConstraint(R4, expression);
  } catch (error) {
    return error;
  }
}

function policy(...resource: readonly unknown[]): JsonObject {
  return { resourceType: 'AccessPolicy', resource };
}

const CONSTRAINED = { resourceType: 'Patient', writeConstraint: [{ expression: 'true' }] };

beforeEach(() => loadFhirPath());
afterAll(() => loadFhirPath());

describe('a write constraint', () => {
  test.each(['%before.one', '%after.one', '%context.one', '%resource.one', '%rootResource.one', 'one'])(
    'reads from the resource the elements that follow its variables: %s',
    (expression) => {
      expect([...assertWriteConstraint(R4, fresh(`${expression}.exists()`))]).toEqual(['one']);
    },
  );

  test('reads no element from a variable that has no resource', () => {
    expect([...assertWriteConstraint(R4, fresh('%ucum.one.exists()'))]).toEqual([]);
  });

  test('that cannot be evaluated is refused with the reason, in the same way each time', () => {
    for (const [expression, code] of [
      [fresh('%after.('), 'invalid'],
      [fresh('%other.exists()'), 'invalid'],
      [fresh('%after.trace(1)'), 'unsupported'],
      [fresh('('.repeat(50) + 'true' + ')'.repeat(50)), 'too-costly'],
    ] as const) {
      const error = refusal(expression);
      expect(error).toBeInstanceOf(FhirError);
      expect(error).toMatchObject({ code });
      expect(refusal(expression)).toBe(error);
    }
  });

  test('is parsed once, and again for each different constraint', () => {
    const [one, other] = [fresh('%after.one.exists()'), fresh('%after.other.exists()')];
    const first = assertWriteConstraint(R4, one);
    expect([...assertWriteConstraint(R4, other)]).toEqual(['other']);
    expect(assertWriteConstraint(R4, one)).toBe(first);
  });

  test('is not remembered as refused if FHIRPath was not loaded', async () => {
    forgetFhirPath();
    const expression = fresh('%after.one.exists()');
    expect(refusal(expression)).toMatchObject({ code: 'internal' });
    await loadFhirPath();
    expect(refusal(expression)).toEqual(new Set(['one']));
  });
});

describe('FHIRPath is loaded', () => {
  const isLoadedFor = async (...policies: readonly JsonObject[]): Promise<boolean> => {
    forgetFhirPath();
    await loadForPolicies(policies);
    return !(refusal(fresh('true')) instanceof FhirError);
  };

  test.each<[string, JsonObject[]]>([
    ['a rule with a write constraint', [policy(CONSTRAINED)]],
    ['one rule of several', [policy({ resourceType: 'Patient' }, CONSTRAINED)]],
    ['one policy of several', [policy({ resourceType: 'Patient' }), policy(CONSTRAINED)]],
  ])('for %s', async (_, policies) => {
    expect(await isLoadedFor(...policies)).toBe(true);
  });

  test.each<[string, JsonObject[]]>([
    ['no policies', []],
    ['no rules', [policy()]],
    ['rules without one', [policy({ resourceType: 'Patient' }, 'text')]],
  ])('not for %s', async (_, policies) => {
    expect(await isLoadedFor(...policies)).toBe(false);
  });

  test('to check stored constraints', async () => {
    const store = new MemoryStore();
    const resource = { resourceType: 'AccessPolicy', id: 'p', resource: [{ resourceType: 'Patient', writeConstraint: [{ expression: fresh('%after.(') }] }] } as unknown as AnyResource; // prettier-ignore
    await store.commit([{ kind: 'put', key: { project: 'clinic', type: 'AccessPolicy', id: 'p' }, resource }]);
    forgetFhirPath();
    const found = [];
    for await (const { problems } of checkPolicies({ project: 'clinic' }, { store })) found.push(...problems);
    expect(found).toMatchObject([{ path: 'resource[0].writeConstraint[0].expression', severity: 'error' }]);
  });
});
