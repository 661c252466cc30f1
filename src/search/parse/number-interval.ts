import type { Prefix } from '../criteria/value-test.js';

/** Two bounds. Whether they are inclusive depends on the prefix; see `NumberTest`. */
export interface NumberInterval {
  readonly low: number;
  readonly high: number;
}

const DECIMAL = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d{1,4}))?$/;
/** In characters; far more digits than a double can represent. */
const MAX_NUMBER_LENGTH = 100;

/**
 * The searched bounds of a number search; see `NumberTest` in value-test.ts.
 *
 * The precision is half a unit of the last digit: `100` is 99.5 up to 100.5, `5.40` is 5.395 up to 5.405, `1.00e2` is
 * 99.5 up to 100.5. The specification's example `1e2` is 95 up to 105, so a single significant digit with an exponent
 * counts as two: `1e2` equals `1.0e2`. See https://hl7.org/fhir/R4/search.html#number.
 *
 * All bounds are computed in decimal, so that 5.395 is the same double as JSON's `5.395`.
 *
 * @returns undefined unless the text is a finite decimal number.
 */
export function numberInterval(prefix: Prefix, text: string): NumberInterval | undefined {
  const match = text.length > MAX_NUMBER_LENGTH ? null : DECIMAL.exec(text);
  if (match === null) return undefined;
  const [, sign, whole, fraction = '', exponent] = match as unknown as [string, string, string, string?, string?];
  const digits = BigInt(`${sign}${whole}${fraction}`);
  /** Decimal exponent of the last digit. */
  const power = Number(exponent ?? 0) - fraction.length;
  const exact = decimal(digits, power);
  if (!Number.isFinite(exact)) return undefined;
  switch (prefix) {
    case 'eq':
    case 'ne': {
      const isSingle = exponent !== undefined && hasOneDigit(whole + fraction);
      const finest = isSingle ? power - 2 : power - 1;
      const tens = isSingle ? 100n : 10n;
      return { low: decimal(digits * tens - 5n, finest), high: decimal(digits * tens + 5n, finest) };
    }
    case 'ap': {
      const a = decimal(digits * 9n, power - 1);
      const b = decimal(digits * 11n, power - 1);
      return a < b ? { low: a, high: b } : { low: b, high: a };
    }
    default:
      return { low: exact, high: exact };
  }
}

/** Leading zeros are not significant; in a zero all digits but the first are. */
function hasOneDigit(mantissa: string): boolean {
  const significant = mantissa.replace(/^0+/, '');
  return significant === '' ? mantissa.length === 1 : significant.length === 1;
}

/** The double nearest to `digits × 10^power`. */
function decimal(digits: bigint, power: number): number {
  // Avoids negative zero, a second representation of zero.
  return Number(`${digits}e${power}`) + 0;
}
