import type { AnyResource } from '../../src/index.js';
import { type Criteria, R4 } from '../../src/store.js';
import type { AccessPolicy, Observation, Patient } from '@medplum/fhirtypes';
import { describe, expect, test } from 'vitest';
import { fieldPaths, readsHidden, withoutFields } from '../../src/access/fields/hidden-fields.js';
import { restrict } from '../../src/access/read/restrict.js';
import { unrestrictedRule, type AccessRule } from '../../src/access/rule.js';
import { ALL, NONE } from '../../src/search/criteria/criteria.js';
import { parseSearch } from '../../src/search/parse/parse-search.js';
import { member, overStores, system } from '../repository/harness.js';

describe('a resource without hidden fields', () => {
  const patient: AnyResource = {
    resourceType: 'Patient',
    id: 'p',
    birthDate: '2001',
    _birthDate: { extension: [{ url: 'http://x', valueString: 'y' }] },
    deceasedDateTime: '2020',
    name: [{ family: 'A', given: ['B', null], _given: [null, { id: 'g' }] }, { family: 'C' }],
    contact: [{ name: { family: 'D', given: ['E'] }, gender: 'male' }],
    maritalStatus: { text: 'x' },
    communication: [{ language: { text: 'x' } }, { language: { text: 'y' } }],
    identifier: [{ value: '1' }, { system: 's', value: '2' }, { value: '3' }],
    extension: [{ url: 'http://z', valueBoolean: true }],
  } as AnyResource;

  test.each<[string, string, object]>([
    ['a field and the extensions beside it', 'birthDate', { birthDate: undefined, _birthDate: undefined }],
    ['every form of a choice', 'deceased', { deceasedDateTime: undefined }],
    ['one form of a choice', 'deceasedDateTime', { deceasedDateTime: undefined }],
    ['a part of every item', 'name.given', { name: [{ family: 'A' }, { family: 'C' }] }],
    ['a part of a part', 'contact.name.family', { contact: [{ name: { given: ['E'] }, gender: 'male' }] }],
    ['extensions', 'extension', { extension: undefined }],
    [
      'parts that become empty, in a list and around it',
      'contact.gender',
      { contact: [{ name: { family: 'D', given: ['E'] } }] },
    ],
    ['an object of which nothing is left', 'maritalStatus.text', { maritalStatus: undefined }],
    ['a list of which nothing is left', 'communication.language', { communication: undefined }],
    ['items of which nothing is left', 'identifier.value', { identifier: [{ system: 's' }] }],
    ['nothing if the field is absent', 'photo', {}],
  ])('lacks %s', (_, field, difference) => {
    const expected = JSON.parse(JSON.stringify({ ...patient, ...difference })) as AnyResource;
    expect(withoutFields(patient, fieldPaths(R4, 'Patient', field))).toEqual(expected);
  });

  test('keeps its type and id, and leaves the original unchanged', () => {
    const before = structuredClone(patient);
    expect(withoutFields(patient, ['id', 'resourceType', 'name'])).toMatchObject({ resourceType: 'Patient', id: 'p' });
    expect(patient).toEqual(before);
  });
});

describe('a search parameter reads', () => {
  test.each<[string, string, string, boolean]>([
    ['Patient', 'birthdate', 'birthDate', true],
    ['Patient', 'gender', 'birthDate', false],
    ['Patient', 'family', 'name', true],
    ['Patient', 'family', 'name.family', true],
    ['Patient', 'family', 'name.given', false],
    ['Patient', 'name', 'name.given', true],
    ['Patient', 'death-date', 'deceased', true],
    ['Patient', 'death-date', 'deceasedDateTime', true],
    ['Patient', 'deceased', 'deceased', true],
    ['Patient', 'email', 'telecom', true],
    ['Patient', 'address-city', 'address', true],
    ['Patient', 'address-city', 'address.city', true],
    ['Patient', 'address-city', 'address.line', false],
    ['Patient', '_tag', 'meta', true],
    ['Patient', 'organization:identifier', 'managingOrganization', true],
    ['Observation', 'value-quantity', 'value', true],
    ['Observation', 'value-quantity', 'valueQuantity', true],
    ['Observation', 'value-quantity', 'valueString', false],
    ['Observation', 'component-value-quantity', 'component.value', true],
    ['Observation', 'component-value-quantity', 'component.valueQuantity', true],
    ['Observation', 'combo-value-quantity', 'component.valueQuantity', true],
    ['Observation', 'code-value-quantity', 'valueQuantity', true],
    ['Observation', 'code-value-quantity', 'code', true],
    ['Observation', 'patient', 'subject', true],
    ['Observation', 'combo-code', 'component', true],
    ['Library', 'depends-on', 'relatedArtifact.type', true],
    ['Library', 'depends-on', 'relatedArtifact.label', false],
    ['Task', 'priority-order', 'priority', true],
    ['Task', 'priority-order', 'status', false],
  ])('%s?%s with %s hidden: %s', (type, code, field, reads) => {
    const hidden = fieldPaths(R4, type, field);
    expect(hidden).not.toEqual([]);
    expect(readsHidden(R4, type, code, hidden)).toBe(reads);
  });
});

describe('a question within rules', () => {
  const hide = (...fields: string[]): AccessRule => unrestrictedRule('a rule', fields);
  const only = (id: string, ...fields: string[]): AccessRule => ({
    ...hide(...fields),
    criteria: { kind: 'id', ids: [id] },
  });
  const ask = (query: string, rules: { readonly [type: string]: readonly AccessRule[] }, type = 'Patient'): Criteria =>
    restrict(
      R4,
      parseSearch(R4, type, query).criteria,
      type,
      rules[type]!,
      (reached) => rules[reached] ?? null,
      undefined,
      undefined,
    );

  test('about hidden fields has the answers of fields without values', () => {
    const rules = { Patient: [hide('birthDate')] };
    expect(ask('birthdate=2001', rules)).toEqual(NONE);
    expect(ask('birthdate:missing=true', rules)).toEqual(ALL);
    expect(ask('birthdate:missing=false', rules)).toEqual(NONE);
    expect(ask('_filter=not (birthdate eq 2001)', rules)).toEqual(ALL);
    expect(ask('_filter=birthdate eq 2001 or gender eq male', rules)).toMatchObject({ parameter: 'gender' });
    expect(ask('gender=male', rules)).toMatchObject({ kind: 'match', parameter: 'gender' });
  });

  test('asks each rule about the fields that this rule shows', () => {
    const found = ask('birthdate=2001', { Patient: [only('1', 'birthDate'), only('2')] });
    expect(found).toMatchObject({ kind: 'and', of: [{ parameter: 'birthdate' }, { kind: 'id', ids: ['2'] }] });
  });

  test('leads through chains only to visible resources, without their hidden fields', () => {
    const query = 'subject:Patient.birthdate=2001';
    expect(ask(query, { Observation: [hide()] }, 'Observation')).toEqual(NONE);
    expect(ask(query, { Observation: [hide()], Patient: [hide('birthDate')] }, 'Observation')).toEqual(NONE);
    expect(ask(query, { Observation: [hide('subject')], Patient: [hide()] }, 'Observation')).toEqual(NONE);
    expect(ask(query, { Observation: [hide()], Patient: [only('1')] }, 'Observation')).toMatchObject({
      kind: 'chain',
      of: { kind: 'and', of: [{ parameter: 'birthdate' }, { kind: 'id', ids: ['1'] }] },
    });
  });

  test('leads through _has only to visible resources, by visible references', () => {
    const query = '_has:Observation:subject:status=final';
    expect(ask(query, { Patient: [hide()] })).toEqual(NONE);
    expect(ask(query, { Patient: [hide()], Observation: [hide('subject')] })).toEqual(NONE);
    expect(ask(query, { Patient: [hide()], Observation: [hide('status')] })).toEqual(NONE);
    expect(ask(query, { Patient: [hide()], Observation: [only('o')] })).toMatchObject({
      kind: 'has',
      of: { kind: 'and', of: [{ parameter: 'status' }, { kind: 'id', ids: ['o'] }] },
    });
  });

  test('leads into contained resources only if these are visible', () => {
    const query = 'subject:Patient.birthdate=2001';
    const rules = (...hidden: string[]): { [type: string]: readonly AccessRule[] } => ({
      Observation: [hide(...hidden)],
      Patient: [hide()],
    });
    expect(ask(query, rules(), 'Observation')).not.toHaveProperty('reach');
    expect(ask(query, rules('contained'), 'Observation')).toMatchObject({ kind: 'chain', reach: 'outside' });
    expect(ask(query, rules('contained.birthDate'), 'Observation')).toMatchObject({ kind: 'chain', reach: 'outside' });
    expect(ask('composition.title=x', { Bundle: [hide('entry')], Composition: [hide()] }, 'Bundle')).toEqual(NONE);
  });

  test('does not reveal whether a hidden display exists', () => {
    const rules = { Observation: [hide('subject.display')] };
    expect(ask('subject:missing=true', rules, 'Observation')).toMatchObject({
      kind: 'and',
      of: [{ parameter: 'subject' }, { parameter: 'subject:identifier' }],
    });
    expect(ask('subject=Patient/1', rules, 'Observation')).toMatchObject({ kind: 'match', parameter: 'subject' });
  });

  test('finds nothing without a rule', () => {
    expect(restrict(R4, ALL, 'Patient', [], () => null, undefined, undefined)).toEqual(NONE);
  });
});

overStores('hidden fields', (open) => {
  const PATIENTS: readonly Patient[] = [
    { resourceType: 'Patient', id: 'a', birthDate: '2001-01-01', gender: 'male', name: [{ family: 'Z' }] },
    { resourceType: 'Patient', id: 'b', birthDate: '1999-01-01', gender: 'female', name: [{ family: 'Y' }] },
    { resourceType: 'Patient', id: 'c', gender: 'female', name: [{ family: 'X' }] },
  ];

  test.each<[string, readonly string[]]>([
    ['birthdate=2001-01-01', []],
    ['birthdate:missing=false', []],
    ['birthdate:missing=true', ['a', 'b', 'c']],
    ['birthdate=2001-01-01,1999-01-01', []],
    ['_filter=birthdate gt 2000', []],
    ['_filter=gender eq male or birthdate lt 2000', ['a']],
    ['_filter=not (birthdate gt 2000)', ['a', 'b', 'c']],
    ['_sort=birthdate', ['a', 'b', 'c']],
    ['_sort=-birthdate', ['a', 'b', 'c']],
    ['_sort=birthdate,family', ['c', 'b', 'a']],
    ['_has:Observation:subject:patient.birthdate=2001-01-01', []],
  ])('are not revealed by %s', async (query, expected) => {
    const store = open();
    const trusted = await system(store);
    for (const patient of PATIENTS) await trusted.update(patient);
    const observation: Observation = { resourceType: 'Observation', id: 'o', status: 'final', code: { text: 'x' } };
    await trusted.update({ ...observation, subject: { reference: 'Patient/a' } });
    const mine = await member(store, {
      rules: [{ resourceType: 'Patient', hiddenFields: ['birthDate'] }, { resourceType: 'Observation' }],
    });
    const found = await mine.search('Patient', `${query}&_total=accurate`);
    expect((found.entry ?? []).map(({ resource }) => resource!.id)).toEqual(expected);
    expect(found.total).toBe(expected.length);
    expect(JSON.stringify(found.entry ?? [])).not.toContain('birthDate');
  });

  test('of contained resources are not found by chains either', async () => {
    const store = open();
    const trusted = await system(store);
    await trusted.update({
      resourceType: 'Observation',
      id: 'o',
      status: 'final',
      code: { text: 'x' },
      contained: [PATIENTS[0]!],
      subject: { reference: '#a', identifier: { value: '1' } },
      encounter: { display: 'Visit' },
    });
    const found = async (rules: AccessPolicy['resource'], query: string): Promise<number | undefined> => {
      const mine = await member(store, { rules: rules! });
      return (await mine.search('Observation', `${query}&_summary=count`)).total;
    };
    const everything = [{ resourceType: 'Observation' }, { resourceType: 'Patient' }];
    const name = 'subject:Patient.family=Z';
    expect(await found(everything, name)).toBe(1);
    expect(await found([everything[0]!, { resourceType: 'Patient', hiddenFields: ['name'] }], name)).toBe(0);
    expect(await found([everything[0]!, { resourceType: 'Patient', hiddenFields: ['birthDate'] }], name)).toBe(1);
    expect(await found([everything[0]!, { resourceType: 'Patient', criteria: 'Patient?gender=male' }], name)).toBe(1);
    expect(await found([everything[0]!, { resourceType: 'Patient', criteria: 'Patient?gender=other' }], name)).toBe(0);
    expect(await found([{ resourceType: 'Observation', hiddenFields: ['contained'] }, everything[1]!], name)).toBe(0);
    expect(await found([everything[0]!], name)).toBe(0);
    // Only the contained resource shows that the subject is a Patient.
    expect(await found(everything, 'patient:missing=false')).toBe(1);
    const containedHidden = (field: string): AccessPolicy['resource'] => [
      { resourceType: 'Observation', hiddenFields: [field] },
      everything[1]!,
    ];
    for (const field of ['contained', 'contained.id']) {
      expect(await found(containedHidden(field), 'patient:missing=false')).toBe(0);
      expect(await found(containedHidden(field), 'patient:missing=true')).toBe(1);
      expect(await found(containedHidden(field), 'patient:identifier=|1')).toBe(0);
    }
    expect(await found(containedHidden('contained.birthDate'), 'patient:missing=false')).toBe(1);
    expect(await found(containedHidden('contained.birthDate'), 'patient:identifier=|1')).toBe(1);
    await trusted.update({
      ...{ resourceType: 'Observation', id: 'q', status: 'final', code: { text: 'x' } },
      subject: { reference: 'Patient/b' },
    });
    expect(await found(containedHidden('contained'), 'patient=b')).toBe(1);
    expect(await found(everything, 'encounter:missing=false')).toBe(1);
    const displayHidden = [{ resourceType: 'Observation', hiddenFields: ['encounter.display'] }];
    expect(await found(displayHidden, 'encounter:missing=false')).toBe(0);
  });

  test('of one rule are seen if another rule shows them', async () => {
    const store = open();
    const trusted = await system(store);
    for (const patient of PATIENTS) await trusted.update(patient);
    const mine = await member(store, {
      rules: [
        { resourceType: 'Patient', hiddenFields: ['birthDate', 'name'] },
        { resourceType: 'Patient', criteria: 'Patient?gender=male', hiddenFields: ['name.family'] },
      ],
    });
    expect(await mine.read('Patient', 'a')).toMatchObject({ birthDate: '2001-01-01' });
    expect(await mine.read('Patient', 'b')).not.toHaveProperty('birthDate');
    // Both hide the family name, one of them with the whole name.
    expect(JSON.stringify(await mine.read('Patient', 'a'))).not.toContain('"Z"');
    expect((await mine.search('Patient', 'birthdate=ge1990')).entry!.map(({ resource }) => resource!.id)).toEqual([
      'a',
    ]);
  });
});
