import { describe, expect, test } from 'vitest';
import { deleteElement } from '../../src/fhir/json/decimal-texts.js';
import { parseJson, stringifyJson } from '../../src/http.js';
import type { AnyResource } from '../../src/index.js';
import { jsonText, parseJsonText } from '../../src/store.js';
import { below, createRandom, oneOf, someOf } from '../support/kit.js';
import { ElementReader, elementReader } from '../../src/store/element-reader.js';
import { jsonLines } from '../../src/store/json-text.js';
import { cases, IS_WHOLE, SEED } from '../support/chance.js';

const PATIENT = {
  resourceType: 'Patient',
  id: 'a',
  meta: { versionId: '1' },
  text: { status: 'generated', div: '<div>\n"gender":"male",\n</div>' },
  gender: 'female',
  _gender: { id: 'g' },
  contact: [{ gender: 'male' }],
};

describe('jsonLines', () => {
  test('has a line for each element', () => {
    expect(jsonLines(PATIENT)).toBe(
      [
        '{',
        '"resourceType":"Patient",',
        '"id":"a",',
        '"meta":{"versionId":"1"},',
        String.raw`"text":{"status":"generated","div":"<div>\n\"gender\":\"male\",\n</div>"},`,
        '"gender":"female",',
        '"_gender":{"id":"g"},',
        '"contact":[{"gender":"male"}]}',
      ].join('\n'),
    );
  });

  test('writes the texts of decimals, with the mark that its reader needs', () => {
    const text = '{"resourceType":"ChargeItem","factorOverride":1.00,"quantity":{"value":2.50}}';
    const lines = jsonLines(parseJson(text) as AnyResource);
    expect(lines).toBe(' {\n"resourceType":"ChargeItem",\n"factorOverride":1.00,\n"quantity":{"value":2.50}}');
    expect(stringifyJson(parseJsonText(lines))).toBe(text);
  });

  test('writes texts and names with any characters like JSON', () => {
    const linesOf = (elements: object): string =>
      `{${Object.entries(elements)
        .map(([name, value]) => `\n${JSON.stringify(name)}:${JSON.stringify(value)}`)
        .join(',')}}`;
    // Characters that need escapes are below U+0100, or surrogates.
    for (let unit = 0; unit < 0x1_00_00; unit += unit < 0x1_00 || IS_WHOLE ? 1 : 7) {
      const character = String.fromCharCode(unit);
      const resource = { resourceType: 'Basic', [`_${character}`]: character, b: `b${character.repeat(70)}` };
      if (jsonLines(resource) !== linesOf(resource)) expect.fail(`U+${unit.toString(16)}`);
    }
    const names = Array.from({ length: 5_000 }, (_, index) => [`n${index}`, `${index}`]);
    const wide = { resourceType: 'Basic', ...Object.fromEntries(names) } as AnyResource;
    expect(jsonLines(wide)).toBe(linesOf(wide));
    expect(jsonLines({ meta: undefined, ...wide })).toBe(linesOf(wide));
  });

  test('omits the values that JSON omits', () => {
    const resource = { resourceType: 'Basic', id: undefined, code: () => 1, 'a"b': null } as unknown as AnyResource;
    expect(jsonLines(resource)).toBe('{\n"resourceType":"Basic",\n"a\\"b":null}');
    expect(jsonLines({ toJSON: () => ({ resourceType: 'Basic' }) } as unknown as AnyResource)).toBe(
      '{"resourceType":"Basic"}',
    );
  });

  test('rejects a resource that contains itself', () => {
    const code: Record<string, unknown> = { text: 'loop' };
    code['coding'] = [code];
    const unprocessable = expect.objectContaining({ code: 'unprocessable' }) as Error;
    expect(() => jsonLines({ resourceType: 'Basic', code } as AnyResource)).toThrow(unprocessable);
  });
});

describe('ElementReader', () => {
  const reader = new ElementReader(['gender', 'contact']);
  const read = (resource: AnyResource, names: readonly string[]): AnyResource =>
    new ElementReader(names).read(jsonLines(resource));

  test('reads the elements with the type and the id, and no others', () => {
    expect(reader.read(jsonLines(PATIENT))).toEqual({
      resourceType: 'Patient',
      id: 'a',
      gender: 'female',
      contact: [{ gender: 'male' }],
    });
    expect(read(PATIENT, [])).toEqual({ resourceType: 'Patient', id: 'a' });
    expect(read(PATIENT, ['_gender'])).toEqual({ resourceType: 'Patient', id: 'a', _gender: { id: 'g' } });
  });

  test('leaves texts without lines, from older versions, and texts without an end to JSON.parse', () => {
    expect(reader.prefersWhole(jsonLines(PATIENT))).toBe(false);
    expect(reader.prefersWhole(jsonText(PATIENT))).toBe(true);
    expect(reader.prefersWhole('{\n"resourceType":"Patient",\n"name":[')).toBe(true);
  });

  test('keeps the texts of decimals', () => {
    const text = '{"resourceType":"ChargeItem","id":"a","note":[],"factorOverride":1.00,"quantity":{"value":2.50}}';
    const lines = jsonLines(parseJson(text) as AnyResource);
    expect(stringifyJson(new ElementReader(['factorOverride', 'quantity']).read(lines))).toBe(
      text.replace('"note":[],', ''),
    );
  });

  test('prefers whole texts while nearly all elements are needed, and measures again from time to time', () => {
    const wide = new ElementReader(['meta', 'text', '_gender', 'contact']);
    const lines = jsonLines(PATIENT);
    const reads = Array.from({ length: 60 }, () => {
      if (wide.prefersWhole(lines)) return 0;
      wide.read(lines);
      return 1;
    });
    expect(reads.slice(0, 8)).toEqual(Array.from({ length: 8 }, () => 1));
    expect(reads.slice(20).filter((count) => count === 1).length).toBeLessThan(4);
    expect(reads.slice(20)).toContain(1);
  });

  test('measures ever fewer texts while nearly all elements are needed, and many again when fewer are needed', () => {
    const wide = new ElementReader(['meta', 'text', '_gender', 'contact']);
    const measuredOf = (resource: AnyResource, count: number): number => {
      const lines = jsonLines(resource);
      let measured = 0;
      for (let at = 0; at < count; at++) {
        if (wide.prefersWhole(lines)) continue;
        wide.read(lines);
        measured += 1;
      }
      return measured;
    };
    measuredOf(PATIENT, 20);
    expect(measuredOf(PATIENT, 4_800)).toBeLessThanOrEqual(15);
    const narrow = { ...PATIENT, address: Array.from({ length: 50 }, () => ({ city: 'A' })) } as AnyResource;
    measuredOf(narrow, 600);
    expect(measuredOf(narrow, 100)).toBe(100);
  });

  test('throws on a text that is not JSON', () => {
    for (const damaged of ['', '"', 'female"', '"female']) {
      expect(() => reader.read(`{\n"resourceType":"Patient",\n"gender":${damaged}}`)).toThrow(SyntaxError);
    }
  });

  test('reads resources of several types alternately', () => {
    const resources = ['Patient', 'Person', 'Patient', 'Patient', 'A"b', 'Group', 'A"b'].map((resourceType, index) => ({
      resourceType,
      id: `${index}`,
      gender: 'female',
    }));
    expect(resources.map((one) => reader.read(jsonLines(one)))).toEqual(resources);
    const { id, gender, resourceType } = resources[0]!;
    const turned: AnyResource & { gender?: string } = { id, gender, resourceType };
    expect(reader.read(jsonLines(turned))).toEqual(resources[0]);
    expect(reader.read('{\n"resourceType":"Patient"}')).toEqual({ resourceType: 'Patient' });
  });

  test('is the same object for one list', () => {
    const names = ['a'];
    expect(elementReader(names)).toBe(elementReader(names));
  });

  test(`reads any elements of any resource as they are in the whole (seed ${SEED})`, () => {
    const random = createRandom(SEED);
    const texts = ['x', '\n"b":', '",\n"b":1', '\\', '}', '{', '𝒳', '\u2028', '', 'é"', 'long'.repeat(2_500)];
    const names = ['a', 'b', '_b', 'bb', 'c', 'id', 'meta', 'resourceType', 'a b', 'ü'];
    const value = (depth: number): unknown => {
      const kind = below(depth === 0 ? 4 : 6, random);
      if (kind < 2) return oneOf(texts, random);
      if (kind === 2) return oneOf([0, -1.5, 1e21, true, null], random);
      if (kind === 3) return parseJson(`{"value":${oneOf(['1.00', '-0.0', '1E2', '42'], random)}}`);
      const items = Array.from({ length: below(3, random) }, () => value(depth - 1));
      return kind === 4 ? items : Object.fromEntries(items.map((item) => [oneOf(names, random), item]));
    };
    for (let count = 0; count < cases(2000, 120); count++) {
      const own = Object.fromEntries(someOf(names, random).map((name) => [name, value(3)]));
      const text = stringifyJson({ ...own, resourceType: 'Basic' });
      const whole = parseJson(text) as AnyResource;
      const wanted = someOf(names, random);
      const expected = parseJson(text) as { [name: string]: unknown };
      for (const name of Object.keys(expected)) {
        if (!['resourceType', 'id', ...wanted].includes(name)) deleteElement(expected, name);
      }
      expect(stringifyJson(read(whole, wanted)), `${text} ${wanted.join()}`).toBe(stringifyJson(expected));
      expect(stringifyJson(parseJsonText(jsonLines(whole)))).toBe(text);
    }
  });
});
