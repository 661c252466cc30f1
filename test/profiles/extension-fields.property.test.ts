import { expect, test } from 'vitest';
import { extendDefinitions } from '../../src/definitions.js';
import { type AnyResource, MemoryStore } from '../../src/index.js';
import { R4 } from '../../src/store.js';
import { below, createRandom, oneOf } from '../support/kit.js';
import type { JsonObject } from '../../src/fhir/resource.js';
import { cases, SEED } from '../support/chance.js';
import { openClinic } from '../graphql/harness.js';
import { definition } from './us-core.js';

const VALUES: { readonly [type: string]: readonly unknown[] } = {
  string: ['a', 'b'],
  boolean: [true, false],
  integer: [1, 2],
  date: ['2020', '2021-01-01'],
  Coding: [{ code: 'x' }, { system: 'http://s', code: 'y' }],
};
const SELECTIONS: { readonly [type: string]: string } = { Coding: ' { system code }' };

interface Known {
  readonly url: string;
  readonly field: string;
  readonly type: string;
  readonly array: boolean;
}

function randomKnown(index: number, random: () => number): Known {
  return { url: `http://x/known-${index}`, field: `known${index}`, type: oneOf(Object.keys(VALUES), random), array: random() < 0.5 }; // prettier-ignore
}

function definitionOf({ url, type, array }: Known): AnyResource {
  return definition({
    url,
    type: 'Extension',
    context: ['Patient', 'HumanName'].map((expression) => ({ type: 'element', expression })),
    differential: { element: [{ path: 'Extension', max: array ? '*' : '1' }, { path: 'Extension.value[x]', type: [{ code: type }] }] },
  }); // prettier-ignore
}

const valueName = (type: string): string => `value${type[0]!.toUpperCase()}${type.slice(1)}`;

function randomExtensions(known: readonly Known[], random: () => number): JsonObject {
  const extension = Array.from({ length: below(5, random) }, () => {
    const { url, type } = oneOf(known, random);
    // Some data have a value of another type, or none.
    const found = random() < 0.85 ? type : oneOf(Object.keys(VALUES), random);
    return random() < 0.1 ? { url } : { url, [valueName(found)]: oneOf(VALUES[found]!, random) };
  });
  return extension.length === 0 ? {} : { extension };
}

test(`a field equals the result of extension(url:), from seed ${SEED}`, async () => {
  const random = createRandom(SEED);
  for (let round = 0; round < cases(60, 12); round += 1) {
    const known = [0, 1, 2].map((index) => randomKnown(index, random));
    const model = await extendDefinitions(R4, { profiles: known.map(definitionOf) });
    const name = Array.from({ length: below(3, random) }, () => ({ family: 'A', ...randomExtensions(known, random) }));
    const patient = { resourceType: 'Patient', id: 'p', ...(name.length === 0 ? {} : { name }), ...randomExtensions(known, random) }; // prettier-ignore
    const clinic = await openClinic([patient], new MemoryStore({ model }));
    const selection = known
      .map(
        ({ url, field, type }) =>
          `${field}${SELECTIONS[type] ?? ''} ${field}Plain: extension(url: "${url}") { value: ${valueName(type)}${SELECTIONS[type] ?? ''} }`,
      ) // prettier-ignore
      .join(' ');
    const data = (await clinic.data(`{ Patient(id: "p") { ${selection} name { ${selection} } } }`)) as {
      Patient: JsonObject & { name: readonly JsonObject[] | null };
    };
    for (const object of [data.Patient, ...(data.Patient.name ?? [])]) {
      for (const { field, array } of known) {
        const plain = (object[`${field}Plain`] ?? []) as readonly { value: unknown }[];
        const values = plain.flatMap(({ value }) => (value === null ? [] : [value]));
        const expected = array ? (values.length === 0 ? null : values) : (values[0] ?? null);
        expect([field, object[field]]).toEqual([field, expected]);
      }
    }
    // The values that are written through fields equal those that were read through them.
    const written = known.map(({ field, type }) => `${field}${SELECTIONS[type] ?? ''}`).join(' ');
    const { Patient: read } = (await clinic.data(`{ Patient(id: "p") { ${written} } }`)) as { Patient: JsonObject };
    const again = await clinic.data(`mutation ($res: PatientInput!) { PatientCreate(res: $res) { ${written} } }`, { res: read }); // prettier-ignore
    expect(again).toEqual({ PatientCreate: read });
  }
});
