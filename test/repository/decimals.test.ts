import type { Observation } from '@medplum/fhirtypes';
import Database from 'better-sqlite3';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { stringifyJson } from '../../src/http.js';
import { createRepository, executeFhirGraphql, importNdjson } from '../../src/index.js';
import { SqliteStore } from '../../src/sqlite.js';
import { withTelemetry } from '../../src/telemetry.js';
import { cases, SEED } from '../support/chance.js';
import { bringAll, caller, samples, WAYS_IN, WAYS_OUT } from './decimal-ways.js';
import { overStores } from './harness.js';

overStores('decimals', (open) => {
  test('keep their text through every entrance', async () => {
    const context = { store: open(), caller };
    await fc.assert(
      fc.asyncProperty(samples, (sample) => bringAll(sample, context)),
      { seed: SEED, numRuns: cases(100, 5) },
    );
  });

  test('keep their text in every output', async () => {
    const context = { store: withTelemetry(open(), {}), caller };
    await fc.assert(
      fc.asyncProperty(samples, async (sample) => {
        await WAYS_IN['ndjson']!(sample, context);
        for (const [name, answer] of Object.entries(WAYS_OUT)) {
          // A second read comes out of the cache of a store.
          for (let time = 0; time < 2; time++) expect(await answer(sample.type, context), name).toBe(sample.text);
        }
      }),
      { seed: SEED, numRuns: cases(200, 10) },
    );
  });

  test('are numbers in process, and nothing shows that they have texts', async () => {
    const context = { store: open(), caller };
    await importNdjson(
      [Buffer.from('{"resourceType":"Observation","id":"o","valueQuantity":{"value":1.00}}')],
      context,
    );
    const resource = await createRepository(context).read('Observation', 'o');
    expect(resource.valueQuantity).toEqual({ value: 1 });
    expect(JSON.stringify(resource.valueQuantity)).toBe('{"value":1}');
    const result = await executeFhirGraphql('{ Observation(id: "o") { valueQuantity { value } } }', context);
    expect(result).toEqual({ data: { Observation: { valueQuantity: { value: 1 } } } });
    // Values that the host creates have numbers; values that it passes on keep the texts.
    const built = { ...resource, valueQuantity: { ...resource.valueQuantity, unit: 'kg' } };
    expect(stringifyJson(built.valueQuantity)).toBe('{"value":1,"unit":"kg"}');
    expect(stringifyJson({ ...resource, status: 'final' })).toContain('{"value":1.00}');
  });

  test('with another text are different content for an import', async () => {
    const context = { store: open(), caller };
    const bring = (decimal: string) =>
      importNdjson(
        [Buffer.from(`{"resourceType":"Observation","id":"o","valueQuantity":{"value":${decimal}}}`)],
        context,
      );
    expect(await bring('1')).toMatchObject({ created: 1 });
    expect(await bring('1.00')).toMatchObject({ updated: 1 });
    expect(await bring('1.00')).toMatchObject({ unchanged: 1 });
    expect(await bring('1.0')).toMatchObject({ updated: 1 });
    expect(await bring('1')).toMatchObject({ updated: 1 });
    expect(await bring('1')).toMatchObject({ unchanged: 1 });
  });

  test('that are sent as numbers are stored as numbers', async () => {
    const context = { store: open(), caller };
    await WAYS_IN['ndjson']!(
      { type: 'Observation', text: '{"resourceType":"Observation","id":"one","valueQuantity":{"value":1.00}}' },
      context,
    );
    const repository = createRepository(context);
    await repository.update({ resourceType: 'Observation', id: 'one', valueQuantity: { value: 1 } } as Observation);
    expect(await WAYS_OUT['read']!('Observation', context)).toContain('{"value":1}');
  });

  test('beyond the range of a double are refused, not stored as null', async () => {
    const context = { store: open(), caller };
    const line = '{"resourceType":"Observation","id":"o","valueQuantity":{"value":1e400}}';
    const { errors } = await importNdjson([Buffer.from(line)], context);
    expect(errors.map(({ reason }) => reason.code)).toEqual(['invalid']);
  });

  test('are found by their value, with the precision of the search', async () => {
    const context = { store: open(), caller };
    await importNdjson(
      [Buffer.from('{"resourceType":"Observation","id":"o","valueQuantity":{"value":1.00}}')],
      context,
    );
    const repository = createRepository(context);
    for (const [search, total] of [
      ['1', 1],
      ['1.00', 1],
      ['1.000000', 1],
      ['1.001', 0],
      ['0.996', 0],
    ] as const) {
      const found = await repository.search('Observation', { 'value-quantity': String(search), _total: 'accurate' });
      expect(found.total, search).toBe(total);
    }
  });
});

test('decimals are in the JSON text of a version, which begins with a space for them', async () => {
  const database = new Database(':memory:');
  const store = new SqliteStore(database);
  for (const decimal of ['1.00', '1']) {
    const line = `{"resourceType":"Observation","id":"o","valueQuantity":{"value":${decimal}}}`;
    await importNdjson([Buffer.from(line)], { store, caller });
  }
  const texts = database.prepare('SELECT text FROM version ORDER BY version').pluck().all() as string[];
  expect(texts.map((text) => text.replaceAll('\n', '').replace(/"meta":\{[^}]*\},/, ''))).toEqual([
    ' {"resourceType":"Observation","id":"o","valueQuantity":{"value":1.00}}',
    '{"resourceType":"Observation","id":"o","valueQuantity":{"value":1}}',
  ]);
  expect(await store.verify()).toEqual({ resources: 1, problems: [] });
  await store.close();
});
