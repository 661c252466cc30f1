import { expect, test } from 'vitest';
import { compareTexts } from '../../src/platform/texts.js';
import { below, createRandom, oneOf } from '../support/kit.js';
import { cases, SEED } from '../support/chance.js';

test('texts are in the order of their UTF-8, byte by byte', () => {
  const random = createRandom(SEED);
  const characters = [
    '',
    'a',
    'z',
    '\u{d7ff}',
    '\u{e000}',
    '\u{ffff}',
    '\u{10000}',
    '\u{1f600}',
    '\u{10ffff}',
    '\u{d83d}',
    '\u{de00}',
    '\u{fffd}',
  ];
  const some = (most: number): string =>
    Array.from({ length: below(most, random) }, () => oneOf(characters, random)).join('');
  for (let made = 0; made < cases(2_000); made++) {
    const start = some(60);
    const [one, other] = [`${start}${some(4)}`, `${start}${some(4)}`];
    const expected = Buffer.compare(Buffer.from(one), Buffer.from(other));
    expect(Math.sign(compareTexts(one, other)), JSON.stringify([one, other])).toBe(expected);
  }
});
