import { describe, expect, test } from 'vitest';
import {
  guardedElements,
  resourcesInside,
  assertGuarded,
  keepFields,
  type FixedFields,
} from '../../src/access/fields/keep-fields.js';
import { unrestrictedRule, type AccessRules } from '../../src/access/rule.js';
import { type AnyResource, FhirError } from '../../src/index.js';
import { R4 } from '../../src/store.js';
import type { JsonObject } from '../../src/fhir/resource.js';

function resource(resourceType: string, more: object = {}): AnyResource {
  return { resourceType, ...more };
}

/** One rule per type, which hides these fields. */
function hiding(fields: { readonly [type: string]: readonly string[] }): AccessRules {
  return {
    model: R4,
    rulesFor: (type) => (fields[type] === undefined ? [] : [unrestrictedRule('test', fields[type])]),
  };
}

function refusal(type: string, field: string): unknown {
  return expect.objectContaining({
    code: 'forbidden',
    message: `Not allowed to write the field ${field} of ${type}`,
    issues: [{ code: 'forbidden', diagnostics: 'This field cannot be written', expression: [`${type}.${field}`] }],
  });
}

describe('guarded elements', () => {
  test('are the first elements of the hidden fields of every rule, and the secrets of the type', () => {
    const rules: AccessRules = {
      model: R4,
      rulesFor: () => [unrestrictedRule('one', ['name.given']), unrestrictedRule('two', ['birthDate'])],
    };
    expect([...guardedElements('Patient', rules)]).toEqual(['name', 'birthDate']);
    expect([...guardedElements('User', hiding({}))]).toEqual(['passwordHash', 'mfaSecret']);
    expect([...guardedElements('Patient', hiding({}))]).toEqual([]);
  });

  test('are all forms of a choice, and never the type or the id', () => {
    const forms = [...guardedElements('Patient', hiding({ Patient: ['deceasedBoolean'] }))].sort();
    expect(forms).toEqual(['deceasedBoolean', 'deceasedDateTime']);
    const rules = hiding({ Patient: ['resourceType', 'id', 'id.extension', 'status'] });
    expect([...guardedElements('Patient', rules)]).toEqual(['status']);
  });

  test('are found once per type; an unknown name has its own, which are not kept', () => {
    let asked = 0;
    const rules: AccessRules = {
      model: R4,
      rulesFor: () => {
        asked += 1;
        return [unrestrictedRule('test', ['x'])];
      },
    };
    expect([...guardedElements('Patient', rules)]).toEqual(['x']);
    expect(guardedElements('Patient', rules)).toBe(guardedElements('Patient', rules));
    guardedElements('Observation', rules);
    guardedElements('Patient', rules);
    expect(asked).toBe(2);
    expect([...guardedElements('Nonsense', rules)]).toEqual(['x']);
    guardedElements('Nonsense', rules);
    expect(asked).toBe(4);
  });
});

test('resources inside are found at every depth, and only at positions of resources', () => {
  const inner = { resourceType: 'Patient', id: 'inner' };
  const contained = { resourceType: 'Bundle', id: 'b', entry: [{ resource: inner }] };
  const outer = {
    resourceType: 'Bundle',
    contained: [contained, null, 'text', 7, { id: 'no type', resource: inner }],
    entry: { resource: inner, link: { resource: inner } },
    parameter: [{ part: [{ resource: inner }] }],
    link: [{ resource: inner }],
  } as unknown as JsonObject;
  expect(resourcesInside(outer, 'contained')).toEqual([contained, inner, inner]);
  expect(resourcesInside(outer, 'entry')).toEqual([inner]);
  expect(resourcesInside(outer, 'parameter')).toEqual([inner]);
  expect(resourcesInside(outer, 'output')).toEqual([]);
  // Next to a type, `resource` is an element of that resource, and not a position of resources.
  expect(resourcesInside({ contained: [{ ...inner, resource: { resourceType: 'User' } }] }, 'contained')).toHaveLength(
    1,
  );
  expect(resourcesInside(Object.create({ contained: [inner] }) as JsonObject, 'contained')).toEqual([]);
  expect(resourcesInside({ contained: [Object.create({ resource: inner })] }, 'contained')).toEqual([]);
});

describe('assertGuarded', () => {
  const rules = hiding({ Observation: ['note'], Patient: ['birthDate', 'gender'] });
  const observation = (more: object = {}): AnyResource => resource('Observation', more);
  const closed = { resourceType: 'Patient', id: 'c' };
  const open = { resourceType: 'Organization', id: 'o' };

  test('allows a new resource without guarded elements, and keeps nothing', () => {
    expect([...assertGuarded(observation({ status: 'final' }), null, rules)]).toEqual([]);
    expect(() => assertGuarded(observation({ note: [] }), null, rules)).toThrow(refusal('Observation', 'note'));
    expect(() => assertGuarded(observation({ _note: [] }), null, rules)).toThrow(refusal('Observation', 'note'));
  });

  test('keeps a guarded element that is sent as it is shown', () => {
    const shown = observation({ note: [{ text: 'seen' }] });
    expect([...assertGuarded(observation({ note: [{ text: 'seen' }] }), shown, rules)]).toEqual(['note']);
    expect(() => assertGuarded(observation({ note: [{ text: 'other' }] }), shown, rules)).toThrow(FhirError);
    expect(() => assertGuarded(observation(), shown, rules)).toThrow(refusal('Observation', 'note'));
  });

  test('keeps contained resources as they are shown, if elements of their types are guarded', () => {
    const shown = observation({ contained: [open, closed] });
    expect([...assertGuarded(observation({ contained: [open, closed] }), shown, rules)]).toEqual(['note', 'contained']);
    for (const contained of [[open], [open, { ...closed, active: true }], [], undefined]) {
      expect(() => assertGuarded(observation({ contained }), shown, rules)).toThrow(
        refusal('Observation', 'contained'),
      );
    }
  });

  test('lets contained resources change, if no element of their types is guarded', () => {
    const shown = observation({ contained: [open] });
    expect([...assertGuarded(observation({ contained: [{ ...open, name: 'x' }] }), shown, rules)]).toEqual(['note']);
    expect([...assertGuarded(observation({ contained: [closed] }), shown, rules)]).toEqual(['note']);
    expect([...assertGuarded(observation({ contained: [closed] }), null, rules)]).toEqual([]);
  });

  test.each(['birthDate', 'gender'])('refuses %s in a contained resource, the only guarded element', (name) => {
    const contained = [{ ...closed, [name]: 'x' }];
    for (const shown of [null, observation({ contained: [open] })]) {
      expect(() => assertGuarded(observation({ contained }), shown, rules)).toThrow(
        refusal('Observation', 'contained'),
      );
    }
  });

  test('compares a guarded element as a whole, without the resources in it', () => {
    const all = hiding({ Observation: ['contained'], Patient: ['birthDate'] });
    const shown = observation({ contained: [closed] });
    expect([...assertGuarded(shown, shown, all)]).toEqual(['contained']);
    const bornInside = observation({ contained: [{ ...closed, birthDate: '2000' }] });
    expect([...assertGuarded(bornInside, bornInside, hiding({ Observation: ['contained'] }))]).toEqual(['contained']);
  });

  test('compares meta without the elements that a server sets', () => {
    const meta = hiding({ Patient: ['meta.tag'] });
    const patient = (value: unknown): AnyResource => resource('Patient', { meta: value });
    const set = { versionId: '1', lastUpdated: 'x', project: 'p', author: { reference: 'User/1' } };
    expect([...assertGuarded(patient(set), resource('Patient'), meta)]).toEqual(['meta']);
    expect([...assertGuarded(patient(set), null, meta)]).toEqual([]);
    expect(() => assertGuarded(patient({ ...set, tag: [] }), patient(set), meta)).toThrow(refusal('Patient', 'meta'));
    expect(() => assertGuarded(patient('text'), resource('Patient'), meta)).toThrow(refusal('Patient', 'meta'));
  });
});

describe('keepFields', () => {
  const before = resource('Patient', {
    id: 'p',
    gender: 'male',
    birthDate: '1970',
    name: [{ family: 'A', given: ['B'] }, { family: 'C' }],
  });
  const keep = (asked: AnyResource, fixed: Partial<FixedFields>, from: AnyResource | null = before): unknown => {
    const given = { kept: new Set<string>(), readonly: [], shown: from, unread: false, ...fixed };
    const result = keepFields(R4, from, asked, given);
    return result instanceof FhirError ? result : { ...result, kept: [...result.kept] };
  };

  test('refuses a value of a readonly field at creation', () => {
    const created = resource('Patient', { gender: 'male', name: [{ family: 'A' }] });
    const readonly = ['birthDate', 'name.given'];
    expect(keep(created, { readonly }, null)).toEqual({ after: created, kept: [] });
    expect(keep(created, { readonly: [...readonly, 'gender'] }, null)).toEqual(refusal('Patient', 'gender'));
    expect(keep(created, { readonly: ['name.family'] }, null)).toEqual(refusal('Patient', 'name.family'));
  });

  test('refuses a value that the writer cannot see at all, as at creation', () => {
    const asked = resource('Patient', { id: 'p', gender: 'female' });
    expect(keep(asked, { shown: null, readonly: ['birthDate'] })).toEqual({ after: asked, kept: [] });
    expect(keep(asked, { shown: null, readonly: ['gender'] })).toEqual(refusal('Patient', 'gender'));
  });

  test('stores the sent resource object unchanged if nothing is fixed', () => {
    const asked = resource('Patient', { id: 'p' });
    const result = keepFields(R4, before, asked, { kept: new Set(), readonly: [], shown: before, unread: false });
    expect(result).toHaveProperty('after', asked);
    expect((result as { after: unknown }).after).toBe(asked);
  });

  test('restores kept elements, whatever the writer sent', () => {
    const asked = resource('Patient', { id: 'p', gender: 'female', birthDate: '1999' });
    const kept = new Set(['birthDate']);
    const after = { ...asked, birthDate: '1970' };
    expect(keep(asked, { kept, readonly: ['birthDate'] })).toEqual({ after, kept: ['birthDate'] });
  });

  test('lets a writer repeat or omit a readonly field that it reads', () => {
    const asked = resource('Patient', { id: 'p', gender: 'male' });
    expect(keep(asked, { readonly: ['gender'] })).toEqual({ after: asked, kept: [] });
    expect(keep(asked, { readonly: ['birthDate'] })).toEqual({ after: { ...asked, birthDate: '1970' }, kept: ['birthDate'] }); // prettier-ignore
    expect(keep(asked, { readonly: ['photo', 'deceasedBoolean'] })).toEqual({ after: asked, kept: [] });
  });

  test('refuses a readonly field with another value, a new field, and a missing part of it', () => {
    const asked = (more: object): AnyResource => resource('Patient', { id: 'p', ...more });
    const readonly = (...paths: string[]): Partial<FixedFields> => ({ readonly: paths });
    expect(keep(asked({ gender: 'female' }), readonly('gender'))).toEqual(refusal('Patient', 'gender'));
    expect(keep(asked({ active: true }), readonly('active'))).toEqual(refusal('Patient', 'active'));
    expect(keep(asked({ gender: 'male', _gender: { id: 'x' } }), readonly('gender'))).toEqual(refusal('Patient', 'gender')); // prettier-ignore
    const name = readonly('name.given');
    const renamed = asked({ name: [{ family: 'X', given: ['B'] }, { family: 'Y' }] });
    expect(keep(renamed, name)).toEqual({ after: renamed, kept: [] });
    for (const changed of [
      [{ given: ['Z'] }, {}],
      [{ given: ['B'] }],
      [{}, { given: ['B'] }],
      [{ family: 'A' }, { family: 'C' }],
    ]) {
      expect(keep(asked({ name: changed }), name)).toEqual(refusal('Patient', 'name.given'));
    }
  });

  test('lets a writer that cannot read omit a readonly field, but not repeat it', () => {
    const unread = { readonly: ['gender'], unread: true };
    const silent = resource('Patient', { id: 'p' });
    expect(keep(silent, unread)).toEqual({ after: { ...silent, gender: 'male' }, kept: ['gender'] });
    for (const gender of ['male', 'female']) {
      expect(keep(resource('Patient', { id: 'p', gender }), unread)).toEqual(refusal('Patient', 'gender'));
    }
  });
});
