import { describe, expect, test } from 'vitest';
import { normalizeEmail, uniqueKeysOf, userEmailKey } from '../../src/access/write/stamp.js';

const keys = (resourceType: string, elements: object): readonly string[] =>
  uniqueKeysOf({ resourceType, id: '1', ...elements });

describe('no two resources can share', () => {
  test('the e-mail of a User at one scope, in any spelling', () => {
    expect(keys('User', { email: 'Ann@X.org' })).toEqual(['User.email= ann@x.org']);
    expect(keys('User', { email: ' ann@x.org ' })).toEqual(['User.email= ann@x.org']);
    expect(keys('User', { email: 'ann@x.org', project: { reference: 'Project/1' } })).toEqual([
      'User.email=Project/1 ann@x.org',
    ]);
    expect(userEmailKey('ANN@x.org', 'Project/1')).toBe('User.email=Project/1 ann@x.org');
    expect(normalizeEmail('Z\u0065\u0301@x.org')).toBe('z\u00e9@x.org');
  });

  test('the externalId of a membership, exactly as written', () => {
    expect(keys('ProjectMembership', { externalId: 'A 1 ' })).toEqual(['ProjectMembership.externalId=A 1 ']);
  });

  test.each<[string, string, object]>([
    ['a User without an e-mail', 'User', {}],
    ['an e-mail that is not text', 'User', { email: 1 }],
    ['an e-mail of another type', 'Patient', { email: 'ann@x.org', externalId: '1' }],
    ['a membership without an externalId', 'ProjectMembership', { email: 'ann@x.org' }],
    ['an externalId that is not text', 'ProjectMembership', { externalId: 1 }],
    ['an externalId of a User', 'User', { externalId: '1' }],
  ])('%s is not unique', (_, type, elements) => {
    expect(keys(type, elements)).toEqual([]);
  });

  test.each([undefined, null, 'Project/1', {}, { reference: 1 }])('a project %j is not a scope', (project) => {
    expect(keys('User', { email: 'ann@x.org', project })).toEqual(['User.email= ann@x.org']);
  });
});
