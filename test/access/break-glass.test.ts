import fc from 'fast-check';
import { describe, expect, test, vi } from 'vitest';
import { explainAccess } from '../../src/access.js';
import {
  type AuditRecord,
  breakGlass,
  type BreakGlassOptions,
  createRepository,
  executeFhirGraphql,
  type MemberCaller,
  MemoryStore,
  narrowCaller,
  type ResourceStore,
  signIn,
  systemCaller,
  toAuditEvent,
} from '../../src/index.js';
import { R4 } from '../../src/store.js';
import { OWN_EXTENSIONS } from '../../src/fhir/own-extensions.js';
import { validateResource } from '../../src/fhir/validate-resource.js';
import { codeOf, system } from '../repository/harness.js';
import { cases, SEED } from '../support/chance.js';
import { storeWith } from '../support/store-with.js';
import { allAnswers } from './all-answers.js';
import { enrol, member, type PolicyJson } from './policies.js';
import { QUESTIONS } from './questions.js';
import { fill, projectContent } from './world.js';

const MARK = { extension: [{ url: OWN_EXTENSIONS.emergencyAccess, valueBoolean: true }] };
const NOW = new Date('2026-01-02T03:00:00Z');
const UNTIL = '2026-01-02T04:00:00.000Z';

/** A doctor who sees Ann, and in an emergency everybody. */
async function clinic(policies: readonly object[] = [OWN_PATIENTS, EMERGENCY]): Promise<{
  store: MemoryStore;
  caller: MemberCaller;
  records: AuditRecord[];
  options: BreakGlassOptions;
}> {
  const store = new MemoryStore();
  const trusted = await system(store);
  for (const id of ['ann', 'bob']) await trusted.update({ resourceType: 'Patient', id });
  await trusted.update({ resourceType: 'Practitioner', id: 'dr' });
  await trusted.update({ resourceType: 'User', id: 'dr', firstName: 'A', lastName: 'B', email: 'dr@example.org' });
  for (const [index, policy] of policies.entries()) {
    await trusted.update({ resourceType: 'AccessPolicy', id: `policy-${index}`, ...policy });
  }
  await trusted.update({
    resourceType: 'ProjectMembership',
    id: 'dr',
    project: { reference: 'Project/clinic' },
    user: { reference: 'User/dr' },
    profile: { reference: 'Practitioner/dr' },
    access: policies.map((_, index) => ({ policy: { reference: `AccessPolicy/policy-${index}` } })),
  });
  const records: AuditRecord[] = [];
  const audit = (record: AuditRecord): void => void records.push(record);
  const options = { store, reason: 'Unconscious', until: UNTIL, audit, clock: () => NOW };
  return { store, caller: await signIn(store, { membership: 'dr' }), records, options };
}

const OWN_PATIENTS = { resource: [{ resourceType: 'Patient', criteria: 'Patient?_id=ann', readonly: true }] };
const EMERGENCY = { ...MARK, resource: [{ resourceType: 'Patient', readonly: true }] };

async function patients(store: ResourceStore, caller: MemberCaller): Promise<readonly unknown[]> {
  const { data } = await executeFhirGraphql<{ PatientList: { id: string }[] }>('{ PatientList { id } }', {
    store,
    caller,
  });
  return data?.PatientList.map(({ id }) => id) ?? ['none'];
}

test('a marked policy grants only in an emergency, and the emergency is audited with its reason', async () => {
  const { store, caller, records, options } = await clinic();
  const onEmergency = vi.fn<(notice: object) => void>();
  expect(await patients(store, caller)).toEqual(['ann']);
  const broken = await breakGlass(caller, { ...options, onEmergency, requestId: 'r1' });
  expect(await patients(store, broken)).toEqual(['ann', 'bob']);
  expect(await patients(store, caller)).toEqual(['ann']);
  const emergency = { reason: 'Unconscious', until: UNTIL };
  const who = { ...{ kind: 'member', project: 'clinic', membership: 'ProjectMembership/dr' }, emergency };
  expect(records).toMatchObject([
    { interaction: 'break-glass', who, reason: 'Unconscious', requestId: 'r1', outcome: { success: true } },
  ]);
  expect(onEmergency.mock.calls).toEqual([
    [{ ...emergency, project: 'Project/clinic', membership: 'ProjectMembership/dr', profile: 'Practitioner/dr' }],
  ]);
  // Whatever is read with it says so, too.
  await createRepository({ store, caller: broken, audit: options.audit }).read('Patient', 'bob');
  expect(records[1]?.who).toMatchObject({ emergency });
  for (const record of records) {
    const event = toAuditEvent(record);
    expect(validateResource(R4, event)).toEqual([]);
    expect(event.purposeOfEvent).toMatchObject([{ coding: [{ code: 'BTG' }], text: 'Unconscious' }]);
  }
});

test('the access ends at its time, even in the middle of a request', async () => {
  const { store, caller, options } = await clinic();
  let now = NOW;
  const broken = await breakGlass(caller, { ...options, clock: () => now });
  // The time passes while the store answers the first level.
  const search: ResourceStore['search'] = async (...args) => {
    const page = await store.search(...args);
    now = new Date(UNTIL);
    return page;
  };
  const { data, errors } = await executeFhirGraphql('{ PatientList { id PatientList(_reference: link) { id } } }', {
    store: storeWith(store, { search }),
    caller: broken,
  });
  expect(data).toMatchObject({ PatientList: [{ PatientList: null }, { PatientList: null }] });
  expect(errors?.map(({ extensions }) => extensions.code)).toEqual(['forbidden', 'forbidden']);
  const repository = createRepository({ store, caller: broken });
  expect(await codeOf(repository.read('Patient', 'ann'))).toBe('forbidden');
  expect(await codeOf(repository.update({ resourceType: 'Patient', id: 'ann' }))).toBe('forbidden');
  expect(await patients(store, caller)).toEqual(['ann']);
});

describe('breakGlass refuses', () => {
  test.each([
    ['no reason', { reason: ' ' }, 'invalid'],
    ['a time that is over', { until: NOW }, 'invalid'],
    ['a time too far off', { until: '2026-01-04T03:00:00Z' }, 'invalid'],
    ['no time', { until: 'soon' }, 'invalid'],
    ['no audit', { audit: undefined as never }, 'invalid'],
    ['an audit that is down', { audit: () => Promise.reject(new Error('down')) }, 'unavailable'],
  ] as const)('%s', async (_, more, code) => {
    const { caller, options } = await clinic();
    expect(await codeOf(breakGlass(caller, { ...options, ...more }))).toBe(code);
  });

  test('callers that are not members, and members without a marked policy, with a record', async () => {
    const { caller, options, records } = await clinic([OWN_PATIENTS]);
    expect(await codeOf(breakGlass(systemCaller('clinic'), options))).toBe('invalid');
    expect(await codeOf(breakGlass(caller, options))).toBe('forbidden');
    expect(records.map(({ outcome, reason }) => ['code' in outcome && outcome.code, reason])).toEqual([
      ['invalid', undefined],
      ['forbidden', 'Unconscious'],
    ]);
  });

  test('a narrowed caller, which it would widen; the caller that it returns can be narrowed', async () => {
    const { store, caller, options } = await clinic();
    const scopes = 'user/Patient.rs?_id=ann';
    expect(await codeOf(breakGlass(narrowCaller(caller, { scopes }), options))).toBe('forbidden');
    const until = new Date(Date.now() + 86_400_000);
    const broken = await breakGlass(caller, { ...options, clock: undefined, until });
    expect(await patients(store, narrowCaller(broken, { scopes }))).toEqual(['ann']);
  });

  test('a membership that was deactivated since', async () => {
    const { store, caller, options } = await clinic();
    const trusted = await system(store);
    await trusted.patch('ProjectMembership', 'dr', [{ op: 'add', path: '/active', value: false }]);
    expect(await codeOf(breakGlass(caller, options))).toBe('membership-inactive');
  });
});

test('a failed pager does not stop the access', async () => {
  const warned = vi.spyOn(process, 'emitWarning').mockImplementation(() => undefined);
  try {
    const { store, caller, options } = await clinic();
    const broken = await breakGlass(caller, { ...options, onEmergency: () => Promise.reject(new Error('down')) });
    expect(await patients(store, broken)).toHaveLength(2);
    expect(warned).toHaveBeenCalledTimes(1);
  } finally {
    warned.mockRestore();
  }
});

test('a member with only marked policies sees nothing outside of an emergency', async () => {
  const { store, caller } = await clinic([EMERGENCY]);
  expect(caller.bound).toBe(true);
  expect(await patients(store, caller)).toEqual([]);
});

test('a malformed mark grants nothing, neither outside nor in an emergency', async () => {
  const odd = { ...EMERGENCY, extension: [{ url: OWN_EXTENSIONS.emergencyAccess, valueString: 'yes' }] };
  const { store, caller, options } = await clinic([odd]);
  expect(await patients(store, caller)).toEqual([]);
  expect(await codeOf(breakGlass(caller, options))).toBe('forbidden');
});

test('explanations name the emergency policy that grants', async () => {
  const { store, caller, options } = await clinic();
  const question = { of: await breakGlass(caller, options), type: 'Patient', id: 'bob' };
  const { interactions } = await explainAccess(question, { store, caller: systemCaller('clinic') });
  expect(interactions.read.by).toEqual(['AccessPolicy/policy-1 (emergency), rule 1: Patient']);
  const before = await explainAccess({ ...question, of: caller }, { store, caller: systemCaller('clinic') });
  expect(before.interactions.read.allowed).toBe(false);
});

const CASE = fc.record({
  setup: member({ writes: false }).filter(({ access }) => access.length > 0),
  marks: fc.array(fc.boolean(), { minLength: 8, maxLength: 8 }),
  content: projectContent,
  questions: fc.subarray([...QUESTIONS], { minLength: 2, maxLength: 4 }),
});

test('for any policies, marked policies grant nothing outside of an emergency, and in an emergency the rights that they grant unmarked', () =>
  fc.assert(
    fc.asyncProperty(CASE, async ({ setup, marks, content, questions }) => {
      const isMarked = (index: number): boolean => marks[index % marks.length]!;
      const none: PolicyJson = { resource: [] };
      const answers = async (policy: (one: PolicyJson, index: number) => PolicyJson, breaks: boolean) => {
        const store = new MemoryStore({ clock: () => NOW });
        await fill(store, 'alpha', content);
        const caller = await enrol(store, 'alpha', { ...setup, policies: setup.policies.map(policy) });
        const audit = (): void => undefined;
        const glass = { store, reason: 'x', until: UNTIL, audit, clock: () => NOW };
        return allAnswers(store, breaks ? await breakGlass(caller, glass) : caller, questions);
      };
      const marked = (one: PolicyJson, index: number): PolicyJson => (isMarked(index) ? { ...MARK, ...one } : one);
      expect(await answers(marked, false)).toEqual(
        await answers((one, index) => (isMarked(index) ? none : one), false),
      );
      const isAny = setup.access.some(({ policy }) => isMarked(policy));
      if (isAny) expect(await answers(marked, true)).toEqual(await answers((one) => one, false));
    }),
    { numRuns: cases(200, 8), seed: SEED },
  ));
