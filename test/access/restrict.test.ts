import { createRepository, executeFhirGraphql, MemoryStore, systemCaller } from '../../src/index.js';
import { createSearch, type Criteria, R4 } from '../../src/store.js';
import { createRandom, oneOf, randomResources, someOf } from '../support/kit.js';
import { describe, expect, test } from 'vitest';
import { guardStore } from '../../src/access/guarded-store.js';
import { readsHidden } from '../../src/access/fields/hidden-fields.js';
import { restrict, type SearchRules } from '../../src/access/read/restrict.js';
import { type AccessRule, unrestrictedRule } from '../../src/access/rule.js';
import { ALL, and, NONE, not, or } from '../../src/search/criteria/criteria.js';
import { criteriaCost } from '../../src/search/parse/parse-context.js';
import { parseSearch } from '../../src/search/parse/parse-search.js';
import { RandomQueries } from '../../src/testing/random-queries.js';
import { ReferenceSearch } from '../../src/testing/reference-search.js';
import { countCalls } from '../graphql/counting-store.js';
import { cases, SEED } from '../support/chance.js';

function rule(criteria: Criteria, hidden: readonly string[] = []): AccessRule {
  return { ...unrestrictedRule('test', hidden), criteria };
}

function token(parameter: string, code: string): Criteria {
  return { kind: 'match', parameter, test: { kind: 'token', code } };
}

/** From an Observation over its Patient to another Observation and so on, and at the end a question. */
function chainOf(steps: number, question: Criteria): Criteria {
  if (steps === 0) return question;
  const of = chainOf(steps - 1, question);
  return steps % 2 === 0
    ? { kind: 'chain', parameter: 'subject', type: 'Patient', of }
    : { kind: 'has', type: 'Observation', parameter: 'subject', of };
}

const FIELDS = ['note', 'issued', 'performer', 'method', 'device', 'specimen', 'bodySite', 'interpretation'];

/** As many rules for each type, of which no two hide the same. */
function differing(count: number): SearchRules {
  return (type) =>
    Array.from({ length: count }, (_, index) =>
      rule(
        token(type === 'Patient' ? 'gender' : 'status', `code-${index}`),
        type === 'Patient' ? [] : [FIELDS[index % FIELDS.length]!, `${FIELDS[(index + 1) % FIELDS.length]!}.id`],
      ),
    );
}

describe('rules that do not hide the elements of a condition share it', () => {
  test.each([3, 12, 100])('%i rules and eight chain steps', (count) => {
    const rulesOf = differing(count);
    const asked = chainOf(8, token('code', 'x'));
    const restricted = restrict(R4, asked, 'Observation', rulesOf('Observation')!, rulesOf, undefined, undefined);
    // The rules of each of nine resources on the path are used once: they are alternatives for one parameter.
    expect(criteriaCost(restricted)).toBeLessThan(criteriaCost(asked) + 9 * (1 + count / 500));
  });

  test('a part that some rules hide is asked separately from the rest', () => {
    const rules = [rule(token('status', 'a'), ['valueQuantity']), rule(token('status', 'b'), ['code'])];
    const value: Criteria = { kind: 'missing', parameter: 'value-quantity', missing: true };
    const date: Criteria = { kind: 'missing', parameter: 'date', missing: false };
    const restricted = restrict(
      R4,
      and([date, value, chainOf(2, ALL)]),
      'Observation',
      rules,
      () => [rule(ALL)],
      undefined,
      undefined,
    );
    expect(restricted).toEqual(
      and([date, chainOf(2, ALL), or([token('status', 'a'), and([value, token('status', 'b')])])]),
    );
  });

  test('a dozen rules and a chain of three that reads elements that some of them hide', () => {
    const rulesOf = differing(12);
    const { criteria } = parseSearch(
      R4,
      'Observation',
      'encounter.subject:Patient._has:Observation:subject:specimen.type=x&performer.identifier=y&code=z',
    );
    const restricted = restrict(R4, criteria, 'Observation', rulesOf('Observation')!, rulesOf, undefined, undefined);
    expect(restricted.kind).toBe('and');
    expect(criteriaCost(restricted)).toBeLessThan(250);
  });
});

describe('a rule that hides contained resources', () => {
  const chain = (reach?: 'inside' | 'outside'): Criteria => ({
    kind: 'chain',
    parameter: 'subject',
    type: 'Patient',
    of: token('gender', 'female'),
    ...(reach === undefined ? {} : { reach }),
  });
  const within = (asked: Criteria, ...rules: readonly AccessRule[]): Criteria =>
    restrict(R4, asked, 'Observation', rules, () => [rule(ALL)], undefined, undefined);
  const closed = rule(token('status', 'closed'), ['contained']);
  const open = rule(token('status', 'open'));

  test('keeps chains outside of them', () => {
    expect(within(chain(), closed)).toEqual(and([chain('outside'), closed.criteria]));
    expect(within(chain('outside'), closed)).toEqual(and([chain('outside'), closed.criteria]));
    expect(within(chain('inside'), closed)).toEqual(NONE);
    expect(within(chain('inside'), open)).toEqual(and([chain('inside'), open.criteria]));
  });

  test('shares with others the conditions that read nothing of them', () => {
    const either = or([open.criteria, closed.criteria]);
    for (const asked of [token('code', 'x'), chain('outside'), not(token('code', 'x'))]) {
      expect(within(asked, open, closed)).toEqual(and([asked, either]));
    }
    expect(within(chain(), open, closed)).toEqual(
      or([and([chain(), open.criteria]), and([chain('outside'), closed.criteria])]),
    );
  });
});

test('a composite with a hidden element has no match', () => {
  const asked: Criteria = {
    kind: 'composite',
    parameter: 'code-value-concept',
    tests: [
      { kind: 'token', code: 'x' },
      { kind: 'token', code: 'y' },
    ],
  };
  const hiding = (...fields: readonly string[]): Criteria =>
    restrict(R4, asked, 'Observation', [rule(ALL, fields)], () => null, undefined, undefined);
  expect(hiding('valueCodeableConcept')).toEqual(NONE);
  expect(hiding('code')).toEqual(NONE);
  expect(hiding('status')).toEqual(asked);
});

/** The plain meaning: each rule asks the whole question by itself. */
function plainRestrict(
  asked: Criteria,
  type: string,
  rules: readonly AccessRule[],
  rulesOf: SearchRules,
  reference?: string,
): Criteria {
  return or(
    rules.map(({ hidden, criteria }) =>
      reference !== undefined && readsHidden(R4, type, reference, hidden)
        ? NONE
        : and([plainVisible(asked, type, hidden, rulesOf), criteria]),
    ),
  );
}

function plainVisible(asked: Criteria, type: string, hidden: readonly string[], rulesOf: SearchRules): Criteria {
  switch (asked.kind) {
    case 'and':
      return and(asked.of.map((one) => plainVisible(one, type, hidden, rulesOf)));
    case 'or':
      return or(asked.of.map((one) => plainVisible(one, type, hidden, rulesOf)));
    case 'not':
      return not(plainVisible(asked.of, type, hidden, rulesOf));
    case 'match':
    case 'composite':
      return readsHidden(R4, type, asked.parameter, hidden) ? NONE : asked;
    case 'missing':
      return !readsHidden(R4, type, asked.parameter, hidden) ? asked : asked.missing ? ALL : NONE;
    case 'last-updated':
      return hidden.includes('meta') ? NONE : asked;
    case 'chain':
    case 'has': {
      if (asked.kind === 'chain' && readsHidden(R4, type, asked.parameter, hidden)) return NONE;
      const reference = asked.kind === 'has' ? asked.parameter : undefined;
      return { ...asked, of: plainRestrict(asked.of, asked.type, rulesOf(asked.type) ?? [], rulesOf, reference) };
    }
    default:
      return asked;
  }
}

const HIDEABLE: { readonly [type: string]: readonly string[] } = {
  Patient: ['name', 'gender', 'birthDate', 'managingOrganization', 'identifier', 'meta', 'address.city'],
  Observation: ['subject', 'code', 'valueQuantity', 'effectiveDateTime', 'component', 'category', 'meta', 'hasMember'],
  Encounter: ['subject', 'status', 'period'],
  Organization: ['name', 'partOf'],
};

test(`finds the same resources as each rule on its own, on random resources (seed ${SEED})`, () => {
  const random = createRandom(SEED + 7);
  const resources = randomResources(random).map((resource) => ({
    ...resource,
    meta: { ...resource.meta, lastUpdated: '2024-01-01T00:00:00.000Z' },
  }));
  const data = new ReferenceSearch(R4, resources);
  const queries = new RandomQueries('clinic', data, random);
  let some = 0;
  for (let n = 0; n < cases(500); n++) {
    const { criteria, type } = queries.search();
    const made = new Map<string, readonly AccessRule[] | null>();
    const rulesOf: SearchRules = (of) => {
      if (!made.has(of)) {
        const count = oneOf([0, 1, 2, 3, 5], random);
        const rules = Array.from({ length: count }, () =>
          rule(
            random() < 0.3 ? ALL : queries.criteriaOf(of),
            random() < 0.2 ? [] : someOf(HIDEABLE[of] ?? [], random).filter(() => random() < 0.6),
          ),
        );
        made.set(of, count === 0 ? null : rules);
      }
      return made.get(of)!;
    };
    const rules = rulesOf(type) ?? [];
    const plain = plainRestrict(criteria, type, rules, rulesOf);
    const restricted = restrict(R4, criteria, type, rules, rulesOf, undefined, undefined);
    const query = { project: 'clinic', type };
    const expected = data.search({ ...query, criteria: plain });
    expect(data.search({ ...query, criteria: restricted }), JSON.stringify(criteria)).toEqual(expected);
    if (expected.total > 0) some++;
  }
  expect(some).toBeGreaterThan(100);
});

describe('a search that costs too much is refused before the store call', () => {
  const DIFFERENT = Array.from({ length: 300 }, (_, n) => `gender ne x${n}`).join(' and ');
  const refusal = expect.objectContaining({ code: 'too-costly' }) as unknown;
  const { store, takeCalls } = countCalls(new MemoryStore());
  const caller = systemCaller('clinic');

  test('by GraphQL', async () => {
    const result = await executeFhirGraphql('query ($f: String) { PatientList(_filter: $f) { id } }', {
      store,
      caller,
      variables: { f: DIFFERENT },
    });
    expect(result.errors?.[0]?.extensions?.['code']).toBe('too-costly');
    expect(takeCalls()).toEqual([]);
  });

  test('by a search of the repository, as text and as criteria', async () => {
    const repository = createRepository({ store, caller });
    const { criteria } = parseSearch(R4, 'Patient', { _filter: DIFFERENT });
    await expect(repository.search('Patient', { _filter: DIFFERENT })).rejects.toEqual(refusal);
    await expect(repository.search('Patient', createSearch({ criteria }))).rejects.toEqual(refusal);
    expect(takeCalls()).toEqual([]);
  });

  test('by a conditional create', async () => {
    const repository = createRepository({ store, caller });
    const condition = `_filter=${encodeURIComponent(DIFFERENT)}`;
    await expect(repository.create({ resourceType: 'Patient' }, { ifNoneExist: condition })).rejects.toEqual(refusal);
    expect(takeCalls().filter((call) => call.includes('Patient'))).toEqual([]);
  });

  test('by reference, and under a write that must find no match', async () => {
    const guard = guardStore(store, caller);
    const { criteria } = parseSearch(R4, 'Patient', { _filter: DIFFERENT });
    const query = { type: 'Patient', criteria };
    const targets = [{ type: 'Organization', id: '1' }];
    await expect(guard.searchByReference(query, 'organization', targets)).rejects.toEqual(refusal);
    await expect(guard.commit([{ kind: 'assert-no-match', query }])).rejects.toEqual(refusal);
    expect(takeCalls()).toEqual([]);
  });

  test('the parts that rules add count: each of eight steps reads elements that one of three rules hides', () => {
    const hidden = ['code', 'status', 'category'];
    const rulesOf: SearchRules = (type) =>
      type === 'Patient' ? [rule(ALL)] : hidden.map((field, index) => rule(token('status', String(index)), [field]));
    let asked: Criteria = ALL;
    for (let step = 0; step < 8; step++) {
      asked = or([
        not(and([token('code', 'x'), not(token('status', 'y')), chainOf(2, asked)])),
        and([token('category', 'z'), chainOf(2, asked)]),
      ]);
    }
    const small = chainOf(2, or([token('code', 'x'), token('status', 'y'), token('category', 'z')]));
    expect(
      criteriaCost(restrict(R4, small, 'Observation', rulesOf('Observation')!, rulesOf, undefined, undefined)),
    ).toBeLessThan(50);
    expect(() => restrict(R4, asked, 'Observation', rulesOf('Observation')!, rulesOf, undefined, undefined)).toThrow(
      refusal,
    );
  });
});
