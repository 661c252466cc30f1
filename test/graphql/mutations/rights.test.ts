import { describe, expect, test } from 'vitest';
import { type AuditRecord, toAuditEvent } from '../../../src/index.js';
import { codeOf, overStores, signedIn, type Membership } from '../../repository/harness.js';
import { failures, messages } from '../harness.js';
import { openClinic } from './harness.js';

overStores('mutations under a caller’s rights', (open) => {
  async function memberOf(rules: Membership['rules'], strictMode = false) {
    const clinic = await openClinic(open(), { strictMode });
    await clinic.trusted.update({
      resourceType: 'Patient',
      id: 'p',
      gender: 'female',
      birthDate: '2001-02-03',
      name: [{ family: 'Hill' }],
    });
    await clinic.trusted.update({ resourceType: 'Patient', id: 'other', gender: 'male' });
    const caller = await signedIn(clinic.store, rules === undefined ? {} : { rules });
    const ask = (mutation: string, more: object = {}) => clinic.ask(mutation, {}, { caller, ...more });
    return { clinic, ask, caller };
  }

  const FIELDS = [
    'PatientCreate(res: { active: true }) { id }',
    'PatientUpdate(id: "p", res: { active: true }) { id }',
    'PatientPatch(id: "p", patch: { op: add, path: "/active", value: true }) { id }',
    'PatientDelete(id: "p")',
  ];

  test.each(FIELDS)('a caller who can only read is refused: %s', async (field) => {
    const { clinic, ask } = await memberOf([{ resourceType: 'Patient', readonly: true }]);
    const name = field.slice(0, field.indexOf('('));
    expect(failures(await ask(`mutation { ${field} }`))).toEqual([`forbidden at ${name} (1:12)`]);
    expect(await clinic.ids('Patient')).toEqual(['other', 'p']);
    expect(await clinic.trusted.read('Patient', 'p')).toMatchObject({ meta: { versionId: '1' } });
  });

  test.each(FIELDS.slice(1))('an invisible resource is missing: %s', async (field) => {
    const { clinic, ask } = await memberOf([{ resourceType: 'Patient', criteria: 'Patient?gender=female' }]);
    const name = field.slice(0, field.indexOf('('));
    const unseen = await ask(`mutation { ${field.replace('"p"', '"other"')} }`);
    const absent = await ask(`mutation { ${field.replace('"p"', '"nobody"')} }`);
    expect(failures(unseen)).toEqual([`not-found at ${name} (1:12)`]);
    expect(JSON.stringify(unseen).replaceAll('other', 'nobody')).toBe(JSON.stringify(absent));
    expect(await clinic.trusted.read('Patient', 'other')).toMatchObject({ meta: { versionId: '1' } });
  });

  test('a resource outside the criteria cannot be written, and fails the rest of the document', async () => {
    const { clinic, ask } = await memberOf([{ resourceType: 'Patient', criteria: 'Patient?gender=female' }]);
    const result = await ask(`mutation {
  a: PatientUpdate(id: "p", res: { gender: female, active: true }) { active }
  b: PatientCreate(res: { gender: male }) { id }
}`);
    expect(failures(result)).toEqual(['forbidden at b (3:3)']);
    expect(result.data).toEqual({ a: null, b: null });
    expect(await clinic.trusted.read('Patient', 'p')).not.toHaveProperty('active');
  });

  test('hidden fields are kept, cannot be sent, and are in no answer', async () => {
    const { clinic, ask } = await memberOf([{ resourceType: 'Patient', hiddenFields: ['birthDate'] }]);
    expect(
      await ask(`mutation {
        a: PatientUpdate(id: "p", res: { active: true }) { active birthDate _birthDate { id } }
        b: PatientPatch(id: "p", patch: { op: replace, path: "/active", value: false }) { active birthDate }
      }`),
    ).toEqual({
      data: { a: { active: true, birthDate: null, _birthDate: null }, b: { active: false, birthDate: null } },
    });
    expect(await clinic.trusted.read('Patient', 'p')).toMatchObject({ active: false, birthDate: '2001-02-03' });
    for (const field of [
      'PatientUpdate(id: "p", res: { birthDate: "2001-02-03" }) { id }',
      'PatientPatch(id: "p", patch: { op: add, path: "/birthDate", value: "2001-02-03" }) { id }',
    ]) {
      expect(failures(await ask(`mutation { ${field} }`))[0]).toMatch(/^forbidden at /);
    }
    const tested = await ask(
      'mutation { PatientPatch(id: "p", patch: { op: test, path: "/birthDate", value: "2001-02-03" }) { id } }',
    );
    expect(failures(tested)).toEqual(['unprocessable at PatientPatch (1:12)']);
  });

  test('a written resource that the caller cannot read is null, without an error', async () => {
    const { clinic, ask } = await memberOf([{ resourceType: 'Observation', interaction: ['create'] }]);
    expect(await ask('mutation { ObservationCreate(res: { status: final }) { id status } }')).toEqual({
      data: { ObservationCreate: null },
    });
    expect(await clinic.ids('Observation')).toHaveLength(1);
  });

  test('ifNoneExist finds only resources that the caller sees', async () => {
    const { clinic, ask } = await memberOf([{ resourceType: 'Patient', criteria: 'Patient?gender=female' }]);
    const create = (id: string) =>
      ask(`mutation { PatientCreate(ifNoneExist: "_id=${id}", res: { gender: female }) { id } }`);
    expect(await create('p')).toEqual({ data: { PatientCreate: { id: 'p' } } });
    const { data } = await create('other');
    expect((data as { PatientCreate: { id: string } }).PatientCreate.id).not.toBe('other');
    expect(await clinic.ids('Patient')).toHaveLength(3);
  });

  test('only callers who see all of a type can choose the ids of new resources', async () => {
    const { ask } = await memberOf([{ resourceType: 'Patient', criteria: 'Patient?gender=female' }]);
    const result = await ask('mutation { PatientUpdate(id: "new", res: { gender: female }) { id } }');
    expect(failures(result)).toEqual(['not-found at PatientUpdate (1:12)']);
  });

  test('the profile of a member cannot be deleted', async () => {
    const { clinic, caller } = await memberOf([{ resourceType: 'Practitioner' }]);
    const id = caller.profile.split('/')[1]!;
    const result = await clinic.ask(`mutation { PractitionerDelete(id: "${id}") }`);
    expect(failures(result)).toEqual(['conflict at PractitionerDelete (1:12)']);
    expect(result.errors![0]!.extensions.details).toEqual({ membership: `ProjectMembership/${caller.membership}` });
  });

  test('a membership cannot be written this way', async () => {
    const { clinic, ask, caller } = await memberOf([{ resourceType: 'Patient' }]);
    const mutation = `mutation { ProjectMembershipPatch(id: "${caller.membership}", patch: { op: add, path: "/admin", value: true }) { id } }`;
    expect(failures(await ask(mutation))[0]).toMatch(/^(not-found|forbidden) at ProjectMembershipPatch/);
    expect(await clinic.trusted.read('ProjectMembership', caller.membership)).not.toHaveProperty('admin');
  });

  describe('in a project with strictMode', () => {
    test.each(['PatientCreate(res: RES) { id }', 'PatientUpdate(id: "p", res: RES) { id }'])(
      'a resource that breaks the definitions is refused, with a location for each finding: %s',
      async (field) => {
        const { clinic, ask } = await memberOf(undefined, true);
        const result = await ask(
          `mutation { ${field.replace('RES', '{ birthDate: "yesterday", gender: unclear, contact: {} }')} }`,
        );
        const [error] = result.errors!;
        expect(error!.extensions.code).toMatch(/^(unprocessable|invalid)$/);
        expect(JSON.stringify(result)).not.toMatch(/yesterday|unclear/);
        const findings = await ask(
          `mutation { ${field.replace('RES', '{ birthDate: "yesterday", gender: unclear, name: { use: strange } }')} }`,
        );
        expect(findings.errors![0]!.extensions.code).toBe('unprocessable');
        expect(findings.errors![0]!.extensions.resource.issue.map(({ expression }) => expression?.[0])).toEqual(
          expect.arrayContaining(['Patient.birthDate', 'Patient.gender', 'Patient.name[0].use']),
        );
        expect(await clinic.ids('Patient')).toEqual(['other', 'p']);
      },
    );

    test('a patch that breaks the definitions is refused', async () => {
      const { ask } = await memberOf(undefined, true);
      const result = await ask(
        'mutation { PatientPatch(id: "p", patch: { op: replace, path: "/gender", value: "unclear" }) { id } }',
      );
      expect(failures(result)).toEqual(['unprocessable at PatientPatch (1:12)']);
      expect(result.errors![0]!.extensions.resource.issue[0]!.expression).toEqual(['Patient.gender']);
    });
  });

  describe('the audit trail', () => {
    test('names each written resource, with its version and the outcome', async () => {
      const { clinic, ask } = await memberOf([{ resourceType: 'Patient' }, { resourceType: 'Observation' }]);
      const records: AuditRecord[] = [];
      const audit = (record: AuditRecord): void => void records.push(record);
      const result = await ask(
        `mutation {
          a: PatientUpdate(id: "p", res: { active: true }) { ObservationList(_reference: subject) { id } }
          b: PatientPatch(id: "p", patch: { op: remove, path: "/active" }) { id }
          c: PatientCreate(res: { name: { family: "Verysecret" } }) { id }
          d: PatientDelete(id: "other")
          e: PatientCreate(ifNoneExist: "_id=p", res: {}) { id }
        }`,
        { audit },
      );
      const { id } = (result.data as { c: { id: string } }).c;
      expect(records).toHaveLength(1);
      expect(records[0]).toMatchObject({
        interaction: 'graphql',
        outcome: { success: true },
        targets: [
          { type: 'Patient', id: 'p', versionId: '2', interaction: 'update' },
          { type: 'Patient', id: 'p', versionId: '3', interaction: 'patch' },
          { type: 'Patient', id, versionId: '1', interaction: 'create' },
          { type: 'Patient', id: 'other', versionId: '2', interaction: 'delete' },
          { type: 'Patient', id: 'p', interaction: 'read' },
          { type: 'Observation' },
        ],
      });
      expect(JSON.stringify(records)).not.toContain('Verysecret');
      expect(toAuditEvent(records[0]!)).toMatchObject({ action: 'E', outcome: '0' });
      expect(await codeOf(clinic.trusted.read('Patient', 'other'))).toBe('gone');
    });

    test('names the planned writes if nothing was written', async () => {
      const { ask } = await memberOf([{ resourceType: 'Patient', readonly: true }]);
      const records: AuditRecord[] = [];
      const audit = (record: AuditRecord): void => void records.push(record);
      await ask('mutation { PatientCreate(res: {}) { id } PatientDelete(id: "p") }', { audit });
      expect(records).toEqual([
        expect.objectContaining({
          outcome: { success: false, code: 'forbidden' },
          targets: [
            { type: 'Patient', interaction: 'create' },
            { type: 'Patient', id: 'p', interaction: 'delete' },
          ],
        }),
      ]);
    });
  });

  test('messages of errors contain nothing that was sent', async () => {
    const { ask } = await memberOf([{ resourceType: 'Patient', criteria: 'Patient?gender=female' }]);
    const result = await ask('mutation { PatientCreate(res: { name: { family: "Verysecret" } }) { id } }');
    expect(messages(result).join()).not.toContain('Verysecret');
    expect(failures(result)).toEqual(['forbidden at PatientCreate (1:12)']);
  });
});
