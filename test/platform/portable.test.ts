import { createHash } from 'node:crypto';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { byteLength, textOfBase64Url, textToBase64Url } from '../../src/platform/bytes.js';
import { portableSha256, sha256Of } from '../../src/platform/crypto.js';
import { nextTurn, pause } from '../../src/platform/runtime.js';
import { createRandom } from '../support/kit.js';
import { cases, SEED } from '../support/chance.js';

afterEach(() => {
  vi.unstubAllGlobals();
});

describe('browsers compute what Node.js computes', () => {
  test(`for random texts (seed ${SEED})`, () => {
    const random = createRandom(SEED);
    for (let n = 0; n < cases(200); n += 1) {
      const text = randomText(random);
      const native = [textToBase64Url(text), textOfBase64Url(textToBase64Url(text)), byteLength(text)];
      expect(portableSha256(text, 'hex')).toBe(createHash('sha256').update(text).digest('hex'));
      expect(portableSha256(text, 'base64url')).toBe(sha256Of(text, 'base64url'));
      vi.stubGlobal('Buffer', undefined);
      expect([textToBase64Url(text), textOfBase64Url(textToBase64Url(text)), byteLength(text)]).toEqual(native);
      vi.unstubAllGlobals();
    }
  });

  test('for bytes that are not UTF-8', () => {
    const base64 = Buffer.from([0xef, 0xbb, 0xbf, 0x41, 0xff, 0xc3]).toString('base64url');
    const native = textOfBase64Url(base64);
    vi.stubGlobal('Buffer', undefined);
    expect(textOfBase64Url(base64)).toBe(native);
  });
});

describe('a pause', () => {
  test('ends when its signal fires, without an error', async () => {
    const controller = new AbortController();
    const paused = pause(1_000_000, controller.signal);
    controller.abort(new Error('gone'));
    await expect(paused).resolves.toBeUndefined();
    await expect(pause(1_000_000, controller.signal)).resolves.toBeUndefined();
  });
});

test('without setImmediate, the next turn comes by a timer', async () => {
  vi.stubGlobal('setImmediate', undefined);
  await expect(nextTurn()).resolves.toBeUndefined();
});

/** Texts of letters, umlauts, astral characters and lone surrogates. */
function randomText(random: () => number): string {
  const length = Math.floor(random() * 80);
  return Array.from({ length }, () => CHARACTERS[Math.floor(random() * CHARACTERS.length)]).join('');
}

const CHARACTERS = ['a', 'Z', '0', '-', '_', 'ü', 'ß', '漢', '🌿', '\u{10ffff}', '\ud800', '\udc00', '\0', '\ufeff'];
