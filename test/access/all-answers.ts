import {
  type AnyResource,
  createRepository,
  executeFhirGraphql,
  FhirError,
  type MemberCaller,
  type ResourceStore,
} from '../../src/index.js';
import { R4 } from '../../src/store.js';
import type { GuardedWrite } from '../../src/access/contract.js';
import { guardStore } from '../../src/access/guarded-store.js';
import { parseSearch } from '../../src/search/parse/parse-search.js';
import { FRAGMENTS } from './expected-answers.js';
import { SORTS, type Question } from './questions.js';
import { ALL_KEYS, SAMPLE_TYPES } from './world.js';

/** All answers to a caller on every path, including errors with everything that clients can see of them. */
export async function allAnswers(
  store: ResourceStore,
  caller: MemberCaller,
  questions: readonly Question[],
): Promise<readonly unknown[]> {
  const guard = guardStore(store, caller);
  const repository = createRepository({ store, caller });
  const versioned = ['1', '2', '9'].flatMap((version) => ALL_KEYS.map((key) => ({ ...key, version })));
  const calls: Promise<unknown>[] = [
    guard.read([...ALL_KEYS, ...versioned]),
    ...ALL_KEYS.flatMap((key) => [
      guard.history(key, { offset: 0, limit: 10 }),
      repository.read(key.type, key.id),
      repository.vread(key.type, key.id, '1'),
      repository.history(key.type, key.id),
    ]),
    ...questions.flatMap(({ type, rest }) => [
      guard.search({ type, criteria: parseSearch(R4, type, rest).criteria, total: true }),
      repository.search(type, `${rest}&_total=accurate&_count=2`),
    ]),
    ...SAMPLE_TYPES.flatMap((type) =>
      SORTS[type].map((sort) =>
        guard.search({ type, ...parseSearch(R4, type, `_sort=${sort}`), limit: 2, total: true }),
      ),
    ),
    executeFhirGraphql(document(questions), { store, caller }),
    ...ALL_KEYS.map(({ type, id }) =>
      executeFhirGraphql('{ resourceType id }', { store, caller, focus: `${type}/${id}` }),
    ),
  ];
  return Promise.all(calls.map(outcomeOf));
}

/**
 * The results of writes that try to affect a resource: with and without versions, by the guarded store and by the repository,
 * and conditional creates. They are not independent: each is tried after the one before.
 */
export async function writeAnswers(
  store: ResourceStore,
  caller: MemberCaller,
  target: AnyResource,
  questions: readonly Question[],
): Promise<readonly unknown[]> {
  const guard = guardStore(store, caller);
  const repository = createRepository({ store, caller });
  const { resourceType: type, id } = target as { resourceType: (typeof SAMPLE_TYPES)[number]; id: string };
  const key = { type, id };
  const expectations = [undefined, { version: '1' }, { version: '9' }, { version: null }];
  const attempts: (() => Promise<unknown>)[] = [
    ...expectations.flatMap((expect): (() => Promise<unknown>)[] => [
      () => guard.commit([{ kind: 'put', key, resource: target, expect }]),
      () => guard.commit([{ kind: 'delete', key, expect }]),
      () => guard.commit([{ kind: 'put', key, resource: { ...target, resourceType: type }, expect }, del(key)]),
    ]),
    () => repository.update(target as never),
    () => repository.patch(type, id, [{ op: 'test', path: '/id', value: id }]),
    () => repository.delete(type, id, { ifMatch: '1' }),
    ...questions
      .filter((question) => question.rest !== '')
      .map(
        ({ type, rest }) =>
          () =>
            guard.commit([
              { kind: 'assert-no-match', query: { type, criteria: parseSearch(R4, type, rest).criteria } },
            ]),
      ),
  ];
  const outcomes: unknown[] = [];
  for (const attempt of attempts) outcomes.push(await outcomeOf(attempt()));
  return outcomes;
}

/** For each question, a list, a count, and everything that they lead to; for each id, a read. */
function document(questions: readonly Question[]): string {
  const reads = ALL_KEYS.map(({ type, id }, index) => `r${index}: ${type}(id: "${id}") { ...${type} }`);
  const lists = questions.flatMap(({ type, graphql }, index) => {
    if (graphql === undefined) return [];
    const args = graphql === '' ? '' : `(${graphql})`;
    return [`l${index}: ${type}List${args} { ...${type} }`, `c${index}: ${type}Connection${args} { count }`];
  });
  return `{ ${[...reads, ...lists].join('\n')} ${EVERY_FRAGMENT} } ${FRAGMENTS}`;
}

const EVERY_FRAGMENT = SAMPLE_TYPES.map((type) => `all${type}: ${type}List { ...${type} }`).join('\n');

function del(key: { readonly type: string; readonly id: string }): GuardedWrite {
  return { kind: 'delete', key };
}

async function outcomeOf(call: Promise<unknown>): Promise<unknown> {
  try {
    return await call;
  } catch (error) {
    if (!(error instanceof FhirError)) throw error;
    return { ...error.toJSON(), status: error.status, outcome: error.outcome };
  }
}
