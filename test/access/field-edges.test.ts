import { describe, expect, test } from 'vitest';
import { hasField, withElementsOf, withoutFields } from '../../src/access/fields/hidden-fields.js';
import { hiddenByAll, maskResource, withMasked } from '../../src/access/fields/mask-resource.js';
import { compartmentCriteria } from '../../src/access/policy/policy-criteria.js';
import { unrestrictedRule, type AccessRule } from '../../src/access/rule.js';
import type { AnyResource } from '../../src/index.js';
import { R4 } from '../../src/store.js';

const patient = {
  resourceType: 'Patient',
  id: 'p',
  birthDate: '2001',
  _birthDate: { extension: [{ url: 'urn:x', valueString: 'y' }] },
  name: [
    { use: 'usual', family: 'A', given: ['B', 'C'], _given: [{ id: 'g1' }, { extension: [{ url: 'urn:x' }] }] },
    { family: 'D' },
  ],
  contact: [{ gender: 'male' }, { name: { family: 'E' } }],
  maritalStatus: { text: 'M' },
} as unknown as AnyResource;
const without = (...paths: string[]): unknown => JSON.parse(JSON.stringify(withoutFields(patient, paths)));

describe('hasField', () => {
  test.each([
    ['birthDate', true],
    ['name', true],
    ['name.given', true],
    ['name.use', true],
    ['name.period', false],
    ['name.family.x', false],
    ['contact.name.family', true],
    ['contact.name.given', false],
    ['contact.gender', true],
    ['maritalStatus.text', true],
    ['maritalStatus.coding', false],
    ['photo', false],
    ['photo.title', false],
    ['birthDate.extension', true],
    ['birthDate.nothing', false],
  ])('%s: %s', (path, there) => {
    expect(hasField(patient, path)).toBe(there);
  });
});

describe('withoutFields', () => {
  test('returns the same object if nothing is hidden', () => {
    for (const path of ['photo', 'name.period', 'contact.name.given', 'maritalStatus.coding', 'resourceType', 'id']) {
      expect(withoutFields(patient, [path]), path).toBe(patient);
    }
  });

  test('keeps the neighbors of a hidden part, and the same item objects if they are unchanged', () => {
    const seen = withoutFields(patient, ['name.use']) as unknown as { name: unknown[]; contact: unknown };
    expect(seen.name).toEqual([expect.not.objectContaining({ use: 'usual' }), { family: 'D' }]);
    expect(seen.name[1]).toBe((patient as unknown as { name: unknown[] }).name[1]);
    expect(seen.contact).toBe((patient as unknown as { contact: unknown }).contact);
  });

  test('leaves no empty object, in a list or alone', () => {
    expect(without('contact.gender')).toMatchObject({ contact: [{ name: { family: 'E' } }] });
    expect(without('contact.name.family')).toMatchObject({ contact: [{ gender: 'male' }] });
    expect(without('contact.gender', 'contact.name')).not.toHaveProperty('contact');
    expect(without('maritalStatus.text')).not.toHaveProperty('maritalStatus');
  });

  test('keeps the positions of the siblings of primitives, and drops a list that has only positions left', () => {
    expect(without('name.given.id')).toMatchObject({
      name: [{ given: ['B', 'C'], _given: [null, { extension: [{ url: 'urn:x' }] }] }, {}],
    });
    const emptied = without('name.given.id', 'name.given.extension') as { name: object[] };
    expect(emptied.name[0]).toEqual({ use: 'usual', family: 'A', given: ['B', 'C'] });
    expect(without('birthDate.extension')).not.toHaveProperty('_birthDate');
    expect(without('birthDate.extension')).toHaveProperty('birthDate', '2001');
  });

  test('ignores values that are not objects', () => {
    const odd = {
      resourceType: 'Patient',
      id: 'p',
      name: null,
      photo: 'x',
      contact: [null, 7],
    } as unknown as AnyResource;
    expect(withoutFields(odd, ['name.given', 'photo.title', 'contact.name', 'contact.name.given'])).toEqual(odd);
  });

  test('hides an inner element called id or resourceType', () => {
    const seen = withoutFields({ resourceType: 'Patient', id: 'p', name: [{ id: 'n', family: 'A' }] } as AnyResource, [
      'name.id',
    ]);
    expect(seen).toEqual({ resourceType: 'Patient', id: 'p', name: [{ family: 'A' }] });
  });
});

test('withElementsOf copies elements and their siblings from before, even if they were absent', () => {
  const after = {
    resourceType: 'Patient',
    id: 'p',
    birthDate: '1999',
    active: true,
    _active: { id: 'a' },
  } as unknown as AnyResource;
  expect(withElementsOf(patient, after, ['birthDate', 'active', 'gender'])).toEqual({
    resourceType: 'Patient',
    id: 'p',
    birthDate: '2001',
    _birthDate: { extension: [{ url: 'urn:x', valueString: 'y' }] },
  });
  expect(after).toHaveProperty('active', true);
});

describe('masks', () => {
  const rule = (hidden: readonly string[], more: Partial<AccessRule> = {}): AccessRule => ({
    ...unrestrictedRule('r', hidden),
    ...more,
  });

  test.each<[readonly (readonly string[])[], readonly string[]]>([
    [[['name']], ['name']],
    [[['name'], []], []],
    [[['name'], ['name']], ['name']],
    [[['name'], ['name.given']], ['name.given']],
    [[['name', 'photo'], ['photo']], ['photo']],
    [[['name', 'name']], ['name', 'name']],
  ])('of rules that hide %j: %j', (hidden, byAll) => {
    expect(hiddenByAll(hidden.map((fields) => rule(fields)))).toEqual(byAll);
  });

  test('inside are the masks of the rules that read', () => {
    const outer = {
      resourceType: 'Basic',
      id: 'b',
      contained: [{ resourceType: 'Patient', id: 'c', gender: 'male', birthDate: '2001' }],
    };
    const seenBy = (...rules: AccessRule[]): unknown =>
      (maskResource(outer, [rule([])], { model: R4, rulesFor: () => rules }) as unknown as typeof outer).contained[0];
    const {
      contained: [whole],
    } = outer;
    const writesOnly = rule([], { interactions: new Set(['update']) });
    const searchesOnly = rule(['birthDate'], { interactions: new Set(['search', 'update']) });
    expect(seenBy()).toEqual(whole);
    expect(seenBy(rule(['birthDate']))).toEqual({ resourceType: 'Patient', id: 'c', gender: 'male' });
    expect(seenBy(rule(['birthDate']), writesOnly)).toEqual({ resourceType: 'Patient', id: 'c', gender: 'male' });
    expect(seenBy(rule(['gender', 'birthDate']), searchesOnly)).toEqual({
      resourceType: 'Patient',
      id: 'c',
      gender: 'male',
    });
    expect(seenBy(writesOnly)).toEqual(whole);
  });

  test('of one of several contained resources keep the others, and all of them if nothing is hidden', () => {
    const [first, second] = [
      { resourceType: 'Patient', id: '1' },
      { resourceType: 'Patient', id: '2', gender: 'male' },
    ];
    const outer = { resourceType: 'Basic', id: 'b', contained: [first, second] } as unknown as AnyResource;
    const all = { model: R4, rulesFor: () => [rule(['gender'])] };
    const seen = maskResource(outer, [rule([])], all) as unknown as { contained: unknown[] };
    expect(seen.contained).toEqual([first, { resourceType: 'Patient', id: '2' }]);
    expect(seen.contained[0]).toBe(first);
    expect(maskResource(outer, [rule([])], { model: R4, rulesFor: () => [rule(['photo'])] })).toBe(outer);
  });

  test('that change nothing return the same row', () => {
    const row = { resource: patient, versionId: '1' };
    expect(withMasked(row, patient)).toBe(row);
    expect(withMasked(row, { ...patient })).not.toBe(row);
  });
});

describe('a compartment', () => {
  const kinds = (type: string, owner: string): unknown[] => {
    const criteria = compartmentCriteria(R4, type, { type: owner, id: '1' });
    return criteria.kind === 'or'
      ? criteria.of.map((one) => ('parameter' in one ? one.parameter : one.kind))
      : [criteria.kind];
  };

  test('of a Patient is that of HL7, and the compartment of all Patients only the Patient itself', () => {
    expect(kinds('Patient', 'Patient')).toEqual(['id']);
    expect(kinds('Observation', 'Patient')).toEqual(expect.arrayContaining(['subject', 'performer']));
    expect(kinds('Organization', 'Patient')).toEqual(['none']);
  });

  test('of another resource is the resource itself, and the resources that refer to it by any suitable parameter', () => {
    expect(kinds('Organization', 'Organization')).toEqual(expect.arrayContaining(['id', 'partof']));
    // A Patient refers to an Organization, but is not one.
    expect(kinds('Patient', 'Organization')).toEqual(expect.arrayContaining(['organization', 'general-practitioner']));
    expect(kinds('Patient', 'Organization')).not.toContain('link');
    // Observation.focus may refer to anything.
    expect(kinds('Observation', 'Organization')).toEqual(expect.arrayContaining(['performer', 'focus']));
    expect(kinds('Observation', 'Organization')).not.toContain('encounter');
  });
});
