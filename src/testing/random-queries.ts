import { ALL, type Criteria, NONE, type SortKey } from '../search/criteria/criteria.js';
import type { Prefix, ValueTest } from '../search/criteria/value-test.js';
import type { SearchSubject } from '../search/evaluate/search-subject.js';
import { positionOf, type SearchPosition } from '../search/evaluate/sort.js';
import type { IndexEntry, IndexValue } from '../search/index/index-entry.js';
import type { ReferenceTarget } from '../store/resource-key.js';
import type { SearchQuery } from '../store/search-query.js';
import { below, oneOf } from './random.js';
import type { ReferenceSearch } from './reference-search.js';

/** A search by reference, as `ResourceStore.searchByReference` takes it. */
interface RandomReverseQuery {
  readonly query: SearchQuery;
  readonly parameter: string;
  readonly targets: readonly ReferenceTarget[];
}

/**
 * Generates searches from values in the data, so that most of them match: every kind of node, test and prefix, with
 * random nesting, sorting and paging.
 */
export class RandomQueries {
  readonly #project: string;
  readonly #data: ReferenceSearch;
  readonly #random: () => number;
  readonly #types: readonly string[];
  readonly #entries = new Map<string, ReadonlyMap<string, readonly IndexEntry[]>>();

  constructor(project: string, data: ReferenceSearch, random: () => number) {
    this.#project = project;
    this.#data = data;
    this.#random = random;
    this.#types = data.types.toSorted();
    for (const type of this.#types) this.#entries.set(type, entriesByParameter(data.subjects(type)));
  }

  search(): SearchQuery {
    return this.#query(oneOf(this.#types, this.#random));
  }

  /** A search whose conditions lead to other resources, mostly to composites there. */
  nested(): SearchQuery {
    const type = oneOf(this.#types, this.#random);
    return this.#query(type, this.#nested(type, 1 + below(3, this.#random)));
  }

  /** Criteria for resources of a type; `ALL` if the data has none of that type. */
  criteriaOf(type: string): Criteria {
    return this.#types.includes(type) ? this.#criteria(type, below(3, this.#random)) : ALL;
  }

  /** Undefined if the randomly chosen type has no references. */
  reverse(): RandomReverseQuery | undefined {
    const query = this.#query(oneOf(this.#types, this.#random));
    const links = this.#links(query.type);
    if (links.length === 0) return undefined;
    const { parameter } = oneOf(links, this.#random);
    const pointedTo = links.filter((link) => link.parameter === parameter).flatMap(({ targets }) => targets);
    const targets = Array.from({ length: 1 + below(5, this.#random) }, () =>
      this.#chance(0.1) ? { type: 'Patient', id: 'nobody' } : oneOf(pointedTo, this.#random),
    );
    return { query, parameter, targets };
  }

  #query(type: string, criteria = this.#criteria(type, below(4, this.#random))): SearchQuery {
    const sort = this.#chance(0.6) ? this.#sort(type) : undefined;
    const query = {
      project: this.#project,
      type,
      criteria,
      sort,
      limit: this.#chance(0.5) ? below(8, this.#random) : undefined,
      total: true,
    };
    if (this.#chance(0.2)) return { ...query, before: this.#position(type, sort) };
    const offset = this.#chance(0.3) ? below(4, this.#random) : undefined;
    return { ...query, offset, after: this.#chance(0.25) ? this.#position(type, sort) : undefined };
  }

  /** Mostly the position of a resource, sometimes one in between. */
  #position(type: string, sort: readonly SortKey[] | undefined): SearchPosition {
    const place = (): SearchPosition => positionOf(oneOf(this.#data.subjects(type), this.#random), sort);
    const { id, values } = place();
    if (this.#chance(0.7)) return { id, values };
    const other = place();
    const mixed = values.map((value, index) => {
      if (sort?.[index]?.parameter === '_id') return id;
      return this.#chance(0.5) ? value : other.values[index]!;
    });
    return { id, values: mixed };
  }

  #sort(type: string): readonly SortKey[] {
    const parameters = ['_id', '_lastUpdated', ...this.#parameters(type).filter((code) => !code.includes(':'))];
    return Array.from({ length: 1 + below(3, this.#random) }, () => ({
      parameter: oneOf(parameters, this.#random),
      descending: this.#chance(0.5),
    }));
  }

  /** @param depth how deeply nodes may nest below this one. */
  #criteria(type: string, depth: number): Criteria {
    const kind = depth > 0 && this.#chance(0.6) ? oneOf(INNER_KINDS, this.#random) : oneOf(LEAF_KINDS, this.#random);
    switch (kind) {
      case 'and':
      case 'or':
        return { kind, of: Array.from({ length: below(4, this.#random) }, () => this.#criteria(type, depth - 1)) };
      case 'alternatives':
        return this.#alternatives(type);
      case 'not':
        return { kind, of: this.#criteria(type, depth - 1) };
      case 'chain':
        return this.#chain(type, (other) => this.#criteria(other, depth - 1));
      case 'has':
        return this.#has(type, (other) => this.#criteria(other, depth - 1));
      case 'composite':
        return this.#composite(type);
      case 'id':
        return { kind, ids: Array.from({ length: below(4, this.#random) }, () => this.#id(type)) };
      case 'missing':
        return { kind, parameter: oneOf(this.#parameters(type), this.#random), missing: this.#chance(0.5) };
      case 'last-updated': {
        const { lastUpdated } = oneOf(this.#data.subjects(type), this.#random);
        const low = lastUpdated + below(3, this.#random) - 1;
        return {
          kind,
          test: { kind: 'date', prefix: oneOf(PREFIXES, this.#random), low, high: low + 1 + below(3, this.#random) },
        };
      }
      case 'match':
        return this.#match(type);
      case 'extreme':
        return this.#chance(0.5) ? ALL : NONE;
    }
  }

  #match(type: string): Criteria {
    const parameter = oneOf(this.#parameters(type), this.#random);
    return {
      kind: 'match',
      parameter,
      test: randomTest(oneOf(this.#entriesOf(type, parameter), this.#random).value, this.#random),
    };
  }

  /** Alternatives, as a comma in a search writes them. */
  #alternatives(type: string): Criteria {
    const parameter = oneOf(this.#parameters(type), this.#random);
    const entries = this.#entriesOf(type, parameter);
    const of = Array.from({ length: 1 + below(4, this.#random) }, (): Criteria => {
      return { kind: 'match', parameter, test: randomTest(oneOf(entries, this.#random).value, this.#random) };
    });
    return { kind: 'or', of };
  }

  /** @param depth how many nodes stand between the whole and a leaf. */
  #nested(type: string, depth: number): Criteria {
    if (depth === 0) return this.#chance(0.6) ? this.#composite(type) : this.#criteria(type, 0);
    const inside = (other: string): Criteria => this.#nested(other, depth - 1);
    const kind = oneOf(NESTING_KINDS, this.#random);
    switch (kind) {
      case 'has':
        return this.#has(type, inside);
      case 'chain':
        return this.#chain(type, inside);
      case 'not':
        return { kind, of: inside(type) };
      case 'and':
      case 'or':
        return { kind, of: [inside(type), this.#nested(type, below(depth, this.#random))] };
    }
  }

  /** @param inside makes the criteria for the other type. */
  #chain(type: string, inside: (type: string) => Criteria): Criteria {
    const links = this.#links(type);
    if (links.length === 0) return this.#match(type);
    const { parameter, targets } = oneOf(links, this.#random);
    const contained = this.#inside(type);
    const intoOne = contained.length > 0 && this.#chance(0.4);
    const chain = intoOne ? oneOf(contained, this.#random) : { parameter, type: oneOf(targets, this.#random).type };
    const of = this.#types.includes(chain.type) ? inside(chain.type) : ALL;
    return {
      kind: 'chain',
      ...chain,
      of,
      ...oneOf([{}, {}, {}, { reach: 'inside' }, { reach: 'outside' }] as const, this.#random),
    };
  }

  /** The reference parameters that lead to resources inside, with their types. */
  #inside(type: string): readonly { readonly parameter: string; readonly type: string }[] {
    return [...this.#entries.get(type)!.keys()].flatMap((code) => {
      const [, parameter, target] = /^([^#]+)#(\w+)$/.exec(code) ?? [];
      return parameter === undefined || target === undefined ? [] : [{ parameter, type: target }];
    });
  }

  /** @param inside as of {@link #chain}. */
  #has(type: string, inside: (type: string) => Criteria): Criteria {
    const links = this.#types.flatMap((source) =>
      this.#links(source)
        .filter(({ targets }) => targets.some((target) => target.type === type))
        .map(({ parameter }) => ({ source, parameter })),
    );
    if (links.length === 0) return this.#match(type);
    const { source, parameter } = oneOf(links, this.#random);
    return { kind: 'has', type: source, parameter, of: inside(source) };
  }

  #composite(type: string): Criteria {
    const entries = this.#entries.get(type)!;
    const codes = [...entries.keys()].flatMap((code) => /^[^#]+(?=\$0$)/.exec(code)?.[0] ?? []);
    if (codes.length === 0) return this.#match(type);
    const parameter = oneOf(codes, this.#random);
    const tests: ValueTest[] = [];
    for (let n = 0; entries.has(`${parameter}$${n}`); n++) {
      tests.push(randomTest(oneOf(entries.get(`${parameter}$${n}`)!, this.#random).value, this.#random));
    }
    return { kind: 'composite', parameter, tests };
  }

  #id(type: string): string {
    return this.#chance(0.8) ? oneOf(this.#data.subjects(type), this.#random).id : 'nobody';
  }

  /**
   * Parameters that `match`, `missing` and sorts may name. Components are reached through composites only, values of
   * resources inside through chains only.
   */
  #parameters(type: string): readonly string[] {
    return [...this.#entries.get(type)!.keys()].filter((code) => !/[#$]/.test(code));
  }

  #entriesOf(type: string, parameter: string): readonly IndexEntry[] {
    return this.#entries.get(type)!.get(parameter)!;
  }

  /** The reference parameters of a type with their targets. */
  #links(type: string): readonly { readonly parameter: string; readonly targets: readonly ReferenceTarget[] }[] {
    return this.#parameters(type).flatMap((parameter) => {
      const entries = this.#entriesOf(type, parameter);
      const targets = entries.flatMap(({ value }) => (value.kind === 'reference' && 'id' in value ? [value] : []));
      return targets.length === 0
        ? []
        : [{ parameter, targets: targets.map(({ type: to, id }) => ({ type: to, id })) }];
    });
  }

  #chance(probability: number): boolean {
    return this.#random() < probability;
  }
}

const INNER_KINDS = ['and', 'and', 'or', 'not', 'chain', 'has'] as const;
const NESTING_KINDS = ['has', 'has', 'chain', 'chain', 'not', 'and', 'or'] as const;
const LEAF_KINDS = [
  'match',
  'match',
  'match',
  'match',
  'alternatives',
  'composite',
  'id',
  'missing',
  'last-updated',
  'extreme',
] as const;

/** At most 200 entries per parameter, in the order of the resources. */
function entriesByParameter(subjects: readonly SearchSubject[]): ReadonlyMap<string, readonly IndexEntry[]> {
  const all = new Map<string, IndexEntry[]>();
  for (const { entries } of subjects) {
    for (const [parameter, ofParameter] of entries) {
      const list = all.get(parameter) ?? [];
      if (list.length < 200) list.push(...ofParameter);
      all.set(parameter, list);
    }
  }
  return all;
}

/** A test that the value, or one near it, may pass. */
function randomTest(value: IndexValue, random: () => number): ValueTest {
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

const PREFIXES: readonly Prefix[] = ['eq', 'ne', 'gt', 'lt', 'ge', 'le', 'sa', 'eb', 'ap', 'po'];
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
