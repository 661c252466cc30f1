import { FhirError } from '../../src/index.js';
import { type DateTest, type NumberTest, type Prefix, R4 } from '../../src/store.js';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { escapeValue, splitEscaped, unescape } from '../../src/search/parse/string-criteria.js';
import { numberInterval } from '../../src/search/parse/parse-value.js';
import { parseFilter } from '../../src/search/parse/filter/parse-filter.js';
import { parseParameter } from '../../src/search/parse/parse-parameter.js';
import { parseSearch, parseSort } from '../../src/search/parse/parse-search.js';
import { testValue } from '../../src/search/evaluate/test-value.js';
import { testOf } from './harness.js';
import { CHARACTER, cases, someOf } from '../support/chance.js';

const TYPES = ['Patient', 'Observation', 'RiskAssessment', 'ValueSet', 'Group', 'Location', 'Encounter'];
const ALLOWED_CODES = ['invalid', 'unsupported', 'too-costly'];

const date = (prefix: Prefix, low: number, high: number): DateTest => ({ kind: 'date', prefix, low, high });
const number = (prefix: Prefix, low: number, high: number): NumberTest => ({ kind: 'number', prefix, low, high });
/** Two ordered bounds at least `width` apart. */
const bounds = (width: number): fc.Arbitrary<readonly [number, number]> =>
  fc.tuple(fc.integer({ min: -9, max: 9 }), fc.integer({ min: width, max: 6 })).map(([low, size]) => [low, low + size]);

describe('escapes', () => {
  const literal = fc.string({ unit: fc.constantFrom('a', ',', '|', '$', '\\', ' ', 'é') });

  it('round trip', () => {
    fc.assert(
      fc.property(literal, (value) => {
        expect(unescape(escapeValue(value))).toBe(value);
      }),
    );
  });

  it('keep parts apart', () => {
    fc.assert(
      fc.property(fc.array(literal, { minLength: 1 }), fc.constantFrom(',', '|', '$'), (parts, separator) => {
        const joined = parts.map(escapeValue).join(separator);
        expect(splitEscaped(joined, separator).map(unescape)).toEqual(parts);
      }),
    );
  });

  it('restore a token', () => {
    const some = fc.string({ minLength: 1, maxLength: 20 });
    fc.assert(
      fc.property(some, some, (system, code) => {
        const test = testOf('Observation', 'code', `${escapeValue(system)}|${escapeValue(code)}`);
        expect(test).toEqual({ kind: 'token', system, code });
      }),
    );
  });
});

describe('prefixes', () => {
  it('exactly one of ends-before, overlaps, starts-after holds for dates', () => {
    fc.assert(
      fc.property(bounds(1), bounds(1), ([low, high], [l, h]) => {
        const held = (['eb', 'po', 'sa'] as const).filter((prefix) =>
          testValue(date(prefix, low, high), { kind: 'date', low: l, high: h }),
        );
        expect(held).toHaveLength(1);
      }),
    );
  });

  it('exactly one of ends-before, overlaps, starts-after holds for numbers', () => {
    fc.assert(
      fc.property(bounds(0), bounds(0), ([low, high], [l, h]) => {
        const held = (['eb', 'po', 'sa'] as const).filter((prefix) =>
          testValue(number(prefix, low, high), { kind: 'number', low: l, high: h }),
        );
        expect(held).toHaveLength(1);
      }),
    );
  });

  it('exactly one of lt, eq, gt holds for an instant against a day', () => {
    fc.assert(
      fc.property(bounds(2), fc.integer({ min: -12, max: 18 }), ([low, high], l) => {
        const held = (['lt', 'eq', 'gt'] as const).filter((prefix) =>
          testValue(date(prefix, low, high), { kind: 'date', low: l, high: l + 1 }),
        );
        expect(held).toHaveLength(1);
      }),
    );
  });

  it.each(['date', 'number'] as const)('ne is not eq, ge is gt or eq, le is lt or eq: %s', (kind) => {
    const make = kind === 'date' ? date : number;
    fc.assert(
      fc.property(bounds(1), bounds(kind === 'date' ? 1 : 0), ([low, high], [l, h]) => {
        const stored = { kind, low: l, high: h } as const;
        const holds = (prefix: Prefix): boolean => testValue(make(prefix, low, high), stored);
        expect(holds('ne')).toBe(!holds('eq'));
        if (kind === 'number') return;
        expect(holds('ge')).toBe(holds('gt') || holds('eq'));
        expect(holds('le')).toBe(holds('lt') || holds('eq'));
      }),
    );
  });

  it('the five comparisons of exact numbers agree with arithmetic', () => {
    fc.assert(
      fc.property(fc.integer({ min: -9, max: 9 }), fc.integer({ min: -9, max: 9 }), (searched, stored) => {
        const holds = (prefix: Prefix): boolean =>
          testValue(testOf('RiskAssessment', 'probability', `${prefix}${searched}`), {
            kind: 'number',
            low: stored,
            high: stored,
          });
        expect(holds('gt')).toBe(stored > searched);
        expect(holds('lt')).toBe(stored < searched);
        expect(holds('ge')).toBe(stored >= searched);
        expect(holds('le')).toBe(stored <= searched);
        expect(holds('eq')).toBe(stored === searched);
      }),
    );
  });
});

describe('numberInterval', () => {
  const decimal = fc
    .tuple(fc.integer({ min: -99_999, max: 99_999 }), fc.integer({ min: 0, max: 6 }))
    .map(([digits, places]) => (digits / 10 ** places).toFixed(places));

  it('contains the value, and half a unit of its last digit on either side', () => {
    fc.assert(
      fc.property(decimal, (text) => {
        const { low, high } = numberInterval('eq', text)!;
        const places = text.split('.')[1]?.length ?? 0;
        expect(low).toBeLessThan(Number(text));
        expect(high).toBeGreaterThan(Number(text));
        expect(high - low).toBeCloseTo(10 ** -places, 9);
      }),
    );
  });

  it('has bounds that are the doubles of the same decimals in JSON', () => {
    expect(numberInterval('eq', '5.40')).toEqual({ low: 5.395, high: 5.405 });
    expect(numberInterval('eq', '0.1')).toEqual({ low: 0.05, high: 0.15 });
    expect(numberInterval('ap', '0.3')).toEqual({ low: 0.27, high: 0.33 });
    expect(numberInterval('eq', '0')).toEqual({ low: -0.5, high: 0.5 });
    expect(Object.is(numberInterval('gt', '-0')!.low, 0)).toBe(true);
  });
});

describe('any text', () => {
  /** Runs a parser. Anything but a result or one of the three refusals fails the property. */
  const parses = (parse: () => unknown): void => {
    try {
      expect(parse()).toBeDefined();
    } catch (error) {
      if (!(error instanceof FhirError)) throw error;
      expect(ALLOWED_CODES).toContain(error.code);
      expect(error.message.length).toBeLessThan(1_000);
    }
  };
  const type = fc.constantFrom(...TYPES);
  const typeAndCode = type.chain((one) =>
    fc.tuple(fc.constant(one), fc.constantFrom(...R4.searchParameters(one).keys())),
  );
  const piece = fc.oneof(
    fc.string({ unit: CHARACTER, maxLength: 12 }),
    fc.constantFrom(
      'name', 'subject', 'Patient', ':', '.', '_has:Observation:patient:', 'code', '|', '$', ',', '\\', 'ge', 'ap', '2020-01-01', '5.40', '1e2',
      '-', '(', ')', '[', ']', '"', ' ', ' and ', ' or ', 'not ', ' eq ', ' pr ', 'true', 'missing', '__proto__', 'constructor', '_sort', '=', '&', '\ud800',
    ), // prettier-ignore
  );
  const soup = fc.array(piece, { maxLength: 12 }).map((pieces) => pieces.join(''));

  it('as a name', () => {
    fc.assert(
      fc.property(type, soup, (one, name) => parses(() => parseParameter(R4, one, name, ['x']))),
      { numRuns: cases(500, 80) },
    );
  });

  it('as a value of every parameter', () => {
    fc.assert(
      fc.property(typeAndCode, soup, ([one, code], value) => parses(() => parseParameter(R4, one, code, [value]))),
      { numRuns: cases(1_000, 120) },
    );
  });

  it('with a modifier', () => {
    fc.assert(
      fc.property(typeAndCode, piece, soup, ([one, code], modifier, value) =>
        parses(() => parseParameter(R4, one, `${code}:${modifier}`, [value])),
      ),
      { numRuns: cases(500, 80) },
    );
  });

  it('as a filter', () => {
    fc.assert(
      fc.property(type, soup, (one, text) => parses(() => parseFilter(R4, one, text))),
      { numRuns: cases(1_000, 120) },
    );
  });

  it('as the value of a filter', () => {
    const operator = fc.constantFrom('eq', 'ne', 'co', 'sw', 'gt', 'ap', 'po', 'pr', 're', 'in', 'ss');
    fc.assert(
      fc.property(typeAndCode, operator, soup, ([one, code], op, value) =>
        parses(() => parseFilter(R4, one, `${code} ${op} ${JSON.stringify(value)}`)),
      ),
      { numRuns: cases(1_000, 120) },
    );
  });

  it('as a sort', () => {
    fc.assert(fc.property(type, soup, (one, text) => parses(() => parseSort(R4, one, [text]))));
  });

  it('as a query', () => {
    fc.assert(
      fc.property(type, soup, (one, text) => parses(() => parseSearch(R4, one, text))),
      { numRuns: cases(500, 80) },
    );
  });

  it.each([
    ['a name', (text: string) => parseParameter(R4, 'Patient', text, ['x'])],
    ['a value', (text: string) => parseParameter(R4, 'Patient', 'family', [text])],
    ['a token', (text: string) => parseParameter(R4, 'Observation', 'code', [text])],
    ['a number', (text: string) => parseParameter(R4, 'RiskAssessment', 'probability', [text])],
    ['a quantity', (text: string) => parseParameter(R4, 'Observation', 'value-quantity', [text])],
    ['a date', (text: string) => parseParameter(R4, 'Patient', 'birthdate', [text])],
    ['a reference', (text: string) => parseParameter(R4, 'Observation', 'subject', [text])],
    ['a filter', (text: string) => parseFilter(R4, 'Patient', text)],
    ['a sort', (text: string) => parseSort(R4, 'Patient', [text])],
    ['a query', (text: string) => parseSearch(R4, 'Patient', text)],
  ])('of a megabyte as %s', (_what, parse) => {
    for (const unit of someOf(
      ['a', '(', '\\', ',', '$', '_has:', '"', 'not (', '1', '|', '.', ':', ' ', '-', 'name.', 'é'],
      4,
    )) {
      parses(() => parse(unit.repeat(Math.ceil(1_000_000 / unit.length))));
    }
  });

  it('of a filter string at the maximum length', () => {
    parses(() => parseFilter(R4, 'Patient', `family eq "${'\\"'.repeat(49_000)}"`));
    parses(() => parseFilter(R4, 'Patient', `family eq "${'\\"'.repeat(49_000)}`));
  });
});
