import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { FhirError, MemoryStore, type ResourceStore } from '../../src/index.js';
import { PostgresStore } from '../../src/postgres.js';
import { SqliteStore } from '../../src/sqlite.js';
import { R4 } from '../../src/store.js';
import { below, createRandom, idsOf, oneOf, putAll, queryOf, resourceOf } from '../support/kit.js';
import { escapeValue } from '../../src/search/parse/string-criteria.js';
import { parseSearch } from '../../src/search/parse/parse-search.js';
import { cases, IS_WHOLE, SEED } from '../support/chance.js';
import { postgresPool } from './postgres/pool.js';

/** Texts of which folding leaves nothing, symbols that it keeps, and some letters. */
const PIECES = [
  ...[
    '-',
    '%',
    '*',
    '.',
    "'",
    '´',
    'ʻ',
    '′',
    '"',
    '_',
    '\u0301',
    '\u0308',
    '\u200b',
    '\u00ad',
    '\u200f',
    '\ufe0f',
    ' ',
    '\u00a0',
  ],
  ...['+', '<', '^', '~', '€', '☺', '★', '¨', '²'],
  ...['ß', 'ss', 'SS', 'ﬁ', 'fi', 'I', 'ı', 'İ', 'é', 'E', '5'],
];

const random = createRandom(SEED);
const odd = (most: number): string =>
  Array.from({ length: 1 + below(most, random) }, () => oneOf(PIECES, random)).join('');
/** Values by the id of their resources. */
const VALUES = new Map<string, string>([
  ['plain', 'Hill'],
  ['other', 'negative'],
  ...Array.from({ length: 30 }, (_, n): [string, string] => [`odd${n}`, odd(4)]),
]);

/** What a value must have, if a text finds it: letters, numbers and symbols, in upper case and without accents. */
function essence(text: string): string {
  return text
    .normalize('NFKD')
    .toUpperCase()
    .normalize('NFKD')
    .replace(/[\p{P}\p{M}\p{Default_Ignorable_Code_Point}\s´ʻ]/gu, '');
}

/** The places of a text, each with a search whose answer has the ids of {@link VALUES}. */
const PLACES: readonly (readonly [type: string, search: (escaped: string, literal: string) => string])[] = [
  ['Patient', (text) => `family=${text}`],
  ['Patient', (text) => `family:contains=${text}`],
  ['Patient', (text) => `name=${text}`],
  ['Patient', (text) => `name:contains=${text}`],
  ['Patient', (text) => `address=${text}`],
  ['Patient', (text) => `family=nobody,${text}`],
  ['Patient', (text) => `organization.name=${text}`],
  ['Patient', (text) => `_has:Observation:patient:value-string=${text}`],
  ['Observation', (text) => `value-string=${text}`],
  ['Observation', (text) => `code-value-string=c$${text}`],
  ['Observation', (text) => `code:text=${text}`],
  ['Observation', (text) => `subject:Patient.name=${text}`],
  ...['eq', 'sw', 'co', 'ew'].flatMap((operator): (typeof PLACES)[number][] => [
    ['Patient', (_, literal) => `_filter=family ${operator} ${literal}`],
    ['Patient', (_, literal) => `_filter=name ${operator} ${literal}`],
    ['Patient', (_, literal) => `_filter=gender eq male or organization.name ${operator} ${literal}`],
  ]),
];

const memory = new MemoryStore();

async function fill(store: ResourceStore): Promise<void> {
  const all = [...VALUES].flatMap(([id, value]) => [
    resourceOf('Organization', id, { name: value }),
    resourceOf('Patient', id, {
      name: [{ family: value }],
      address: [{ city: value }],
      managingOrganization: { reference: `Organization/${id}` },
    }),
    resourceOf('Observation', id, {
      code: { coding: [{ code: 'c', display: value }] },
      valueString: value,
      subject: { reference: `Patient/${id}` },
    }),
  ]);
  await putAll(store, ...all);
}

beforeAll(() => fill(memory));

describe.each<[string, () => ResourceStore | Promise<ResourceStore>]>([
  ['memory', () => new MemoryStore()],
  ['SQLite', () => new SqliteStore(':memory:')],
  ['PostgreSQL', async () => new PostgresStore(await postgresPool())],
])('searched texts on %s', (_, open) => {
  let store: ResourceStore;
  beforeAll(async () => {
    store = await open();
    await fill(store);
  });
  afterAll(() => store.close());

  test(`find no value without what is left of them (seed ${SEED})`, async () => {
    const random = createRandom(SEED + 1);
    for (let n = 0; n < cases(600, 60); n++) {
      const text =
        random() < 0.3
          ? oneOf([...VALUES.values()], random)
          : oneOf(PIECES, random) + (random() < 0.5 ? oneOf(PIECES, random) : '');
      const [type, searchFor] = oneOf(PLACES, random);
      const search = searchFor(escapeValue(text), JSON.stringify(text));
      const [name, value] = [search.slice(0, search.indexOf('=')), search.slice(search.indexOf('=') + 1)];
      const label = `${type}?${search}`;
      const left = essence(text);
      let criteria;
      try {
        ({ criteria } = parseSearch(R4, type, new URLSearchParams([[name, value]])));
      } catch (error) {
        expect([label, error instanceof FhirError && error.code, left]).toEqual([label, 'invalid', '']);
        continue;
      }
      const found = await idsOf(store, queryOf(type, criteria));
      const possible = [...VALUES].filter(([, stored]) => isWithin(left, essence(stored))).map(([id]) => id);
      expect([label, found.filter((id) => !possible.includes(id!))]).toEqual([label, []]);
      expect([label, found]).toEqual([label, await idsOf(memory, queryOf(type, criteria))]);
    }
  });

  test('find the values that have them', async () => {
    for (const [index, [id, value]] of [...VALUES].entries()) {
      if (essence(value) === '') continue;
      for (const [type, searchFor] of IS_WHOLE ? PLACES : PLACES.filter((_, n) => n % 8 === index % 8)) {
        const search = searchFor(escapeValue(value), JSON.stringify(value));
        const at = search.indexOf('=');
        const { criteria } = parseSearch(R4, type, new URLSearchParams([[search.slice(0, at), search.slice(at + 1)]]));
        const found = await idsOf(store, queryOf(type, criteria));
        expect([search, found]).toEqual([search, expect.arrayContaining([id])]);
      }
    }
  }, 60_000);
});

/** Whether a text has all characters of another one. */
function isWithin(part: string, whole: string): boolean {
  return [...part].every((one) => whole.includes(one));
}
