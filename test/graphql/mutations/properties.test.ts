import { type AnyResource, FhirError, MemoryStore } from '../../../src/index.js';
import { R4 } from '../../../src/store.js';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { readInput } from '../../../src/graphql/execute/read-input.js';
import { inputFieldsOf, inputTypeName } from '../../../src/graphql/schema/input-fields.js';
import { cases, IS_WHOLE } from '../../support/chance.js';
import { sharedJson, syntheaBundles } from '../../support/shared.js';
import { openClinic, type Clinic } from './harness.js';
import { literalOf } from './literals.js';

const SCALARS: { readonly [name: string]: fc.Arbitrary<unknown> } = {
  String: fc.oneof(fc.string({ maxLength: 8 }), fc.constantFrom('2001', 'final', 'a"b\\c', 'ä€😀')),
  ID: fc.constantFrom('a', 'b-1'),
  Int: fc.integer(),
  Float: fc.double({ noNaN: true, noDefaultInfinity: true }),
  Boolean: fc.boolean(),
  ResourceInput: fc.record({ resourceType: fc.constant('Basic'), language: fc.string({ maxLength: 3 }) }),
};

/** Depth of nested values; the mutation sets the id of the outermost resource. */
const DEPTH = 2;

/** Values of an input type, some fields at a time, in lists or (as input allows) single. */
function valuesOf(type: string, depth: number): fc.Arbitrary<unknown> {
  const scalar = SCALARS[type];
  if (scalar !== undefined) return scalar;
  const fields = [...inputFieldsOf(R4, type)!.values()].filter(
    ({ name, type }) =>
      name !== 'resourceType' && (name !== 'id' || depth < DEPTH) && (depth > 0 || SCALARS[type] !== undefined),
  );
  return fc.subarray(fields, { minLength: 1, maxLength: Math.min(3, fields.length) }).chain((chosen) =>
    fc.record(
      Object.fromEntries(
        chosen.map((field) => {
          const one = valuesOf(field.type, depth - 1);
          return [
            field.name,
            field.array ? fc.array(fc.option(one, { freq: 9 }), { minLength: 1, maxLength: 2 }) : one,
          ];
        }),
      ),
    ),
  );
}

/** The result of storing a resource: its content, or the code of the error. */
async function outcome(store: () => Promise<unknown>, read: () => Promise<AnyResource>): Promise<unknown> {
  const code = await store().then(
    (result) => (result as { errors?: { extensions: { code: string } }[] } | undefined)?.errors?.[0]?.extensions.code,
    (error: unknown) => (error instanceof FhirError ? error.code : error),
  );
  if (code !== undefined) return code;
  const { meta: { lastUpdated: _, ...meta } = {}, ...content } = await read();
  return { ...content, meta };
}

const TYPES = ['Patient', 'Observation', 'Questionnaire', 'Task', 'Bundle'] as const;

test.each(TYPES)('a %s is stored the same by the repository, by a variable and by a literal', async (type) => {
  const input = inputTypeName(R4, type);
  const mutation = `mutation ($res: ${input}!) { ${type}Update(id: "x", res: $res) { id } }`;
  let stored = 0;
  await fc.assert(
    fc.asyncProperty(valuesOf(input, DEPTH), async (res) => {
      const ways = [
        (clinic: Clinic) => clinic.trusted.update({ resourceType: type, id: 'x', ...(res as object) } as never),
        (clinic: Clinic) => clinic.ask(mutation, { res: res as object }),
        (clinic: Clinic) => clinic.ask(`mutation { ${type}Update(id: "x", res: ${literalOf(res)}) { id } }`),
      ];
      const outcomes: unknown[] = [];
      for (const way of ways) {
        const clinic = await openClinic(new MemoryStore());
        outcomes.push(
          await outcome(
            () => way(clinic),
            () => clinic.trusted.read(type, 'x'),
          ),
        );
      }
      expect(outcomes[1]).toEqual(outcomes[0]);
      expect(outcomes[2]).toEqual(outcomes[0]);
      if (typeof outcomes[0] === 'object') stored += 1;
    }),
    { numRuns: cases(60, 12) },
  );
  expect(stored).toBeGreaterThan(0);
});

describe('real resources', () => {
  test('are accepted by their input types, unchanged', () => {
    const bundles = [
      ...syntheaBundles(IS_WHOLE ? 26 : 6),
      sharedJson<ReturnType<typeof syntheaBundles>[number]>('corpus/supplement.json'),
    ];
    let count = 0;
    for (const { resource } of bundles.flatMap(({ entry }) => entry)) {
      const place = { type: inputTypeName(R4, resource.resourceType), array: false };
      const { value, faults } = readInput(R4, place, resource);
      expect(faults).toEqual([]);
      expect(value).toEqual(resource);
      count += 1;
    }
    expect(count).toBeGreaterThan(IS_WHOLE ? 1000 : 300);
  });
});
