import { appendFileSync, readFileSync, writeFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { JsonLinesStore } from '../../examples/json-lines-store/store.js';
import { createRepository, executeFhirGraphql, systemCaller } from '../../src/index.js';
import { storeConformance } from '../../src/testing.js';
import { temporaryFolder } from '../stores/temporary-folder.js';
import { KIT_EFFORT, SEED } from '../support/chance.js';

const fileNamed = temporaryFolder();
let files = 0;
const newFile = (): string => fileNamed(`${files++}.jsonl`);

storeConformance({ describe, test }, () => new JsonLinesStore(newFile()), { seed: SEED, effort: KIT_EFFORT });

test('written data are there after the file is opened again, including deletions and unique texts', async () => {
  const file = newFile();
  const caller = systemCaller('clinic');
  const store = new JsonLinesStore(file);
  const repository = createRepository({ store, caller });
  const kept = await repository.create({ resourceType: 'Patient', name: [{ family: 'Kulas' }] });
  const gone = await repository.create({ resourceType: 'Patient' });
  await repository.delete('Patient', gone.id);
  const key = { project: 'clinic', type: 'Basic', id: '1' };
  const put = { kind: 'put', key, resource: { resourceType: 'Basic', id: '1' }, unique: ['one'] } as const;
  await store.commit([put]);
  await store.close();

  const again = new JsonLinesStore(file);
  const { data } = await executeFhirGraphql('{ PatientList { name { family } } }', { store: again, caller });
  expect(data).toEqual({ PatientList: [{ name: [{ family: 'Kulas' }] }] });
  const keys = [kept, gone].map(({ id }) => ({ project: 'clinic', type: 'Patient', id: id }));
  expect((await again.read(keys)).map(({ status }) => status)).toEqual(['found', 'gone']);
  const other = { ...key, id: '2' };
  await expect(
    again.commit([{ ...put, key: other, resource: { resourceType: 'Basic', id: '2' } }]),
  ).rejects.toMatchObject({ code: 'conflict', details: { holder: 'Basic/1' } });
  await again.close();
});

test('a truncated line is ignored, a broken line is reported', async () => {
  const file = newFile();
  const store = new JsonLinesStore(file);
  await createRepository({ store, caller: systemCaller('clinic') }).create({ resourceType: 'Patient' });
  await store.close();
  const whole = readFileSync(file, 'utf8');
  appendFileSync(file, whole.slice(0, 40));
  await new JsonLinesStore(file).close();
  expect(readFileSync(file, 'utf8')).toBe(whole);
  writeFileSync(file, `${whole.slice(0, 40)}\n`);
  expect(() => new JsonLinesStore(file)).toThrow(expect.objectContaining({ code: 'corrupt' }));
});
