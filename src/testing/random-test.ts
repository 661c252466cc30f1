import type { Prefix, ValueTest } from '../search/criteria/value-test.js';
import type { IndexValue } from '../search/index/index-entry.js';
import { below, oneOf } from './random.js';

/** A test that the value, or one near it, may pass. */
export function randomTest(value: IndexValue, random: () => number): ValueTest {
  switch (value.kind) {
    case 'token': {
      if (value.texts !== undefined && random() < 0.1) return { kind: 'text', text: 'e' };
      if (value.code !== undefined && random() < 0.1) return mimeTypeTest(value.code, random() < 0.2);
      const system = value.system === undefined || random() < 0.2 ? { noSystem: true } : { system: value.system };
      return {
        kind: 'token',
        ...(random() < 0.6 ? {} : system),
        ...(value.code === undefined || random() < 0.1 ? {} : codes(value.code, random)),
        ...(random() < 0.1 ? { negated: true } : {}),
      };
    }
    case 'string': {
      const start = below(value.folded.length, random);
      const part = value.folded.slice(start, start + 1 + below(4, random));
      const chosen = oneOf(STRING_COMPARATORS, random);
      // The words of a name end with a blank. They are folded, so no search asks for them as written.
      const comparator = chosen === 'exact' && value.text.endsWith(' ') ? 'words-equal' : chosen;
      const texts = {
        'starts-with': value.folded.slice(0, 2),
        contains: part,
        'ends-with': value.folded.slice(-2),
        equals: value.folded,
        'not-equals': value.folded,
        exact: value.text,
        'words-start-with': someWords(value.folded, random, 2),
        'words-equal': someWords(value.folded, random, Infinity),
      };
      return { kind: 'string', comparator, text: texts[comparator] };
    }
    case 'date': {
      const low = value.low + oneOf(STEPS, random);
      const high = random() < 0.5 ? Math.max(low + 1, value.high + oneOf(STEPS, random)) : low + 1 + below(1e9, random);
      return { kind: 'date', prefix: oneOf(PREFIXES, random), low, high };
    }
    case 'number':
      return { kind: 'number', ...interval(value.low, random) };
    case 'quantity': {
      const { system, code, unit } = value;
      const named = oneOf(
        [{}, { code: code ?? unit ?? 'x' }, { code: unit ?? 'x' }, { system: system ?? 'x', code: code ?? 'x' }],
        random,
      );
      return { kind: 'quantity', ...interval(value.low, random), ...named };
    }
    case 'reference': {
      if ('url' in value) {
        const version = oneOf([{}, {}, { version: 'exact' }, { version: 'below' }] as const, random);
        const cut = oneOf([value.url, value.url, value.url.split('|')[0]!, value.url.replace(/\.\d+$/, '')], random);
        return { kind: 'reference', url: cut, ...version };
      }
      const types = oneOf([{}, { types: [value.type] }, { types: [value.type, 'Device', 'Group'] }], random);
      const id = random() < 0.8 ? { id: value.id } : {};
      return { kind: 'reference', ...types, ...id, ...(random() < 0.1 ? { negated: true } : {}) };
    }
    case 'uri': {
      const comparator = oneOf(URI_COMPARATORS, random);
      const end = value.value.lastIndexOf(comparator.endsWith('canonical') ? '|' : '/');
      const cut = random() < 0.5 || end < 0 ? value.value : value.value.slice(0, end);
      return { kind: 'uri', comparator, value: comparator === 'above' ? `${value.value}/x` : cut };
    }
  }
}

/** The beginnings of the first word and of another one. */
function someWords(folded: string, random: () => number, length: number): string {
  const [first = '', ...others] = folded.split(' ').filter((word) => word !== '');
  const words = others.length === 0 || random() < 0.3 ? [first] : [first, oneOf(others, random)];
  return words.map((word) => word.slice(0, length)).join(' ');
}

function codes(code: string, random: () => number): { readonly code: string; readonly folded?: string } {
  return oneOf([{ code }, { code }, { code, folded: '2' }, { code: 'x', folded: code }], random);
}

function interval(
  value: number,
  random: () => number,
): { readonly prefix: Prefix; readonly low: number; readonly high: number } {
  const prefix = oneOf(PREFIXES, random);
  const exact = Math.abs(value) > 1e200 ? 1 : value + below(3, random) - 1;
  const width =
    prefix === 'eq' || prefix === 'ne' ? oneOf([0, 0.5, 5], random) : prefix === 'ap' ? Math.abs(exact) / 10 : 0;
  return { prefix, low: exact - width, high: exact + width };
}

/** Tests for the code itself, or for its part before a slash or semicolon. */
function mimeTypeTest(code: string, negated: boolean): ValueTest {
  return { kind: 'token', code: code.split(/ ?[/;]/, 1)[0]!, below: true, ...(negated ? { negated } : {}) };
}

export const PREFIXES: readonly Prefix[] = ['eq', 'ne', 'gt', 'lt', 'ge', 'le', 'sa', 'eb', 'ap', 'po'];
// prettier-ignore
const STRING_COMPARATORS = [
  'starts-with', 'ends-with', 'contains', 'equals', 'not-equals', 'exact', 'words-start-with', 'words-equal',
] as const;
// prettier-ignore
const URI_COMPARATORS = [
  'equals', 'not-equals', 'canonical', 'not-canonical', 'below', 'above', 'starts-with', 'ends-with', 'contains',
] as const;
/** Milliseconds around a date, up to a few years. */
const STEPS = [0, 0, 0, 1, -1, 86_400_000, -86_400_000, 86_399_999, -1e10, 1e10, -1e11, 1e11] as const;
