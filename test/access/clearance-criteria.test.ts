import { describe, expect, test } from 'vitest';
import { clearanceCriteria, clearanceOf, readClearance } from '../../src/access/policy/clearance-criteria.js';
import { isForEmergency, isMarkedForEmergency } from '../../src/access/policy/policy-grant.js';
import { OWN_EXTENSIONS } from '../../src/fhir/own-extensions.js';

const CONFIDENTIALITY = 'http://terminology.hl7.org/CodeSystem/v3-Confidentiality';
const OTHER = 'http://example.org/labels';
const part = (url: string, value: object): object => ({ url, ...value });
const SYSTEM = part('system', { valueUri: OTHER });
const CODE = part('code', { valueCode: 'HIV' });

describe('the codes that a clearance permits', () => {
  test.each<[string, readonly string[], readonly string[]]>([
    [CONFIDENTIALITY, ['N'], ['N', 'U', 'L', 'M']],
    [CONFIDENTIALITY, ['U'], ['U']],
    [CONFIDENTIALITY, ['V', 'L'], ['V', 'L', 'U', 'M', 'N', 'R']],
    [CONFIDENTIALITY, ['x'], ['x']],
    [CONFIDENTIALITY, [], []],
    [OTHER, ['N'], ['N']],
  ])('%s %j: %j', (system, codes, except) => {
    expect(clearanceCriteria([{ system, codes }])).toMatchObject({ of: { test: { kind: 'token', system, except } } });
  });
});

describe('a clearance in an extension', () => {
  test.each([
    ['with codes', { extension: [SYSTEM, CODE] }, { system: OTHER, codes: ['HIV'] }],
    ['without codes', { extension: [SYSTEM] }, { system: OTHER, codes: [] }],
  ])('%s is valid', (_, extension, expected) => {
    expect(readClearance({ url: OWN_EXTENSIONS.clearance, ...extension })).toEqual(expected);
  });

  test.each<[string, object]>([
    ['no parts', {}],
    ['no list', { extension: 'x' }],
    ['a value beside the parts', { extension: [SYSTEM], valueCode: 'N' }],
    ['an id', { id: 'x', extension: [SYSTEM] }],
    ['no system', { extension: [CODE] }],
    ['two systems', { extension: [SYSTEM, SYSTEM] }],
    ['a part that is no object', { extension: [SYSTEM, 'ab'] }],
    ['a part that is null', { extension: [SYSTEM, null] }],
    ['a part with more', { extension: [SYSTEM, { ...CODE, id: 'x' }] }],
    ['a part without a value', { extension: [SYSTEM, { url: 'code' }] }],
    ['an unknown part', { extension: [SYSTEM, part('other', { valueCode: 'HIV' })] }],
    ['an unknown part with a URI', { extension: [part('other', { valueUri: OTHER })] }],
    ['a system as a code', { extension: [part('system', { valueCode: OTHER })] }],
    ['a code as a URI', { extension: [SYSTEM, part('code', { valueUri: OTHER })] }],
    ['an empty system', { extension: [part('system', { valueUri: '' })] }],
    ['an empty code', { extension: [SYSTEM, part('code', { valueCode: '' })] }],
    ['a system that is no text', { extension: [part('system', { valueUri: 7 })] }],
    ['a code that is no text', { extension: [SYSTEM, part('code', { valueCode: 7 })] }],
  ])('with %s is invalid', (_, extension) => {
    expect(readClearance({ url: OWN_EXTENSIONS.clearance, ...extension })).toBeUndefined();
  });

  test('that is invalid permits nothing, whatever a second clearance says', () => {
    const good = { url: OWN_EXTENSIONS.clearance, extension: [SYSTEM, CODE] };
    const bad = { url: OWN_EXTENSIONS.clearance, valueCode: 'HIV' };
    expect(clearanceOf({})).toBeUndefined();
    expect(clearanceOf({ extension: [good] })).toEqual(clearanceCriteria([{ system: OTHER, codes: ['HIV'] }]));
    for (const extension of [[bad], [good, bad], [bad, good]])
      expect(clearanceOf({ extension })).toEqual({ kind: 'none' });
  });
});

test.each([
  [[], false, false],
  [[true], true, true],
  [[false], true, false],
  [[true, false], true, false],
  [[true, true], true, true],
])('a policy with the marks %j is marked: %s, for emergencies: %s', (marks, isMarked, isFor) => {
  const extension = marks.map((valueBoolean) => ({ url: OWN_EXTENSIONS.emergencyAccess, valueBoolean }));
  expect([isMarkedForEmergency({ extension }), isForEmergency({ extension })]).toEqual([isMarked, isFor]);
});
