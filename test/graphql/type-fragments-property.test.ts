import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { cases, SEED } from '../support/chance.js';
import { openClinic, type Sample } from './harness.js';

const RESOURCES: readonly Sample[] = [
  {
    resourceType: 'Patient',
    id: 'p',
    generalPractitioner: [{ reference: 'Practitioner/d' }, { reference: 'Organization/o' }],
    contained: [
      { resourceType: 'Organization', id: 'c', language: 'de', meta: { tag: [{ code: 'u' }, { code: 'v' }] } },
    ],
  },
  { resourceType: 'Practitioner', id: 'd', language: 'en', meta: { tag: [{ code: 'x' }, { code: 'y' }] } },
  { resourceType: 'Organization', id: 'o', implicitRules: 'http://rules.example', meta: { tag: [{ code: 'z' }] } },
];

const TYPES = ['Practitioner', 'Organization'];

const condition = fc.constantFrom('', '', '', ' @skip(if: true)', ' @include(if: $yes)', ' @skip(if: $yes)');
const alias = fc.constantFrom('', '', 'a: ', 'b: ');
const tag = fc
  .tuple(alias, fc.constantFrom('', ' @first', ' @flatten', ' @slice(fhirpath: "$index")', ' @flatten @first'))
  .map(([name, shaping]) => `${name}tag${shaping} { code }`);
const meta = fc
  .tuple(
    alias,
    fc.constantFrom('', '', ' @flatten'),
    fc.array(fc.oneof(tag, fc.constant('versionId')), { minLength: 1, maxLength: 3 }),
  )
  .map(([name, shaping, fields]) => `${name}meta${shaping} { ${fields.join(' ')} }`);
const leaf = fc
  .tuple(alias, fc.constantFrom('id', 'language', 'implicitRules', '__typename'))
  .map(([name, field]) => `${name}${field}`);
const field = fc.tuple(fc.oneof(leaf, meta), condition).map(([text, when]) => {
  const brace = text.indexOf(' {');
  return brace < 0 ? text + when : text.slice(0, brace) + when + text.slice(brace);
});
/** The fields of all resource types, with aliases, directives and repeated keys. */
const selection = fc.array(field, { minLength: 1, maxLength: 5 }).map((fields) => fields.join(' '));

for (const dialect of ['standard', 'hl7'] as const) {
  test(`a selection answers the same under fragments on types and without them (${dialect})`, async () => {
    const { ask } = await openClinic(RESOURCES);
    const query = (place: string) =>
      `query ($yes: Boolean = true) { Patient(id: "p") { generalPractitioner { resource { ${place} } } contained { ${place} } } }`;
    await fc.assert(
      fc.asyncProperty(selection, async (selected) => {
        const plain = await ask(query(selected), {}, { dialect });
        const typed = await ask(
          query(TYPES.map((type) => `... on ${type} { ${selected} }`).join(' ')),
          {},
          { dialect },
        );
        const common = await ask(query(`... on Resource { ${selected} }`), {}, { dialect });
        expect(JSON.stringify(typed.data)).toBe(JSON.stringify(plain.data));
        expect(JSON.stringify(common.data)).toBe(JSON.stringify(plain.data));
        expect(JSON.stringify(plain.data ?? {})).not.toContain('#');
        const messages = ({ errors }: typeof plain) => errors?.map(({ message }) => message.replace(/on ".*"/, ''));
        expect(messages(common)).toEqual(messages(plain));
      }),
      { seed: SEED, numRuns: cases(150, 60) },
    );
  });
}
