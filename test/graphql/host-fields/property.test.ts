import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createFhirGraphql, defineField, MemoryStore } from '../../../src/index.js';
import { countCalls } from '../counting-store.js';
import { caller, openClinic, type Sample } from '../harness.js';

type Json = { readonly [name: string]: unknown };

const PATIENTS: readonly Sample[] = ['a', 'b', 'c'].map((id, index) => ({
  resourceType: 'Patient',
  id,
  ...(index === 1 ? {} : { birthDate: `19${index}0-01-01` }),
  ...(id === 'a' ? {} : { link: [{ other: { reference: `Patient/${id === 'b' ? 'c' : 'a'}` } }] }),
}));
const byId = new Map(PATIENTS.map((patient) => [patient.id, patient]));

let resolverCalls: string[] = [];
const year = (patient: Json, plus: number): number | null => {
  const date = patient['birthDate'];
  return typeof date === 'string' ? Number(date.slice(0, 4)) + plus : null;
};
const neighbours = (id: unknown): readonly string[] => (id === 'a' ? ['b', 'none'] : id === 'b' ? [] : ['c', 'a']);

const fields = {
  Patient: {
    year: defineField('Patient', {
      type: 'Int',
      args: { plus: 'Int! = 0' },
      needs: ['birthDate'],
      resolve(all, { plus }) {
        resolverCalls.push(`year ${plus} ${all.map(({ id }) => id).join()}`);
        return all.map((patient) => year(patient as unknown as Json, plus));
      },
    }),
    near: defineField('Patient', {
      type: '[Patient!]!',
      resolve: (all) => all.map(({ id }) => neighbours(id).map((one) => `Patient/${one}`)),
    }),
  },
};

/** A selection on Patient, as text and as a function that evaluates it naively. */
interface Part {
  readonly text: string;
  readonly value: (patient: Json) => Json;
  readonly edges: number;
  /** Whether each edge has a reference to follow. */
  readonly reaches: (patients: readonly Json[]) => boolean;
}

const always = (): boolean => true;

/** The patients that fields of these lead to, and whether there was any reference. */
function follow(
  patients: readonly Json[],
  inner: Part['reaches'],
  referencesOf: (patient: Json) => readonly string[],
): boolean {
  const references = patients.flatMap(referencesOf);
  return references.length > 0 && inner(references.flatMap((id) => byId.get(id) ?? []));
}

const linksOf = ({ link }: Json): readonly string[] =>
  ((link as readonly { other: { reference: string } }[] | undefined) ?? []).map(({ other }) =>
    other.reference.slice('Patient/'.length),
  );

const leaf = fc.oneof(
  fc.constant<Part>({ text: 'id', value: ({ id }) => ({ id }), edges: 0, reaches: always }),
  fc.constant<Part>({ text: 'year', value: (patient) => ({ year: year(patient, 0) }), edges: 0, reaches: always }),
  fc.nat({ max: 2 }).map((plus): Part => ({
    text: `y${plus}: year(plus: ${plus})`,
    value: (patient) => ({ [`y${plus}`]: year(patient, plus) }),
    edges: 0,
    reaches: always,
  })),
);

function selection(depth: number): fc.Arbitrary<Part> {
  const inner = depth === 0 ? leaf : fc.oneof({ arbitrary: leaf, weight: 2 }, nested(depth - 1));
  return fc
    .uniqueArray(inner, { minLength: 1, maxLength: 3, selector: ({ text }) => text.split(/[ :{(]/)[0] })
    .map((parts) => ({
      text: parts.map(({ text }) => text).join(' '),
      value: (patient) => Object.assign({}, ...parts.map(({ value }) => value(patient))) as Json,
      edges: parts.reduce((sum, { edges }) => sum + edges, 0),
      reaches: (patients) => parts.every(({ reaches }) => reaches(patients)),
    }));
}

function nested(depth: number): fc.Arbitrary<Part> {
  return fc.tuple(fc.boolean(), selection(depth)).map(([isNear, { text, value, edges, reaches }]): Part =>
    isNear
      ? {
          text: `near { ${text} }`,
          value: ({ id }) => ({
            near: neighbours(id).flatMap((one) => (byId.has(one) ? [value(byId.get(one)!)] : [])),
          }),
          edges: edges + 1,
          reaches: (patients) => follow(patients, reaches, ({ id }) => neighbours(id)),
        }
      : {
          text: `link { other { resource { ... on Patient { ${text} } } } }`,
          value: ({ link }) => ({
            link:
              (link as readonly { other: { reference: string } }[] | undefined)?.map(({ other }) => ({
                other: { resource: value(byId.get(other.reference.slice('Patient/'.length))!) },
              })) ?? null,
          }),
          edges: edges + 1,
          reaches: (patients) => follow(patients, reaches, linksOf),
        },
  );
}

test('random queries with fields of the host equal a naive evaluation, with a store call per edge of the plan', async () => {
  const counting = countCalls(new MemoryStore());
  await openClinic(PATIENTS, counting.store);
  const service = createFhirGraphql({ store: counting.store, fields });
  await fc.assert(
    fc.asyncProperty(selection(3), async ({ text, value, edges, reaches }) => {
      resolverCalls = [];
      counting.takeCalls();
      const { data, errors } = await service.execute(`{ PatientList { ${text} } }`, { caller });
      expect(errors).toBeUndefined();
      expect(data).toEqual({ PatientList: PATIENTS.map(value) });
      const calls = counting.takeCalls().length;
      const { plan } = await service.explain(`{ PatientList { ${text} } }`, { caller });
      const planned = plan.calls.filter(({ kind }) => kind !== 'host').length;
      expect(planned).toBeLessThanOrEqual(1 + edges);
      // Edges without a reference to follow cost nothing.
      if (reaches(PATIENTS)) expect(calls).toBe(planned);
      else expect(calls).toBeLessThanOrEqual(planned);
      for (const call of resolverCalls) {
        const ids = call.split(' ')[2]!.split(',');
        expect(new Set(ids).size, 'each parent once').toBe(ids.length);
      }
    }),
    { numRuns: 60 },
  );
});

test('fields that a query does not use change none of its store calls', async () => {
  const counting = countCalls(new MemoryStore());
  await openClinic(PATIENTS, counting.store);
  for (const query of ['{ Patient(id: "a") { id } }', '{ PatientList { link { other { resource { id } } } } }']) {
    const calls = [];
    for (const service of [
      createFhirGraphql({ store: counting.store }),
      createFhirGraphql({ store: counting.store, fields }),
    ]) {
      const { data } = await service.execute(query, { caller });
      calls.push([data, counting.takeCalls()]);
    }
    expect(calls[1]).toEqual(calls[0]);
  }
});
