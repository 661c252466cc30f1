import fc from 'fast-check';

/** Decimals as people and programs write them, most of them differently from JavaScript. All fit a double. */
export function decimalText(): fc.Arbitrary<string> {
  const sign = fc.constantFrom('', '', '-');
  const digits = (maxLength: number): fc.Arbitrary<string> =>
    fc.string({ unit: fc.constantFrom(...'0123456789', '0', '0'), minLength: 1, maxLength });
  const whole = fc.oneof(
    fc.constantFrom('0', '1', '10', '100'),
    digits(24).map((text) => text.replace(/^0+(?=\d)/, '')),
  );
  const fraction = fc.oneof(
    fc.constant(''),
    digits(24).map((text) => `.${text}`),
  );
  const exponent = fc.oneof(
    { weight: 3, arbitrary: fc.constant('') },
    {
      weight: 1,
      arbitrary: fc
        .tuple(
          fc.constantFrom('e', 'E'),
          fc.constantFrom('', '+', '-'),
          fc.constantFrom('0', '2', '02', '7', '21', '280'),
        )
        .map((parts) => parts.join('')),
    },
  );
  const known = fc.constantFrom(
    '1.00',
    '42.256500',
    '66.899999999999991',
    '-0',
    '-0.0',
    '0.0',
    '1e-400',
    '1',
    '66.9',
    '9007199254740993',
  );
  return fc.oneof(
    known,
    fc
      .tuple(sign, whole, fraction, exponent)
      .map((parts) => parts.join(''))
      .filter((text) => Number.isFinite(Number(text))),
  );
}

/** JSON text in which the strings `#0`, `#1` … are replaced by these decimals. */
export function withDecimals(value: unknown, decimals: readonly string[]): string {
  return JSON.stringify(value).replace(/"#(\d+)"/g, (text, index: string) => decimals[Number(index)] ?? text);
}
