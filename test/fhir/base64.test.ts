import { expect, test } from 'vitest';
import { R4 } from '../../src/fhir/r4.js';
import type { AnyResource } from '../../src/fhir/resource.js';
import { validatingStorable } from '../../src/fhir/validate-resource.js';
import { checkBase64 } from '../../src/fhir/validation/base64.js';

/** Number of characters that are checked in one step. */
const STEP = 65_536;

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

test('the position where a long text is split makes no difference', () => {
  for (const tail of TAILS) {
    for (let before = 0; before < 8; before++) {
      const [long, short] = ['A'.repeat(2 * STEP - before), 'A'.repeat(8 - before)];
      expect(checkBase64(long + tail), JSON.stringify([tail, before])).toEqual(checkBase64(short + tail));
    }
  }
  expect(checkBase64('AAAA'.repeat(STEP))).toBeUndefined();
  expect(checkBase64(`${'A'.repeat(STEP - 2)}==${'A'.repeat(STEP)}`)).toMatchObject({ code: 'value' });
  expect(checkBase64('AAAA\r\n'.repeat(STEP))).toBeUndefined();
});

test('a long attachment is checked in steps', () => {
  const stepsOf = (data: string): number => {
    const content = [{ attachment: { contentType: 'text/plain', data } }];
    const resource: AnyResource = { resourceType: 'DocumentReference', ...{ status: 'current', content } };
    const work = validatingStorable(R4, resource);
    let steps = 0;
    let step = work.next();
    for (; step.done !== true; step = work.next()) steps += 1;
    expect(step.value).toEqual([]);
    return steps;
  };
  expect(stepsOf('A'.repeat(40 * STEP))).toBeGreaterThanOrEqual(39);
});
