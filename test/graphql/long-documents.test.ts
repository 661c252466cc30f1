import { afterEach, expect, test } from 'vitest';
import { executeFhirGraphql, MemoryStore, systemCaller } from '../../src/index.js';
import { PACE } from '../../src/platform/pace.js';
import { countTurns } from '../support/count-turns.js';

const { turnMs } = PACE;
afterEach(() => void (PACE.turnMs = turnMs));

test('a long document is parsed, checked by the rules and merged in a turn each', async () => {
  const context = { store: new MemoryStore(), caller: systemCaller('clinic') };
  // Each text is a document of its own; fragments are checked by the rules.
  const ask = (name: string) =>
    countTurns(() => executeFhirGraphql(`{ PatientList { ...${name} } } fragment ${name} on Patient { id }`, context));
  await ask('first');
  PACE.turnMs = 1e9;
  const atOnce = await ask('second');
  PACE.turnMs = 0;
  const inTurns = await ask('third');
  expect(inTurns.result).toEqual(atOnce.result);
  expect(inTurns.result).toEqual({ data: { PatientList: [] } });
  expect(inTurns.turns - atOnce.turns).toBe(3);
});
