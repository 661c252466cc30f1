import { afterEach, expect, test } from 'vitest';
import { DECODED, decodeBase64, decodeBase64InTurns } from '../../src/platform/base64.js';
import { PACE } from '../../src/platform/loop-turn.js';
import { below, createRandom, oneOf } from '../../src/testing/random.js';
import { SEED } from '../support/chance.js';
import { countTurns } from '../support/count-turns.js';

const { part } = DECODED;
const { turnMs } = PACE;

afterEach(() => {
  DECODED.part = part;
  PACE.turnMs = turnMs;
});

test(`parts give the bytes of the whole, or refuse what it refuses (seed ${SEED})`, async () => {
  DECODED.part = 8;
  const random = createRandom(SEED);
  for (let turn = 0; turn < 2_000; turn++) {
    const text = Buffer.from(Array.from({ length: below(40, random) }, () => below(256, random))).toString('base64');
    const at = below(text.length + 1, random);
    const changed = text.slice(0, at) + oneOf(['', '', '', '\n', '=', '-', ' A'], random) + text.slice(at);
    expect(await decodeBase64InTurns(changed), changed).toStrictEqual(decodeBase64(changed));
  }
});

test('a long text is decoded in turns with other work', async () => {
  DECODED.part = 1_000;
  PACE.turnMs = 0;
  const { result, turns } = await countTurns(() => decodeBase64InTurns('AAAA'.repeat(10_000)));
  expect(result?.length).toBe(30_000);
  expect(turns).toBeGreaterThan(20);
});
