import { expect, test } from 'vitest';
import { decodeBase64, encodeBase64 } from '../../src/platform/bytes.js';

test('text is decoded with or without white space, and other text is refused', () => {
  const bytes = Uint8Array.from({ length: 256 }, (_, index) => index);
  const text = encodeBase64(bytes);
  expect(text).toBe(Buffer.from(bytes).toString('base64'));
  expect(decodeBase64(text)).toStrictEqual(bytes);
  expect(decodeBase64(text.replaceAll(/.{76}/g, '$&\r\n'))).toStrictEqual(bytes);
  for (const wrong of ['A', 'AA', 'A===', 'AA-A', 'AA==A', 'AA==AAAA']) expect(decodeBase64(wrong)).toBeUndefined();
});
