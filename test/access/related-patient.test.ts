import type { AnyResource, MemberCaller } from '../../src/index.js';
import { R4 } from '../../src/store.js';
import { describe, expect, test } from 'vitest';
import { memberCaller } from '../../src/access/caller.js';
import { relatedPatient } from '../../src/access/sign-in/member.js';
import { assertPatientLink, fixedLink } from '../../src/access/write/decide-member.js';
import { unrestrictedRule, type AccessRule } from '../../src/access/rule.js';
import type { JsonObject } from '../../src/fhir/resource.js';

const patient = { reference: 'Patient/1' };
const related = (more: object = {}): AnyResource =>
  ({ resourceType: 'RelatedPerson', id: 'r', patient, ...more }) as unknown as AnyResource;

describe('a RelatedPerson acts for its patient', () => {
  const at = (now: string, more: object = {}): string | undefined => relatedPatient(related(more), Date.parse(now));

  test('while it is active, from the first moment of its period until before the first moment after it', () => {
    expect(at('2020-01-01')).toBe('1');
    expect(at('2020-01-01', { active: true, period: {} })).toBe('1');
    const period = { start: '2020-05', end: '2020-06' };
    expect(at('2020-04-30T23:59:59.999Z', { period })).toBeUndefined();
    expect(at('2020-05-01T00:00:00.000Z', { period })).toBe('1');
    expect(at('2020-06-30T23:59:59.999Z', { period })).toBe('1');
    expect(at('2020-07-01T00:00:00.000Z', { period })).toBeUndefined();
  });

  test.each([
    { active: false },
    { active: null },
    { active: 'true' },
    { period: null },
    { period: 'always' },
    { period: { start: 'then' } },
    { period: { start: 2000 } },
    { period: { start: null } },
    { period: { end: 'then' } },
    { period: { end: 3000 } },
    { period: { end: null } },
    { patient: undefined },
    { patient: 'Patient/1' },
    { patient: { reference: 1 } },
    { patient: { display: 'Ann' } },
    { patient: { reference: 'Group/1' } },
    { patient: { reference: 'https://elsewhere.example/Patient/1' } },
  ])('and for no patient with %j', (more) => {
    expect(at('2020-01-01', more)).toBeUndefined();
  });
});

describe('the link to the patient', () => {
  const member = (profile: string, admin: boolean, patients: readonly AccessRule[]): MemberCaller =>
    memberCaller({
      project: 'clinic',
      membership: 'm',
      user: 'User/u',
      profile,
      admin,
      superAdmin: false,
      powers: undefined,
      bound: true,
      rules: { model: R4, rulesFor: (type) => (type === 'Patient' ? patients : []) },
    });
  const one: AccessRule = { ...unrestrictedRule('one'), criteria: { kind: 'id', ids: ['1'] } };
  const blind: AccessRule = { ...unrestrictedRule('blind'), interactions: new Set(['search', 'vread', 'update']) };
  const own = member('RelatedPerson/r', true, [unrestrictedRule('all')]);
  const some = member('Practitioner/d', false, [one, blind]);
  const none = member('Practitioner/d', false, []);
  const every = member('Practitioner/d', false, [one, unrestrictedRule('all')]);
  const admin = member('Practitioner/d', true, []);

  function refusal(element: string, reason: string): unknown {
    return expect.objectContaining({
      code: 'forbidden',
      message: `Not allowed to change RelatedPerson.${element}: ${reason}`,
      issues: [
        {
          code: 'forbidden',
          diagnostics: `This element cannot be changed: ${reason}`,
          expression: [`RelatedPerson.${element}`],
        },
      ],
    });
  }
  const OWN = 'it decides what you may see yourself';
  const OTHERS = 'only callers who read every Patient, and project administrators, may';

  test('is fixed for its own profile, and its patient is fixed for callers who cannot read every Patient', () => {
    expect(fixedLink(own, related())).toEqual(['patient', 'active', 'period']);
    expect(fixedLink(some, related())).toEqual(['patient']);
    expect(fixedLink(none, related())).toEqual(['patient']);
    expect(fixedLink(every, related())).toEqual([]);
    expect(fixedLink(admin, related())).toEqual([]);
    const other = { resourceType: 'Patient', id: 'r' } as AnyResource;
    expect(fixedLink(none, other)).toEqual([]);
    expect(fixedLink(member('RelatedPerson/undefined', true, []), { resourceType: 'RelatedPerson' })).toEqual([]); // prettier-ignore
  });

  const changes: JsonObject[] = [
    { patient: { reference: 'Patient/2' } },
    { patient: undefined },
    { _patient: { id: 'x' } },
    { active: true },
    { _active: { id: 'x' } },
    { period: { start: '2020' } },
    { _period: { id: 'x' } },
  ];

  test.each(changes)('cannot be changed in the own profile: %j', (change) => {
    const [name] = Object.keys(change) as [string];
    const after = related(change);
    expect(() => assertPatientLink(own, related(), after, false)).toThrow(refusal(name.replace('_', ''), OWN));
    for (const caller of [every, admin]) {
      expect(() => assertPatientLink(caller, related(), after, false)).not.toThrow();
    }
    for (const caller of [some, none]) {
      const write = expect(() => assertPatientLink(caller, related(), after, false));
      if (name.includes('patient')) write.toThrow(refusal('patient', OTHERS));
      else write.not.toThrow();
    }
  });

  test('is kept if nothing of it changes, and can be created with a new record', () => {
    for (const caller of [own, some, none, every, admin]) {
      expect(() => assertPatientLink(caller, related(), related({ telecom: [] }), false)).not.toThrow();
    }
    expect(() => assertPatientLink(some, null, related(), false)).not.toThrow();
    const other = (id: string): AnyResource => ({ ...related(), resourceType: 'Basic', id });
    expect(() => assertPatientLink(own, other('r'), { ...other('r'), patient: 'x' } as never, true)).not.toThrow();
  });

  test('does not apply to another type, with any id', () => {
    const other = { ...related(), resourceType: 'Basic' } as unknown as AnyResource;
    for (const caller of [own, none]) expect(() => assertPatientLink(caller, null, other, true)).not.toThrow();
  });

  test('cannot be restored with a deleted record, nor created for the own profile', () => {
    expect(() => assertPatientLink(some, null, related(), true)).toThrow(refusal('patient', OTHERS));
    expect(() => assertPatientLink(every, null, related(), true)).not.toThrow();
    for (const deleted of [true, false]) {
      expect(() => assertPatientLink(own, null, related(), deleted)).toThrow(refusal('patient', OWN));
    }
  });
});
