import { setFlagsFromString } from 'node:v8';
import { expect, test, vi } from 'vitest';
import { R4 } from '../../src/store.js';
import { validateResource } from '../../src/fhir/validate-resource.js';

test('a resource of half the limit is measured without its JSON text', () => {
  const name = Array.from({ length: 50 }, (_, n) => ({ text: `Name ${n}`, period: { start: '2020' } }));
  const resource = { resourceType: 'Patient', name, multipleBirthInteger: 2 };
  const maxBytes = 2 * JSON.stringify(resource).length;
  const stringify = vi.spyOn(JSON, 'stringify');
  expect(validateResource(R4, resource, { maxBytes })).toEqual([]);
  expect(stringify).not.toHaveBeenCalled();
  stringify.mockRestore();
});

test('long texts that were built by += are flat after the check', () => {
  setFlagsFromString('--allow-natives-syntax');
  // V8 hashes a text in pieces by walking all of them, each time.
  const isInOnePiece = new Function('text', 'return %StringIsFlat(text)') as (text: string) => boolean;
  const built = (length: number, first: number): string => {
    let text = String.fromCharCode(first);
    for (let at = 1; at < length; at++) text += String.fromCharCode(97 + (at % 26));
    return text;
  };
  const texts = Array.from({ length: 20 }, (_, index) => built(65_536, 65 + index));
  expect(texts.some(isInOnePiece)).toBe(false);
  const name = texts.map((family) => ({ family }));
  expect(validateResource(R4, { resourceType: 'Patient', name }, { maxValues: 50_000 })).toEqual([]);
  expect(texts.every(isInOnePiece)).toBe(true);
});
