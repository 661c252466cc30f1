import { describe, expect, test } from 'vitest';
import { systemCaller } from '../../src/access/caller.js';
import { explainAccess } from '../../src/access/explain-access.js';
import { MemoryStore } from '../../src/stores/memory/store.js';
import { codeOf, signedIn, system } from '../repository/harness.js';

async function world(): ReturnType<typeof signedIn> {
  const store = new MemoryStore();
  const trusted = await system(store);
  await trusted.update({ resourceType: 'Patient', id: 'girl', gender: 'female' });
  await trusted.update({ resourceType: 'Patient', id: 'boy', gender: 'male' });
  return signedIn(store, {
    rules: [
      { resourceType: 'Patient', readonly: true, hiddenFields: ['birthDate'] },
      { resourceType: 'Patient', criteria: 'Patient?gender=female', readonlyFields: ['gender'] },
    ],
  });
}

describe('an explanation', () => {
  test('of a type names the rules that let something through', async () => {
    const caller = await world();
    const { interactions, text } = await explainAccess(caller, 'Patient');
    const [all, female] = interactions.read.by;
    expect(all).toMatch(/^AccessPolicy\/policy-\d+, rule 1: Patient$/);
    expect(female).toMatch(/^AccessPolicy\/policy-\d+, rule 2: Patient\?gender=female$/);
    expect(interactions.update).toMatchObject({ allowed: true, by: [female], not: [all], readonlyFields: ['gender'] });
    expect(text.split('\n')).toHaveLength(7);
    expect(text).toContain(`update Patient: allowed by ${female!}`);
  });

  test('of a resource says which rules hold for it, and what stays hidden', async () => {
    const caller = await world();
    const boy = await explainAccess(caller, 'Patient', 'boy');
    expect(boy.interactions.read).toMatchObject({ allowed: true, hidden: ['birthDate'] });
    expect(boy.interactions.delete).toMatchObject({ allowed: false, by: [] });
    expect(boy.text).toMatch(/^delete Patient\/boy: denied, not granted by: /m);
    const girl = await explainAccess(caller, 'Patient', 'girl');
    expect(girl.interactions.read).toMatchObject({ allowed: true, hidden: [] });
    expect(girl.interactions.delete.allowed).toBe(true);
    expect((await explainAccess(caller, 'Patient', 'absent')).interactions.read.allowed).toBe(false);
  });

  test('of a type that no rule is about says so', async () => {
    const caller = await world();
    const { interactions, text } = await explainAccess(caller, 'Observation');
    expect(interactions.search).toEqual({ allowed: false, by: [], not: [], hidden: [], readonlyFields: [] });
    expect(text).toContain('search Observation: denied, no rule is about this type');
  });

  test('of trusted code allows everything but its secrets', async () => {
    const { interactions } = await explainAccess(systemCaller('clinic'), 'User');
    expect(interactions.read).toMatchObject({ allowed: true, hidden: ['passwordHash', 'mfaSecret'] });
  });

  test('needs a caller and a type', async () => {
    const caller = await world();
    expect(await codeOf(explainAccess(caller, 'Pateint'))).toBe('invalid');
    expect(await codeOf(explainAccess(caller, '__proto__'))).toBe('invalid');
    expect(await codeOf(explainAccess({ ...caller }, 'Patient'))).toBe('unauthenticated');
  });
});
