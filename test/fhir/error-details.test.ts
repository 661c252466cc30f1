import { parseJson } from '../../src/http.js';
import { FhirError } from '../../src/index.js';
import { R4 } from '../../src/store.js';
import { expect, test } from 'vitest';
import { parseSearch } from '../../src/search/parse/parse-search.js';

test('the details of an error are typed by its code', () => {
  const unknown = faultOf(() => parseSearch(R4, 'Patient', 'nmae=x'));
  const parameter: string | undefined = unknown.detailsOf('invalid')?.unknownParameter;
  expect(parameter).toBe('nmae');

  const json = faultOf(() => parseJson('{\n  "a": x }'));
  const { line, column }: { readonly line?: number; readonly column?: number } = json.detailsOf('invalid')!;
  expect([line, column]).toEqual([2, 8]);

  const long = faultOf(() => parseSearch(R4, 'Patient', '_filter=' + 'not ('.repeat(70)));
  const max: number | undefined = long.detailsOf('too-costly')?.max;
  expect(max).toBe(50);
});

test('the details of an error do not have the type of another code', () => {
  const error = new FhirError('conflict', 'Taken', { details: { profiles: ['Patient/1'], index: 2 } });
  expect(error.detailsOf('conflict')?.profiles).toEqual(['Patient/1']);
  expect(error.detailsOf('conflict')?.index).toBe(2);
  expect(error.detailsOf('too-costly')).toBeUndefined();
  expect(new FhirError('gone', 'Gone').detailsOf('gone')).toBeUndefined();
  // @ts-expect-error a conflict has no such detail
  expect(error.detailsOf('conflict')?.max).toBeUndefined();
});

function faultOf(call: () => unknown): FhirError {
  try {
    call();
  } catch (error) {
    if (error instanceof FhirError) return error;
    throw error;
  }
  throw new Error('It did not fail');
}
