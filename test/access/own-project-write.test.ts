import { describe, expect, test } from 'vitest';
import { keepSecrets, ownProjectWrite } from '../../src/access/write/decide-trusted.js';
import type { AnyResource } from '../../src/index.js';

const project = (more: object = {}): AnyResource => ({ resourceType: 'Project', id: 'p', ...more });

function refused(field: string): unknown {
  const message = `Project.${field} is out of reach of trusted code of one project; that takes trusted code above projects`;
  return expect.objectContaining({
    code: 'forbidden',
    message,
    issues: [{ code: 'forbidden', diagnostics: message, expression: [`Project.${field}`] }],
  });
}

describe('the own Project of trusted code', () => {
  const OPERATORS = {
    active: true,
    features: ['bots'],
    link: [{ project: { reference: 'Project/other' } }],
    owner: { reference: 'User/1' },
    strictMode: true,
    superAdmin: true,
    systemSetting: [{ name: 'a', valueString: 'b' }],
  };

  test.each(Object.entries(OPERATORS))('keeps %s, which can be repeated or omitted', (name, value) => {
    const stored = project({ [name]: value, [`_${name}`]: { id: 'x' } });
    expect(ownProjectWrite(stored, project({ name: 'New' }))).toEqual({ ...stored, name: 'New' });
    expect(ownProjectWrite(stored, project({ [name]: structuredClone(value) }))).toEqual(stored);
    expect(ownProjectWrite(stored, project({ [name]: 'other' }))).toEqual(refused(name));
    expect(ownProjectWrite(stored, project({ [`_${name}`]: { id: 'y' } }))).toEqual(refused(`_${name}`));
    expect(ownProjectWrite(project(), project({ [name]: value }))).toEqual(refused(name));
  });

  test.each(['systemSecret', '_systemSecret'])('keeps %s, which cannot be sent with any value', (name) => {
    const stored = project({ [name]: 's' });
    expect(ownProjectWrite(stored, project())).toEqual(stored);
    expect(ownProjectWrite(stored, project({ [name]: 's' }))).toEqual(refused(name));
    expect(ownProjectWrite(undefined, project({ [name]: 's' }))).toEqual(refused(name));
  });

  test('can be created, but not as a super-admin project', () => {
    const asked = project({ name: 'New', strictMode: true, secret: [] });
    expect(ownProjectWrite(undefined, asked)).toBe(asked);
    expect(ownProjectWrite(undefined, project({ superAdmin: false }))).toEqual(refused('superAdmin'));
  });

  test('changes its own elements', () => {
    const asked = project({ name: 'New', secret: [{ name: 'a', valueString: 'b' }] });
    expect(ownProjectWrite(project({ name: 'Old', description: 'x' }), asked)).toStrictEqual(asked);
  });
});

describe('secrets that a write omits', () => {
  const keep = (type: string, stored: object, asked: object): unknown => {
    const { resourceType, ...rest } = keepSecrets(
      { resourceType: type, ...stored },
      { resourceType: type, ...asked },
    ) as unknown as { [name: string]: unknown };
    expect(resourceType).toBe(type);
    return rest;
  };

  test('are kept, and given secrets are stored', () => {
    expect(keep('ClientApplication', { secret: 's', name: 'A' }, { name: 'B' })).toEqual({ secret: 's', name: 'B' });
    expect(keep('ClientApplication', { secret: 's' }, { secret: 't' })).toEqual({ secret: 't' });
    expect(keep('ClientApplication', {}, { secret: 't', name: 'B' })).toEqual({ secret: 't', name: 'B' });
    expect(keep('Patient', { name: 'A' }, { active: true })).toEqual({ active: true });
    expect(keep('ClientApplication', { name: 'A' }, { name: 'B' })).toStrictEqual({ name: 'B' });
  });

  test('are kept inside an element that is kept', () => {
    const stored = { identityProvider: { clientId: 'c', clientSecret: 's', userInfoApiKey: 'k' } };
    expect(keep('ClientApplication', stored, { identityProvider: { clientId: 'd' } })).toEqual({
      identityProvider: { clientId: 'd', clientSecret: 's', userInfoApiKey: 'k' },
    });
    expect(keep('ClientApplication', stored, {})).toEqual({});
    expect(keep('ClientApplication', stored, { identityProvider: 'odd' })).toEqual({ identityProvider: 'odd' });
    expect(keep('ClientApplication', { identityProvider: 'odd' }, { identityProvider: { clientId: 'd' } })).toEqual({
      identityProvider: { clientId: 'd' },
    });
  });

  test('are kept in the list item of the same name', () => {
    const stored = { site: [null, { name: 'a', googleClientSecret: '1' }, { name: 'b', googleClientSecret: '2' }] };
    const asked = {
      site: [{ name: 'b', domain: ['x'] }, { name: 'new' }, null, { name: 'a', googleClientSecret: '3' }],
    };
    expect(keep('Project', stored, asked)).toEqual({
      site: [{ name: 'b', domain: ['x'], googleClientSecret: '2' }, { name: 'new' }, null, { name: 'a', googleClientSecret: '3' }], // prettier-ignore
    });
    expect(keep('Project', stored, { site: { name: 'a' } })).toEqual({ site: { name: 'a' } });
    expect(keep('Project', { site: { name: 'a', googleClientSecret: '1' } }, { site: [{ name: 'a' }] })).toEqual({ site: [{ name: 'a' }] }); // prettier-ignore
  });
});
