import type { AccessPolicy, Observation } from '@medplum/fhirtypes';
import { describe, expect, test } from 'vitest';
import { withoutFields } from '../../src/access/fields/hidden-fields.js';
import { DECIMAL_TEXTS } from '../../src/fhir/json/decimal-texts.js';
import { parseJson, stringifyJson } from '../../src/http.js';
import {
  type AnyResource,
  createRepository,
  importNdjson,
  MemoryStore,
  type Repository,
  type ResourceStore,
  systemCaller,
} from '../../src/index.js';
import { codeOf, member, system } from '../repository/harness.js';

const TEXT =
  '{"resourceType":"Observation","id":"o","status":"final","code":{"text":"x"},"valueQuantity":{"value":1.00,"unit":"kg"},"component":[{"code":{"text":"y"},"valueQuantity":{"value":2.50,"unit":"g"}}]}';

type Rule = NonNullable<AccessPolicy['resource']>[number];

async function open(rule: Omit<Rule, 'resourceType'>): Promise<{ store: ResourceStore; mine: Repository }> {
  const store = new MemoryStore();
  await system(store);
  await importNdjson([Buffer.from(TEXT)], { store, caller: systemCaller('clinic') });
  return { store, mine: await member(store, { rules: [{ resourceType: 'Observation', ...rule }] }) };
}

async function stored(store: ResourceStore): Promise<string> {
  const { meta: _, ...rest } = await createRepository({ store, caller: systemCaller('clinic') }).read(
    'Observation',
    'o',
  );
  return stringifyJson(rest);
}

describe('the text of hidden decimals', () => {
  test('is hidden with the decimals', () => {
    const resource = parseJson(
      '{"resourceType":"ChargeItem","id":"c","factorOverride":1.00,"quantity":{"value":2.50,"unit":"x"}}',
    ) as AnyResource;
    const shown = withoutFields(resource, ['factorOverride', 'quantity.value']);
    expect(stringifyJson(shown)).toBe('{"resourceType":"ChargeItem","id":"c","quantity":{"unit":"x"}}');
    expect(DECIMAL_TEXTS in shown).toBe(false);
    expect(DECIMAL_TEXTS in (shown as unknown as { quantity: object }).quantity).toBe(false);
    // The elements next to them keep their own texts.
    const other = withoutFields(resource, ['quantity.unit']);
    expect(stringifyJson(other)).toContain('"factorOverride":1.00,"quantity":{"value":2.50}');
  });

  test('stays in the store when a member changes something else', async () => {
    const { store, mine } = await open({ hiddenFields: ['valueQuantity', 'component.valueQuantity.value'] });
    const shown = await mine.read('Observation', 'o');
    expect(stringifyJson(shown)).not.toMatch(/1\.00|2\.50/);
    await mine.update({ ...shown, status: 'amended' });
    await mine.patch('Observation', 'o', [{ op: 'replace', path: '/code/text', value: 'z' }]);
    expect(await stored(store)).toBe(TEXT.replace('final', 'amended').replace('"x"', '"z"'));
  });
});

describe('a decimal that a member cannot change', () => {
  test.each([
    ['as it was written', '1.00', '2.50'],
    ['as a number', '1', '2.5'],
    ['in yet another way', '1.0', '25e-1'],
  ])('can be sent back %s, and is unchanged', async (_, value, inner) => {
    const { store, mine } = await open({ readonlyFields: ['valueQuantity', 'component.valueQuantity.value'] });
    const sent = TEXT.replace('1.00', value).replace('2.50', inner).replace('final', 'amended').replace('"g"', '"mg"');
    await mine.update(parseJson(sent) as Observation);
    expect(await stored(store)).toBe(TEXT.replace('final', 'amended').replace('"g"', '"mg"'));
  });

  test('can be sent back in an object that was read', async () => {
    const { store, mine } = await open({ readonlyFields: ['component.valueQuantity.unit'] });
    const read = await mine.read('Observation', 'o');
    read.status = 'amended';
    await mine.update(read);
    expect(await stored(store)).toBe(TEXT.replace('final', 'amended'));
  });

  test('cannot get another value', async () => {
    const { store, mine } = await open({ readonlyFields: ['valueQuantity'] });
    expect(await codeOf(mine.update(parseJson(TEXT.replace('1.00', '1.01')) as Observation))).toBe('forbidden');
    expect(await stored(store)).toBe(TEXT);
  });

  test('inside a resource that has guarded elements can be sent back as a number', async () => {
    const store = new MemoryStore();
    await system(store);
    const text =
      '{"resourceType":"Observation","id":"o","status":"final","code":{"text":"x"},"contained":[{"resourceType":"Media","id":"m","status":"completed","duration":1.00,"note":[{"text":"secret"}]}]}';
    await importNdjson([Buffer.from(text)], { store, caller: systemCaller('clinic') });
    const mine = await member(store, {
      rules: [{ resourceType: 'Observation' }, { resourceType: 'Media', hiddenFields: ['note'] }],
    });
    const shown = JSON.parse(JSON.stringify(await mine.read('Observation', 'o'))) as Observation;
    await mine.update({ ...shown, status: 'amended' });
    expect(await stored(store)).toBe(text.replace('final', 'amended'));
  });
});
