import type { AccessPolicy } from '@medplum/fhirtypes';
import { expect, test } from 'vitest';
import { executeFhirGraphql, MemoryStore } from '../../src/index.js';
import { codeOf, repositoryOf, signedIn, system } from '../repository/harness.js';

async function seenWith(fields: Pick<NonNullable<AccessPolicy['resource']>[0], 'hiddenFields' | 'readonlyFields'>) {
  const store = new MemoryStore();
  const trusted = await system(store);
  const quantity = { value: 7, unit: 'mmol/L' };
  await trusted.update({
    ...{ resourceType: 'Observation', id: 'o', status: 'final', code: { text: 'glucose' }, valueQuantity: quantity },
    component: [{ code: { text: 'part' }, valueString: 'high' }],
    effectiveDateTime: '2024-01-01',
  });
  const caller = await signedIn(store, { rules: [{ resourceType: 'Observation', ...fields }] });
  const query = `{ Observation(id: "o") {
    status effectiveDateTime valueQuantity { value } component { code { text } valueString }
  } }`;
  const { data } = await executeFhirGraphql(query, { store, caller });
  const found = await repositoryOf(store, caller).search('Observation', 'value-quantity=7');
  const { meta: _, ...rest } = await repositoryOf(store, caller).read('Observation', 'o');
  return { data, found: found.entry?.length ?? 0, rest };
}

test('the name that FHIR gives a choice hides every form of it, as its short name does', async () => {
  for (const [named, short] of [
    ['value[x]', 'value'],
    ['component.value[x]', 'component.value'],
    ['effective[x]', 'effective'],
  ] as const) {
    const hidden = await seenWith({ hiddenFields: [named] });
    expect(hidden).toMatchObject(await seenWith({ hiddenFields: [short] }));
    expect(hidden.rest).not.toEqual((await seenWith({})).rest);
  }
  const { data, found } = await seenWith({ hiddenFields: ['value[x]', 'component.value[x]'] });
  expect(data).toMatchObject({
    Observation: { status: 'final', valueQuantity: null, component: [{ valueString: null }] },
  });
  expect(found).toBe(0);
});

test.each(['status[x]', 'valueQuantity[x]', 'component[x].value', '[x]', 'value[y]'])(
  'a field that is no choice is not named like one: %s',
  async (field) => {
    expect(await codeOf(seenWith({ hiddenFields: [field] }))).toBe('policy-invalid');
  },
);
