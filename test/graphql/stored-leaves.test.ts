import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { cases, SEED } from '../support/chance.js';
import { failures, messages, openClinic } from './harness.js';

const WRONG = {
  resourceType: 'Patient',
  id: 'w',
  active: 'yes',
  gender: 7,
  birthDate: ['1970-01-01'],
  multipleBirthInteger: 1.5,
  maritalStatus: 'secret',
  name: [
    { family: { text: 'secret' }, given: ['Ann', 3, null, true], text: 'Ann' },
    'secret',
    null,
    { family: 'Hill', given: 'Bo', period: ['secret'] },
  ],
  contact: { gender: 'female' },
  communication: [{ preferred: 1 }],
  contained: ['secret', { resourceType: 'Observation', id: 'o', valueQuantity: { value: '1,00' } }],
  _birthDate: 'secret',
};

describe('a stored value of the wrong type', () => {
  test('is null with an error of its own, and everything else is answered', async () => {
    const clinic = await openClinic([WRONG]);
    const result = await clinic.ask(
      `{ Patient(id: "w") {
        id active gender birthDate multipleBirthInteger maritalStatus { text } _birthDate { id }
        name { family given text period { start } }
        contact { gender }
        communication { preferred }
        contained { ... on Observation { valueQuantity { value } } }
      } }`,
    );
    expect(result.data).toEqual({
      Patient: {
        id: 'w',
        active: null,
        gender: null,
        birthDate: null,
        multipleBirthInteger: null,
        maritalStatus: null,
        _birthDate: null,
        name: [
          { family: null, given: ['Ann', null, null, null], text: 'Ann', period: null },
          null,
          null,
          { family: 'Hill', given: ['Bo'], text: null, period: null },
        ],
        // A single value in place of a list is a list of one.
        contact: [{ gender: 'female' }],
        communication: [{ preferred: null }],
        contained: [null, { valueQuantity: { value: null } }],
      },
    });
    expect(result.errors!.map(({ path, message }) => `${path!.slice(1).join('.')}: ${message}`)).toEqual([
      'active: The stored value is not of type boolean',
      'gender: The stored value is not of type code',
      'birthDate: The stored value is not of type date',
      'multipleBirthInteger: The stored value is not of type integer',
      'maritalStatus: The stored value is not of type CodeableConcept',
      '_birthDate: The stored value is not of type Element',
      'name.0.family: The stored value is not of type string',
      'name.0.given.1: The stored value is not of type string',
      'name.0.given.3: The stored value is not of type string',
      'name.1: The stored value is not of type HumanName',
      'name.3.period: The stored value is not of type Period',
      'communication.0.preferred: The stored value is not of type boolean',
      'contained.0: The stored value is not of type Resource',
      'contained.1.valueQuantity.value: The stored value is not of type decimal',
    ]);
    expect(new Set(result.errors!.map(({ extensions }) => extensions.code))).toEqual(new Set(['unprocessable']));
    expect(JSON.stringify(result)).not.toContain('secret');
    expect(failures(result)[0]).toBe('unprocessable at Patient.active (2:12)');
  });

  test('fails the request in dialect hl7, also behind the base name of a choice', async () => {
    const clinic = await openClinic([{ resourceType: 'Observation', id: '1', valueInteger: 'secret' }]);
    const result = await clinic.ask('{ Observation(id: "1") { id value } }', {}, { dialect: 'hl7' });
    expect(result.data).toBeUndefined();
    expect(messages(result)).toEqual(['The stored value is not of type integer']);
  });

  test.each([
    ['185', 185],
    ['-1.50', -1.5],
    ['1.2e-3', 0.0012],
    ['', null],
    [' 1', null],
    ['+1', null],
    ['0x10', null],
    ['Infinity', null],
    ['1e999', null],
  ])('a decimal with the text %o counts as %o', async (value, counts) => {
    const clinic = await openClinic([{ resourceType: 'Observation', id: '1', valueQuantity: { value } }]);
    const result = await clinic.ask('{ Observation(id: "1") { valueQuantity { value } } }');
    expect(result.data).toEqual({ Observation: { valueQuantity: { value: counts } } });
    expect(failures(result)).toHaveLength(counts === null ? 1 : 0);
  });

  test('is also found if fields are flattened', async () => {
    const clinic = await openClinic([WRONG]);
    const result = await clinic.ask('{ Patient(id: "w") { name @flatten @first { family given } } }');
    expect(result.data).toEqual({ Patient: { family: null, given: ['Ann', null, null, null] } });
    expect(failures(result)).toEqual([
      'unprocessable at Patient.family (1:45)',
      'unprocessable at Patient.given.1 (1:52)',
      'unprocessable at Patient.given.3 (1:52)',
    ]);
  });

  test('counts in the limit of errors', async () => {
    const clinic = await openClinic([WRONG]);
    const query = '{ Patient(id: "w") { name { given } } }';
    // Two in the first name, and the second name.
    expect(failures(await clinic.ask(query, {}, { limits: { errors: 3 } }))).toHaveLength(3);
    const refused = await clinic.ask(query, {}, { limits: { errors: 2 } });
    expect(failures(refused)).toEqual(['too-costly']);
  });
});

/** Elements of each scalar, with valid values. */
const LEAVES: readonly { readonly field: string; readonly fits: (value: unknown) => boolean }[] = [
  { field: 'active', fits: (value) => typeof value === 'boolean' },
  { field: 'gender', fits: (value) => typeof value === 'string' },
  { field: 'birthDate', fits: (value) => typeof value === 'string' },
  { field: 'implicitRules', fits: (value) => typeof value === 'string' },
  {
    field: 'multipleBirthInteger',
    fits: (value) => typeof value === 'number' && Number.isInteger(value) && Math.abs(value) < 2 ** 31,
  },
];

test('a leaf is the stored value, or null; null with an error exactly if it does not fit', async () => {
  const number = fc.oneof(fc.integer(), fc.maxSafeInteger(), fc.double({ noNaN: true, noDefaultInfinity: true }));
  const anything = fc.oneof(
    fc.string(),
    number,
    number.map(String),
    fc.boolean(),
    fc.constant(null),
    fc.jsonValue({ maxDepth: 2 }),
  );
  await fc.assert(
    fc.asyncProperty(fc.array(anything, { minLength: 5, maxLength: 5 }), async (values) => {
      const stored = Object.fromEntries(LEAVES.map(({ field }, index) => [field, values[index]]));
      const clinic = await openClinic([{ resourceType: 'Patient', id: 'p', ...stored }]);
      const result = await clinic.ask(`{ Patient(id: "p") { ${LEAVES.map(({ field }) => field).join(' ')} } }`);
      const wrong = LEAVES.filter(({ fits }, index) => values[index] !== null && !fits(values[index]));
      const wanted = LEAVES.map(({ field, fits }, index) => [field, fits(values[index]) ? values[index] : null]);
      expect(JSON.stringify(result.data)).toBe(JSON.stringify({ Patient: Object.fromEntries(wanted) }));
      expect((result.errors ?? []).map(({ path }) => path)).toEqual(wrong.map(({ field }) => ['Patient', field]));
    }),
    { seed: SEED, numRuns: cases(150, 60) },
  );
});
