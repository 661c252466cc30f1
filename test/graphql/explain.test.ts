import { beforeAll, describe, expect, test, vi } from 'vitest';
import { QUERIES } from '../../bench/queries.js';
import {
  type Caller,
  executeFhirGraphql,
  type ExplainedCall,
  explainFhirGraphql,
  type FhirError,
  type FhirGraphqlContext,
  MemoryStore,
  type ResourceStore,
  systemCaller,
} from '../../src/index.js';
import { SqliteStore } from '../../src/sqlite.js';
import type { SearchQuery } from '../../src/store.js';
import { createRandom, put as putWrite, randomResources } from '../support/kit.js';
import { guardStore } from '../../src/access/guarded-store.js';
import { describeCriteria } from '../../src/search/criteria/describe-criteria.js';
import { signedIn, system } from '../repository/harness.js';
import { blocksOf } from '../support/markdown.js';
import { readPage } from '../support/pages.js';
import { countCalls } from './counting-store.js';
import { caller as trusted, put, type Sample } from './harness.js';
import { storeWith } from '../support/store-with.js';

const RESOURCES: readonly Sample[] = [
  { resourceType: 'Organization', id: 'org' },
  { resourceType: 'Practitioner', id: 'dr' },
  {
    resourceType: 'Patient',
    id: 'ann',
    gender: 'female',
    generalPractitioner: [{ reference: 'Practitioner/dr' }],
    managingOrganization: { reference: 'Organization/org' },
  },
  {
    resourceType: 'Encounter',
    id: 'e1',
    status: 'finished',
    class: { code: 'AMB' },
    subject: { reference: 'Patient/ann' },
  },
  {
    resourceType: 'Observation',
    id: 'o1',
    status: 'final',
    code: { text: 'Pulse', coding: [{ code: '8867-4' }] },
    effectiveDateTime: '2020-05-01',
    subject: { reference: 'Patient/ann' },
    encounter: { reference: 'Encounter/e1' },
  },
  { resourceType: 'Questionnaire', id: 'q', url: 'http://example.org/q', status: 'active' },
  { resourceType: 'QuestionnaireResponse', id: 'qr', status: 'completed', questionnaire: 'http://example.org/q' },
];

/** The store numbers policies in the order in which tests create them. */
function named(text: string): string {
  return text.replace(/AccessPolicy\/[\w-]+/g, 'AccessPolicy/p');
}

async function explain(query: string, context: Partial<FhirGraphqlContext> = {}) {
  return explainFhirGraphql(query, { store: new MemoryStore(), caller: trusted, ...context });
}

type Rules = NonNullable<NonNullable<Parameters<typeof signedIn>[1]>['rules']>;

/** A member with these rules, in a store of its own. */
async function member(rules: Rules): Promise<Caller> {
  const store = new MemoryStore();
  await system(store);
  return signedIn(store, { rules });
}

async function callsOf(query: string, context?: Partial<FhirGraphqlContext>): Promise<readonly ExplainedCall[]> {
  return (await explain(query, context)).plan.calls;
}

describe('the text of an explanation', () => {
  test('of a list with reverse references, for trusted code', async () => {
    const { text } = await explain(
      `query Females($gender: String) {
      PatientList(gender: $gender, _sort: "family,-birthdate", _count: 20, _offset: 40) {
        name { family }
        ObservationList(_reference: subject, code: ["8867-4", "8480-6"], date: "ge2020") { status }
      }
    }`,
      { variables: { gender: 'female' } },
    );
    expect(text).toBe(`2 calls to the store on 2 levels; cost at least 2, estimated 239

1. PatientList: search Patient
   where gender = female
   sorted by family, -birthdate, then id
   at most 20, after the first 40
   by trusted code: everything

2. PatientList.ObservationList: search Observation by subject, once for all parents
   where (code = 8867-4 or code = 8480-6) and date ge 2020-01-01 to 2021-01-01
   at most 10001
   by trusted code: everything
`);
  });

  test.each([
    ['ObservationList(_sort: "-date", _count: 5) { id }', []],
    ['ObservationList(_sort: "subject", _count: 5) { id }', ['no index has the order of subject']],
    ['ObservationList(subject: "Patient/1", _sort: "subject", _count: 5) { id }', []],
    ['ObservationConnection(status: "final") { count }', []],
    ['ObservationConnection(status: ["final", "amended"]) { count }', []],
    ['ObservationConnection(_filter: "not (status eq final)") { count }', []],
    ['ObservationConnection(status: "final", date: "ge2020") { count }', ['every match is tested to be counted']],
    ['ObservationConnection(identifier: "x", date: "ge2020") { count }', []],
    [
      'ObservationList(date: ["ge2020", "lt2021"]) { id }',
      ['the values of date are alternatives that leave no value out'],
    ],
    ['ObservationList(date: "ge2020,lt2021") { id }', ['the values of date are alternatives that leave no value out']],
    [
      'ObservationList(subject: "Patient/1", _lastUpdated: ["gt2020", "eb2021"]) { id }',
      ['the values of _lastUpdated are alternatives that leave no value out'],
    ],
    ['ObservationList(date: ["lt2020", "ge2021"]) { id }', []],
    ['ObservationList(date: ["ge2020", "ge2021"]) { id }', []],
    ['ObservationList(value_quantity: ["ge1||mg", "lt2||g"]) { id }', []],
    ['ObservationList(_filter: "date ge 2020 and date lt 2021") { id }', []],
    [
      'PatientList { ObservationList(_reference: subject, date: ["ge2020", "lt2021"]) { id } }',
      ['the values of date are alternatives that leave no value out'],
    ],
  ] as const)('warns of costs that grow with the data: %s', async (field, warnings) => {
    const { text } = await explain(`{ ${field} }`);
    expect([...text.matchAll(/broad: ([^,:]*)/g)].map(([, warning]) => warning)).toEqual(warnings);
  });

  test('marks the conditions that the rules of the caller add', async () => {
    const caller = await member([
      { resourceType: 'Patient', criteria: 'Patient?active=true' },
      { resourceType: 'Observation', criteria: 'Observation?subject.active=true&status=final' },
      {
        resourceType: 'Observation',
        criteria: 'Observation?status=amended',
        hiddenFields: ['effectiveDateTime', 'subject'],
      },
    ]);
    const { text } = await explain(
      `{
        ObservationConnection(code: "8867-4", _sort: "-date", _count: 5) {
          count
          edges { resource { subject { resource(type: Patient) { id } } encounter { resource { id } } } }
        }
        EncounterList { id }
      }`,
      { caller },
    );
    expect(named(text)).toBe(`2 calls to the store on 2 levels; cost at least 4, estimated 130

1. ObservationConnection: search Observation
   where code = 8867-4 and ([AccessPolicy/p, rule 2: Observation?subject.active=true&status=final: (subject leads to Patient where (active = true) and status = final)] or [AccessPolicy/p, rule 3: Observation?status=amended: status = amended])
   not sorted by date, which a rule hides
   at most 5, and their number
   broad: every match is tested to be counted: leave the number out, or narrow the search
   by AccessPolicy/p, rule 2: Observation?subject.active=true&status=final: subject leads to Patient where (active = true) and status = final; one more search decides which
   by AccessPolicy/p, rule 3: Observation?status=amended: status = amended, without effectiveDateTime, subject

1. EncounterList: search Encounter
   no rule grants it: the store is not asked

2. ObservationConnection.edges.resource.subject.resource: read what the references lead to, once for all: Patient
   by AccessPolicy/p, rule 1: Patient?active=true: active = true

2. ObservationConnection.edges.resource.encounter.resource: read what the references lead to, once for all: Encounter
   no rule grants it: the store is not asked
`);
  });

  test('shows the query plan of SQLite for each statement', async () => {
    const store = new SqliteStore(':memory:');
    await put(store, RESOURCES);
    const { text } = await explain(
      '{ Patient(id: "ann") { gender ObservationList(_reference: subject, _count: 5) { id } } }',
      {
        store,
      },
    );
    await store.close();
    expect(text).toBe(`2 calls to the store on 2 levels; cost at least 2, estimated 11

1. Patient: read Patient/ann
   by trusted code: everything
   SELECT version, updated, content, erased FROM resource WHERE collection = ? AND id = ? AND version > 0
     SEARCH resource USING INDEX sqlite_autoindex_resource_1 (collection=? AND id=?)
   SELECT resource, version, updated, text, sum FROM version WHERE key = ? AND text IS NOT NULL
     SEARCH version USING INTEGER PRIMARY KEY (rowid=?)

2. Patient.ObservationList: search Observation by subject, once for all parents
   where everything
   at most 5
   by trusted code: everything
   SELECT j.value, CASE WHEN (SELECT 1 FROM reference x WHERE x.parameter = ? AND x.target = j.value LIMIT 1 OFFSET ?) IS NULL THEN (SELECT json_group_array(content) FROM (SELECT r0.content AS content FROM reference x CROSS JOIN resource r0 ON r0.key = x.resource WHERE x.parameter = ? AND x.target = j.value AND x.grp = 0 AND (x.resource % 251 <> 0 OR fhirgraph_in_time()) ORDER BY r0.id LIMIT ? OFFSET ?)) END, NULL FROM json_each(?) j
     SCAN j VIRTUAL TABLE INDEX 1:
     CORRELATED SCALAR SUBQUERY 1
       SEARCH x USING COVERING INDEX reference_by_value (target=? AND parameter=?)
     CORRELATED SCALAR SUBQUERY 3
       CO-ROUTINE (subquery-2)
         SEARCH x USING COVERING INDEX reference_by_value (target=? AND parameter=?)
         SEARCH r0 USING INTEGER PRIMARY KEY (rowid=?)
         USE TEMP B-TREE FOR ORDER BY
       SCAN (subquery-2)
   SELECT v.resource, v.version, v.updated, v.text, v.sum, j.key FROM json_each(?) j CROSS JOIN version v WHERE v.key = j.value AND v.text IS NOT NULL
     SCAN j VIRTUAL TABLE INDEX 1:
     SEARCH v USING INTEGER PRIMARY KEY (rowid=?)
`);
  });
});

test('equals the output in the guide', async () => {
  const guide = readPage('explain');
  const [query, expected] = ['graphql', 'text'].map(
    (language) => blocksOf(guide).find((block) => block.language === language)!.text,
  );
  const caller = await member([
    { resourceType: 'Patient', criteria: 'Patient?active=true' },
    { resourceType: 'Observation', hiddenFields: ['note'] },
  ]);
  const { text } = await explain(query!, { caller });
  expect(text.replace(/AccessPolicy\/[\w-]+/g, 'AccessPolicy/42')).toBe(expected);
});

describe('the data of an explanation', () => {
  test('of a read', async () => {
    expect(await callsOf('query($id: ID!) { who: Patient(id: $id) { id } }', { variables: { id: 'ann' } })).toEqual([
      {
        level: 1,
        path: 'who',
        location: { line: 1, column: 19 },
        kind: 'read',
        types: ['Patient'],
        id: 'ann',
        asked: true,
        rules: [{ type: 'Patient', origin: 'trusted code', criteria: 'everything', hidden: [], asksStore: false }],
      },
    ]);
  });

  test('of a search: a tree of criteria, the order and the page', async () => {
    const caller = await member([{ resourceType: 'Patient', criteria: 'Patient?active=true' }]);
    const [call] = await callsOf('{ PatientList(gender: ["male", "female"], _sort: "-birthdate", _count: 3) { id } }', {
      caller,
    });
    const origin = call!.rules[0]!.origin;
    expect(call).toMatchObject({
      kind: 'search',
      types: ['Patient'],
      criteria: {
        kind: 'and',
        text: `(gender = male or gender = female) and [${origin}: active = true]`,
        of: [
          {
            kind: 'or',
            text: 'gender = male or gender = female',
            of: [
              { kind: 'match', text: 'gender = male' },
              { kind: 'match', text: 'gender = female' },
            ],
          },
          { kind: 'match', text: `[${origin}: active = true]`, rules: [origin] },
        ],
      },
      sort: ['-birthdate'],
      page: { limit: 3, offset: 0, total: false, cursor: false },
      asked: true,
    });
    expect(JSON.parse(JSON.stringify(call))).toEqual(call);
  });

  test('of a connection: the number of matches, one row more for cursors', async () => {
    const [count] = await callsOf('{ PatientConnection(_count: 3) { count } }');
    expect(count?.page).toEqual({ limit: 0, offset: 0, total: true, cursor: false });
    const [next] = await callsOf('{ PatientConnection(_count: 3) { next edges { resource { id } } } }');
    expect(next?.page).toEqual({ limit: 4, offset: 0, total: false, cursor: false });
  });

  test('of a reverse search names the parameter, also below references', async () => {
    const calls = await callsOf(`{
      Observation(id: "o1") {
        subject { resource { ... on Patient { id EncounterList(_reference: subject) { id } } ... on Group { id } } }
      }
    }`);
    expect(calls.map(({ level, kind, path, types, parameter }) => ({ level, kind, path, types, parameter }))).toEqual([
      { level: 1, kind: 'read', path: 'Observation', types: ['Observation'], parameter: undefined },
      {
        level: 2,
        kind: 'reference',
        path: 'Observation.subject.resource',
        types: ['Device', 'Group', 'Location', 'Patient'],
        parameter: undefined,
      },
      {
        level: 3,
        kind: 'reverse',
        path: 'Observation.subject.resource(Patient).EncounterList',
        types: ['Encounter'],
        parameter: 'subject',
      },
    ]);
  });

  test('of a reference by `type:`, and of a reference to any type', async () => {
    const typed = await callsOf('{ Observation(id: 1) { subject { resource(type: Patient) { id } } } }');
    expect(typed[1]).toMatchObject({ types: ['Patient'], asked: true });
    const any = await callsOf(
      '{ Observation(id: 1) { focus { resource { id ... on Patient { managingOrganization { resource { id } } } } } } }',
    );
    expect(any.map(({ path, types }) => `${path} ${types.join()}`)).toEqual([
      'Observation Observation',
      'Observation.focus.resource ',
      'Observation.focus.resource.managingOrganization.resource Organization',
    ]);
  });

  test('of a canonical: a search per possible type', async () => {
    const calls = await callsOf('{ QuestionnaireResponse(id: 1) { _questionnaire { resource { id } } } }');
    expect(calls[1]).toMatchObject({
      kind: 'canonical',
      types: ['Questionnaire'],
      criteria: { text: 'url = (each canonical)' },
      page: { limit: 10_000 },
    });
    expect(calls).toHaveLength(2);
  });

  test('of a logical reference, if these are resolved', async () => {
    const query = '{ Encounter(id: 1) { serviceProvider { resource { id } } } }';
    expect(await callsOf(query)).toHaveLength(2);
    const [, , identifier] = await callsOf(query, { resolveIdentifiers: true });
    expect(identifier).toMatchObject({
      kind: 'identifier',
      types: ['Organization'],
      criteria: { text: 'identifier = (each identifier)' },
    });
  });

  test('of an instance begins with its read', async () => {
    const calls = await callsOf('{ gender ObservationList(_reference: subject) { id } }', { focus: 'Patient/ann' });
    expect(calls.map(({ level, path, kind }) => [level, path, kind])).toEqual([
      [1, '', 'read'],
      [2, 'ObservationList', 'reverse'],
    ]);
  });

  test('of fields that fail or find nothing: the reason, and nothing below them', async () => {
    const caller = await member([{ resourceType: 'Patient', hiddenFields: ['birthDate'] }]);
    const calls = await callsOf(
      `{
        PatientList(birthdate: "1980") { generalPractitioner { resource { id } } }
        PatientConnection(_cursor: "x") { count }
        Observation(id: "o1") { subject { resource { id } } }
      }`,
      { caller },
    );
    expect(calls.map(({ path, asked, fault, rules }) => [path, asked, fault, rules.length])).toEqual([
      ['PatientList', false, undefined, 1],
      ['PatientConnection', false, expect.stringContaining('cursor'), 0],
      ['Observation', false, undefined, 0],
    ]);
  });

  test('omits fields that @skip and @include omit', async () => {
    const query = 'query($no: Boolean!) { PatientList @include(if: $no) { id } EncounterList @skip(if: $no) { id } }';
    expect((await callsOf(query, { variables: { no: false } })).map(({ path }) => path)).toEqual(['EncounterList']);
    expect((await callsOf(query, { variables: { no: true } })).map(({ path }) => path)).toEqual(['PatientList']);
  });

  test('is bounded, for references to any number of types', async () => {
    const nested = (depth: number): string =>
      depth === 0
        ? 'id'
        : `performer { resource { ... on Practitioner { id } ... on Patient { generalPractitioner { resource { id } } } } }`;
    const many = Array.from({ length: 1_200 }, (_, index) => `a${index}: PatientList { id }`).join(' ');
    const { plan, text } = await explain(`{ ${many} }`);
    expect(plan.cut).toBe(true);
    expect(plan.calls).toHaveLength(1_000);
    expect(text).toMatch(/^1000 calls to the store on 1 level, and more; cost at least \d+, estimated \d+\n/);
    expect((await explain(`{ ObservationList { ${nested(1)} } }`)).plan.cut).toBe(false);
  });
});

describe('an explanation and an execution agree', () => {
  const QUERY = `{
    ObservationList(code: "8867-4", _sort: "date") {
      subject { resource { ... on Patient {
        generalPractitioner { resource { id } }
        EncounterList(_reference: subject, status: "finished") { id ObservationList(_reference: encounter) { id } }
      } } }
    }
    QuestionnaireResponse(id: "qr") { _questionnaire { resource { id } } }
  }`;
  const METHODS = {
    read: 'read',
    reference: 'read',
    search: 'search',
    canonical: 'search',
    identifier: 'search',
    reverse: 'reverse',
    host: 'none',
  };

  // The calls of a level are made side by side, in no order that could be relied on.
  test('about the calls of each level', async () => {
    const counting = countCalls(new MemoryStore());
    await put(counting.store, RESOURCES);
    const told = await callsOf(QUERY, { store: counting.store });
    expect(counting.takeCalls()).toEqual([]);
    const answer = await executeFhirGraphql(QUERY, { store: counting.store, caller: trusted });
    expect(answer.errors).toBeUndefined();
    const made = counting.takeCalls().map((call) => call.split(/[ ./]/).slice(0, 2).join(' '));
    const levels = Map.groupBy(told, ({ level }) => level);
    const byLevel = Array.from(levels.values(), (calls) =>
      calls.map(({ kind, types }) => `${METHODS[kind]} ${types.join('|')}`),
    );
    expect(byLevel).toEqual([
      ['search Observation', 'read QuestionnaireResponse'],
      ['read Device|Group|Location|Patient', 'search Questionnaire'],
      ['read Organization|Practitioner|PractitionerRole', 'reverse Encounter'],
      ['reverse Observation'],
    ]);
    let next = 0;
    for (const level of byLevel) {
      const patterns = level.map((call) => new RegExp(`^${call.replace(' ', ' (?:')})$`));
      const answers = made.slice(next, (next += level.length));
      for (const pattern of patterns) expect(answers).toContainEqual(expect.stringMatching(pattern));
    }
    expect(made).toHaveLength(next);
  });

  test.each<readonly [string, Rules]>([
    ['no criteria', [{ resourceType: 'Patient' }, { resourceType: 'Observation' }]],
    ['one rule', [{ resourceType: 'Patient', criteria: 'Patient?gender=female' }, { resourceType: 'Observation' }]],
    [
      'rules that add up and hide',
      [
        { resourceType: 'Observation', criteria: 'Observation?status=final', hiddenFields: ['effectiveDateTime'] },
        { resourceType: 'Observation', criteria: 'Observation?subject.gender=female' },
        { resourceType: 'Patient' },
      ],
    ],
    ['a compartment', [{ resourceType: '*', compartment: { reference: 'Patient/ann' } }]],
  ])('about the parts that are pushed down to the store: %s', async (_, rules) => {
    const store = new MemoryStore();
    const repository = await system(store);
    for (const { id, ...resource } of RESOURCES) await repository.update({ ...resource, id } as never);
    const asked: SearchQuery[] = [];
    const caller = await signedIn(store, { rules });
    const spying: ResourceStore = storeWith(store, {
      search: (query) => (asked.push(query), store.search(query)),
      searchByReference: (query, ...more) => (asked.push(query), store.searchByReference(query, ...more)),
    });
    const query = `{ ObservationList(code: "8867-4", date: "ge2020", _sort: "-date") { id }
      PatientList { ObservationList(_reference: subject, _count: 5) { id } } }`;
    const told = (await callsOf(query, { store: spying, caller })).filter((call) => call.asked);
    expect(asked).toEqual([]);
    await executeFhirGraphql(query, { store: spying, caller });
    const unmarked = (text: string) => text.replace(/\[AccessPolicy\/[^:[\]]*: [^:[\]]*: ([^[\]]*)\]/g, '$1');
    // If rules hide different fields, separate searches find the rule that grants a row.
    const [searches, checks] = [false, true].map((isCheck) =>
      asked.filter(({ limit }) => (limit === undefined) === isCheck),
    ) as [SearchQuery[], SearchQuery[]];
    expect(checks).toHaveLength(told.flatMap((call) => call.rules.filter(({ asksStore }) => asksStore)).length);
    const expected = searches.map(({ criteria, sort = [], limit }) => {
      const order = sort.map(({ parameter, descending }) => (descending ? '-' : '') + parameter);
      return `${describeCriteria(criteria)} by ${order.join()} up to ${limit!}`;
    });
    const actual = told.map(
      ({ criteria, sort = [], page }) => `${unmarked(criteria!.text)} by ${sort.join()} up to ${page!.limit!}`,
    );
    expect(actual.sort()).toEqual(expected.sort());
    expect(told.length).toBeGreaterThan(1);
  });

  test('and an explanation reads nothing, even over SQLite', async () => {
    const store = new SqliteStore(':memory:');
    await put(store, RESOURCES);
    const calls = (['read', 'search', 'searchByReference', 'history', 'commit'] as const).map((name) =>
      vi.spyOn(store, name),
    );
    const { plan } = await explain(QUERY, { store });
    expect(plan.calls.every(({ statements }) => statements!.length > 0)).toBe(true);
    for (const call of calls) expect(call).not.toHaveBeenCalled();
    expect(JSON.stringify(plan)).not.toContain('Pulse');
    await store.close();
  });

  test('and an explanation does not change the plans that are executed', async () => {
    const wide = '{ ObservationList { performer { resource { id } } } }';
    await explain(wide, { limits: { fields: 12 } });
    const store = new MemoryStore();
    expect((await executeFhirGraphql(wide, { store, caller: trusted, limits: { fields: 12 } })).errors).toBeUndefined();
  });
});

describe('SQLite starts every query of the bench from an index', () => {
  const store = new SqliteStore(':memory:');
  beforeAll(async () => {
    const report = { resourceType: 'DiagnosticReport', id: 'd', status: 'final', code: { text: 'Blood' } } as const;
    await store.commit([...randomResources(createRandom(1)), report].map((resource) => putWrite(resource)));
  });

  test.each(QUERIES.map(({ name, text }) => [name, text] as const))('%s', async (_, text) => {
    const project = putWrite({ resourceType: 'Patient', id: '1' }).key.project;
    const { plan } = await explain(text, {
      store,
      caller: systemCaller(project),
      variables: text.includes('$patient') ? { patient: 'p1' } : text.includes('$gender') ? { gender: 'female' } : {},
    });
    const statements = plan.calls.flatMap((call) => call.statements!);
    expect(statements.length).toBeGreaterThanOrEqual(plan.calls.length);
    for (const { plan: steps } of statements) {
      // json_each is a given list of keys, and a subquery has rows that an index returned before.
      const rest = steps.filter((step) => /SCAN (?!j VIRTUAL TABLE|\(subquery)/.test(step));
      expect(rest.filter((step) => !steps.includes(step.replace('SCAN', 'CO-ROUTINE')))).toEqual([]);
    }
  });

  test('over an empty file', async () => {
    const empty = new SqliteStore(':memory:');
    for (const { text } of QUERIES) {
      const { plan } = await explain(text, { store: empty, variables: { patient: 'p1', gender: 'female' } });
      expect(plan.calls.every(({ statements }) => statements !== undefined)).toBe(true);
    }
    await empty.close();
  });
});

describe('a document that cannot be executed cannot be explained', () => {
  test.each<readonly [string, string, Partial<FhirGraphqlContext>, string]>([
    ['a syntax error', '{ PatientList', {}, 'invalid'],
    ['an unknown field', '{ Pateint { id } }', {}, 'invalid'],
    ['a variable without value', 'query($id: ID!) { Patient(id: $id) { id } }', {}, 'invalid'],
    [
      'a query that is too deep',
      '{ PatientList { name { period { start } } } }',
      { limits: { depth: 2 } },
      'too-costly',
    ],
    ['no caller', '{ PatientList { id } }', { caller: undefined as never }, 'unauthenticated'],
    [
      'a document that is not on the list',
      '{ PatientList { id } }',
      { documents: { find: () => undefined } },
      'forbidden',
    ],
  ])('%s', async (_, query, context, code) => {
    await expect(explain(query, context)).rejects.toMatchObject({ name: 'FhirError', code });
  });

  test('every finding is an issue', async () => {
    const error: FhirError = await explain('{ Pateint { id } PatientList { nam } }').then(
      () => Promise.reject(new Error('It was explained')),
      (reason: FhirError) => reason,
    );
    expect(error.issues).toHaveLength(2);
  });

  test('no store', async () => {
    await expect(explain('{ PatientList { id } }', { store: undefined as never })).rejects.toThrow(TypeError);
  });
});

test('a guarded store does not expose its statements', () => {
  expect('explain' in guardStore(new SqliteStore(':memory:'), trusted)).toBe(false);
});

describe('an explanation ends by its deadline', () => {
  const never = (): Promise<never> => new Promise(() => undefined);
  const limits = { timeout: 5 };
  const tooLong = { code: 'too-costly', details: { limit: 'timeout', max: 5 } };

  test('while a document is looked for', async () => {
    const context = { store: new MemoryStore(), caller: trusted, limits, documents: { find: never } };
    await expect(explainFhirGraphql({ documentId: 'a' }, context)).rejects.toMatchObject(tooLong);
  });

  test('while the store explains', async () => {
    const store = storeWith(new MemoryStore(), { explain: never });
    await expect(
      explainFhirGraphql('{ PatientList { id } }', { store, caller: trusted, limits }),
    ).rejects.toMatchObject(tooLong);
  });
});
