import { expect, test } from 'vitest';
import { extendDefinitions, R4 } from '../../src/definitions.js';
import { indexEntries } from '../../src/store.js';
import { StepBudget } from '../../src/fhirpath/step-budget.js';
import { type AnyResource, createRepository, MemoryStore, systemCaller } from '../../src/index.js';
import { searchParameter } from './search-parameters.js';

/** Many names with many parts, which an expression can traverse repeatedly. */
const PATIENT = {
  resourceType: 'Patient',
  id: 'p',
  active: true,
  name: Array.from({ length: 300 }, (_, n) => ({ family: `F${n}`, given: ['A', 'B', 'C'] })),
};

const HOSTILE: readonly (readonly [string, string])[] = [
  ['loops over all pairs of pairs', 'Patient.name.select(%resource.name.select(%resource.name.given)).given'],
  ['repeats itself for ever', "Patient.name.given.first().repeat($this & 'x').first()"],
  [
    'grows a collection',
    'Patient.name.given.combine(%resource.name.given).combine(%resource.name.given).select(%resource.name.given.combine(%resource.name.given)).first()',
  ],
  ['grows a text', "Patient.name.given.aggregate($total & $total & $this, 'xxxxxxxxxxxxxxxx')"],
  [
    'compares everything with everything',
    'Patient.descendants().union(%resource.descendants()).descendants().distinct().family',
  ],
  ['throws on several items', 'Patient.name.family.single()'],
  ['does not fit its data', 'Patient.name.family + 1'],
  [
    'matches by a hostile pattern',
    "Patient.name.family.where(matches('^(([a-zA-Z0-9])+)+$')).where(matches('(.*a){30}')).first()",
  ],
];

test.each(HOSTILE)('an expression that %s gives no value, within its steps', async (_, expression) => {
  const plain = searchParameter({
    code: 'plain',
    base: 'Patient',
    type: 'string',
    expression: "Patient.name.where(family = 'F7').given.first()",
  });
  const model = await extendDefinitions(R4, {
    searchParameters: [searchParameter({ code: 'own', base: 'Patient', type: 'string', expression }), plain],
  });
  let steps = 0;
  const charge = StepBudget.prototype.charge;
  StepBudget.prototype.charge = function (...given) {
    const before = this.spent;
    try {
      charge.apply(this, given);
    } finally {
      // One that is over the budget ends there.
      steps += Math.min(this.spent, 250_000) - Math.min(before, 250_000);
    }
  };
  const entries = indexEntries(model, PATIENT);
  StepBudget.prototype.charge = charge;
  expect(entries.filter(({ parameter }) => parameter === 'own')).toEqual([]);
  expect(entries.filter(({ parameter }) => parameter === 'plain')).toHaveLength(1);
  expect(entries.some(({ parameter }) => parameter === 'active')).toBe(true);
  expect(steps).toBeLessThan(300_000);
});

test('a result of very many items is indexed, each once', async () => {
  const expression = 'Patient.name.given | Patient.name.family';
  const model = await extendDefinitions(R4, {
    searchParameters: [searchParameter({ code: 'own', base: 'Patient', type: 'token', expression })],
  });
  const name = Array.from({ length: 20_000 }, (_, n) => ({ family: `F${n % 500}`, given: ['A'] }));
  const entries = indexEntries(model, { resourceType: 'Patient', name } as AnyResource);
  expect(entries.filter(({ parameter }) => parameter === 'own')).toHaveLength(501);
});

test('a resource that breaks an expression is stored, and found by all other parameters', async () => {
  const model = await extendDefinitions(R4, {
    searchParameters: [
      searchParameter({ code: 'own', base: 'Patient', type: 'string', expression: 'Patient.name.family.single()' }),
    ],
  });
  const repository = createRepository({ store: new MemoryStore({ model }), caller: systemCaller('clinic') });
  await repository.update({ resourceType: 'Patient', id: 'two', name: [{ family: 'A' }, { family: 'B' }] });
  await repository.update({ resourceType: 'Patient', id: 'one', name: [{ family: 'A' }] });
  const ids = async (query: string): Promise<unknown> =>
    (await repository.search('Patient', query)).entry?.map(({ resource }) => resource!.id);
  expect(await ids('family=A')).toEqual(['one', 'two']);
  expect(await ids('own=A')).toEqual(['one']);
  expect(await ids('own:missing=true')).toEqual(['two']);
});

test.each([
  ['longer than 4,096 characters', `Patient.name.where(family = '${'x'.repeat(4_096)}').given.first()`],
  ['nested deeper than 40 levels', `Patient.name.where(${'('.repeat(45)}family.exists()${')'.repeat(45)})`],
])('an expression that is %s is refused', async (_, expression) => {
  const own = searchParameter({ code: 'own', base: 'Patient', type: 'string', expression });
  await expect(extendDefinitions(R4, { searchParameters: [own] })).rejects.toMatchObject({ code: 'invalid' });
});

test('more than 2,000 parameters are refused', async () => {
  const searchParameters = Array.from({ length: 2_001 }, (_, n) =>
    searchParameter({ code: `own-${n}`, base: 'Patient', type: 'token', expression: 'Patient.active' }),
  );
  await expect(extendDefinitions(R4, { searchParameters })).rejects.toThrow(
    'At most 2000 search parameters can be added, not 2001',
  );
});
