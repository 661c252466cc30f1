import { expect, test } from 'vitest';
import { checkBase64 } from '../../src/fhir/validation/primitives.js';

const LONG = 65_536;

const TAILS = [
  '',
  'A',
  'AA',
  'AA==',
  'AAA=',
  'A===',
  '=',
  '==',
  '\nAAAA',
  'AA\nAA',
  '\n',
  '-',
  'AA==\n',
  'AA==AAAA',
  '= =',
  'é',
];

test('the length of a text makes no difference', () => {
  for (const tail of TAILS) {
    for (let before = 0; before < 8; before++) {
      const [long, short] = ['A'.repeat(2 * LONG - before), 'A'.repeat(8 - before)];
      expect(checkBase64(long + tail), JSON.stringify([tail, before])).toEqual(checkBase64(short + tail));
    }
  }
  expect(checkBase64('AAAA'.repeat(LONG))).toBeUndefined();
  expect(checkBase64(`${'A'.repeat(LONG - 2)}==${'A'.repeat(LONG)}`)).toMatchObject({ code: 'value' });
  expect(checkBase64('AAAA\r\n'.repeat(LONG))).toBeUndefined();
});
