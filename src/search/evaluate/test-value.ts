import {
  type DateTest,
  type NumberTest,
  type QuantityTest,
  type ReferenceTest,
  type StringTest,
  type TokenTest,
  type UriTest,
  type ValueTest,
  wordParts,
} from '../criteria/value-test.js';
import { needsTerminology } from '../criteria/criteria.js';
import { fold } from '../index/fold.js';
import type {
  IndexValue,
  LocalReferenceValue,
  NumberValue,
  QuantityValue,
  StringValue,
  TokenValue,
  UrlReferenceValue,
} from '../index/index-entry.js';

/**
 * Tests one index value. Stores must reproduce this meaning. See the tables in value-test.ts.
 *
 * A value of another kind never passes.
 */
export function testValue(test: ValueTest, value: IndexValue): boolean {
  switch (test.kind) {
    case 'concept':
      throw needsTerminology();
    case 'token':
      return value.kind === 'token' && fitsToken(test, value) !== (test.negated ?? false);
    case 'text':
      return value.kind === 'token' && (value.texts?.some((text) => fold(text).includes(test.text)) ?? false);
    case 'string':
      return value.kind === 'string' && fitsString(test, value);
    case 'date':
      return value.kind === 'date' && fitsDate(test, value.low, value.high);
    case 'number':
      return value.kind === 'number' && fitsNumber(test, value);
    case 'quantity':
      return value.kind === 'quantity' && fitsUnit(test, value) && fitsNumber(test, value);
    case 'reference':
      return value.kind === 'reference' && fitsReference(test, value) !== (test.negated ?? false);
    case 'uri':
      return value.kind === 'uri' && fitsUri(test, value.value);
  }
}

/** The relation of a stored interval `[low, high)` to the searched one. */
export function fitsDate(test: DateTest, low: number, high: number): boolean {
  switch (test.prefix) {
    case 'eq':
      return test.low <= low && high <= test.high;
    case 'ne':
      return low < test.low || test.high < high;
    case 'gt':
      return high > test.high;
    case 'lt':
      return low < test.low;
    case 'ge':
      return high > test.high || (test.low <= low && high <= test.high);
    case 'le':
      return low < test.low || (test.low <= low && high <= test.high);
    case 'sa':
      return low >= test.high;
    case 'eb':
      return high <= test.low;
    case 'ap':
    case 'po':
      return low < test.high && test.low < high;
  }
}

function fitsToken(test: TokenTest, value: TokenValue): boolean {
  if (test.code !== undefined && !fitsCode(test, test.code, value.code)) return false;
  if (test.except !== undefined && value.code !== undefined && test.except.includes(value.code)) return false;
  if (test.noSystem === true) return value.system === undefined;
  return test.system === undefined || value.system === test.system;
}

function fitsCode({ folded, below }: TokenTest, searched: string, stored: string | undefined): boolean {
  if (stored === searched || (folded !== undefined && stored === folded)) return true;
  return below === true && stored !== undefined && narrowerTypes(searched).some((start) => stored.startsWith(start));
}

/** The prefixes of narrower MIME types: a type has subtypes, a subtype has parameters. */
export function narrowerTypes(mimeType: string): readonly string[] {
  return mimeType.includes('/') ? [`${mimeType};`, `${mimeType} ;`] : [`${mimeType}/`];
}

function fitsString(test: StringTest, value: StringValue): boolean {
  switch (test.comparator) {
    case 'starts-with':
      return value.folded.startsWith(test.text);
    case 'ends-with':
      return value.folded.endsWith(test.text);
    case 'contains':
      return value.folded.includes(test.text);
    case 'equals':
      return value.folded === test.text;
    case 'not-equals':
      return value.folded !== test.text;
    case 'exact':
      return value.text === test.text;
    case 'words-start-with':
    case 'words-equal': {
      const { start, parts } = wordParts(test);
      return value.folded.startsWith(start) && parts.every((part) => ` ${value.folded}`.includes(part));
    }
  }
}

/** Compares a stored point or closed interval with the searched bounds. */
function fitsNumber(test: NumberTest | QuantityTest, { low, high }: NumberValue | QuantityValue): boolean {
  switch (test.prefix) {
    case 'eq':
      return equalsNumber(test, low, high);
    case 'ne':
      return !equalsNumber(test, low, high);
    case 'gt':
      return high > test.high;
    case 'lt':
      return low < test.low;
    case 'ge':
      return high >= test.high;
    case 'le':
      return low <= test.low;
    case 'sa':
      return low > test.high;
    case 'eb':
      return high < test.low;
    case 'ap':
    case 'po':
      return low <= test.high && test.low <= high;
  }
}

function equalsNumber(test: NumberTest | QuantityTest, low: number, high: number): boolean {
  if (test.low === test.high) return low === test.low && high === test.low;
  return test.low <= low && high < test.high;
}

/**
 * A code without system may be the code or the human-readable unit. See https://hl7.org/fhir/R4/search.html#quantity.
 */
function fitsUnit(test: QuantityTest, value: QuantityValue): boolean {
  if (test.system !== undefined) {
    return value.system === test.system && (test.code === undefined || value.code === test.code);
  }
  return test.code === undefined || value.code === test.code || value.unit === test.code;
}

function fitsReference(test: ReferenceTest, value: LocalReferenceValue | UrlReferenceValue): boolean {
  if (test.url !== undefined) return 'url' in value && fitsVersion(test.version, test.url, value.url);
  if (!('id' in value)) return false;
  return (test.id === undefined || value.id === test.id) && (test.types?.includes(value.type) ?? true);
}

function fitsVersion(version: ReferenceTest['version'], searched: string, stored: string): boolean {
  if (version === undefined) return fitsCanonical(searched, stored);
  return stored === searched || (version === 'below' && stored.startsWith(`${searched}.`));
}

/** A URL without version matches every version. See https://hl7.org/fhir/R4/search.html#versions. */
function fitsCanonical(searched: string, stored: string): boolean {
  return stored === searched || (!searched.includes('|') && stored.startsWith(`${searched}|`));
}

function fitsUri(test: UriTest, stored: string): boolean {
  switch (test.comparator) {
    case 'equals':
      return stored === test.value;
    case 'not-equals':
      return stored !== test.value;
    case 'canonical':
      return fitsCanonical(test.value, stored);
    case 'not-canonical':
      return !fitsCanonical(test.value, stored);
    case 'below':
      return isPathPrefix(test.value, stored);
    case 'above':
      return isPathPrefix(stored, test.value);
    case 'starts-with':
      return stored.startsWith(test.value);
    case 'ends-with':
      return stored.endsWith(test.value);
    case 'contains':
      return stored.includes(test.value);
  }
}

/** `http://a/b` is a prefix of itself and of `http://a/b/c`, but not of `http://a/bc`. */
function isPathPrefix(prefix: string, whole: string): boolean {
  return whole === prefix || whole.startsWith(prefix.endsWith('/') ? prefix : `${prefix}/`);
}
