import { afterEach, expect, test } from 'vitest';
import { PARSED_PARTS } from '../../src/fhir/json/parse-in-turns.js';
import { importNdjson, MemoryStore, type NdjsonResult, systemCaller } from '../../src/index.js';
import { PACE } from '../../src/platform/loop-turn.js';
import { contents, PROJECT } from './harness.js';
import { countTurns } from '../support/count-turns.js';

const TUNINGS = [PARSED_PARTS, PACE] as const;
const DEFAULTS = TUNINGS.map((one) => ({ ...one }));
afterEach(() => {
  for (const [index, one] of TUNINGS.entries()) Object.assign(one, DEFAULTS[index]);
});

const caller = systemCaller(PROJECT);

function patient(id: string, names: number): string {
  const name = Array.from({ length: names }, (_, n) => ({ family: `Family ${n}`, given: ['Ann', '😀'] }));
  return JSON.stringify({ resourceType: 'Patient', id, name });
}

async function imported(context: object): Promise<readonly [NdjsonResult, unknown]> {
  const store = new MemoryStore();
  const result = await importNdjson(LINES.join('\n'), { store, caller, ...context });
  return [result, await contents(store)];
}

const LINES = [
  patient('a', 1),
  patient('b', 50),
  '',
  patient('c', 50).slice(0, -1),
  `\uFEFF${patient('d', 40)}`,
  patient('e', 2),
  `${' '.repeat(500)}`,
  JSON.stringify({ resourceType: 'Patient', id: 'no blanks', name: [{ family: 'x'.repeat(500) }] }),
  `{"resourceType":"Patient","id":"f","name":[{"family":"${'y'.repeat(500)}" oops}]}`,
  patient('b', 60),
];

test.each([{}, { batchLines: 1 }, { stopOnError: true }, { batchBytes: 1_000 }])(
  'long lines, good and bad, are imported as short ones are: %o',
  async (options) => {
    const asShort = await imported(options);
    expect(asShort[0].errors[0]).toMatchObject({ line: 4, reason: { message: /it ends too early at column \d+$/ } });
    expect(Object.keys(asShort[1] as object)).toContain('Patient/b');
    Object.assign(PARSED_PARTS, { long: 200, size: 40 });
    PACE.turnMs = 0;
    expect(await imported(options)).toEqual(asShort);
  },
);

test.each([
  ['a good one', patient('a', 3_000), 1],
  ['one that ends too early', patient('a', 3_000).slice(0, -1), 0],
])('a long line lets other work run while it is read: %s', async (_, line, created) => {
  PARSED_PARTS.size = 100;
  const read = (): ReturnType<typeof countTurns<NdjsonResult>> =>
    countTurns(() => importNdjson(line, { store: new MemoryStore(), caller }));
  PACE.turnMs = 0;
  const asShort = await read();
  PARSED_PARTS.long = 1_000;
  const asLong = await read();
  expect([asShort.result.created, asLong.result.created]).toEqual([created, created]);
  // Each name has about 50 characters.
  expect(asLong.turns - asShort.turns).toBeGreaterThanOrEqual(1_000);
});
