import assert from 'node:assert/strict';
import { ALL, type Criteria, NONE } from '../../search/criteria/criteria.js';
import type { ValueTest } from '../../search/criteria/value-test.js';
import { type ConformanceSuite, idsOf, putAll, queryOf, resourceOf } from '../conformance-case.js';

/** The other kinds of criteria, with expected answers. */
export const criteriaSuite: ConformanceSuite = {
  name: 'criteria',
  cases: [
    {
      name: 'composite: the same group passes all tests',
      async run(store) {
        const code = (value: string): object => ({
          coding: [{ system: 'urn:c', code: value }, { code: `${value}-too` }],
        });
        const component = (name: string, value: number): object => ({ code: code(name), valueQuantity: { value } });
        await putAll(
          store,
          resourceOf('Observation', 'a', {
            code: code('bp'),
            component: [component('sys', 120), component('dia', 80)],
          }),
          resourceOf('Observation', 'b', {
            code: code('bp'),
            component: [component('sys', 80), component('dia', 120)],
          }),
          resourceOf('Observation', 'c', {
            code: code('bp'),
            component: [{ code: code('sys') }, { code: code('x'), valueQuantity: { value: 120 } }],
          }),
        );
        const find = (token: ValueTest, low: number): Promise<readonly unknown[]> =>
          idsOf(
            store,
            queryOf('Observation', {
              kind: 'composite',
              parameter: 'component-code-value-quantity',
              tests: [token, { kind: 'quantity', prefix: 'ge', low, high: low }],
            }),
          );
        assert.deepEqual(await find({ kind: 'token', code: 'sys' }, 100), ['a']);
        assert.deepEqual(await find({ kind: 'token', code: 'dia-too' }, 100), ['b']);
        assert.deepEqual(await find({ kind: 'token', system: 'urn:c', code: 'sys' }, 80), ['a', 'b']);
        assert.deepEqual(await find({ kind: 'token', system: 'urn:c', code: 'sys-too' }, 0), []);
        assert.deepEqual(await find({ kind: 'token', system: 'urn:c' }, 120), ['a', 'b', 'c']);
      },
    },
    {
      name: 'missing: by whether there is any value',
      async run(store) {
        await putAll(store, resourceOf('Patient', 'a', { gender: 'male' }), resourceOf('Patient', 'b'));
        const missing = (parameter: string, value: boolean): Promise<readonly unknown[]> =>
          idsOf(store, queryOf('Patient', { kind: 'missing', parameter, missing: value }));
        assert.deepEqual(await missing('gender', false), ['a']);
        assert.deepEqual(await missing('gender', true), ['b']);
        assert.deepEqual(await missing('birthdate', true), ['a', 'b']);
        assert.deepEqual(await missing('birthdate', false), []);
      },
    },
    {
      name: 'id, last-updated, all and none',
      async run(store) {
        const results = await putAll(store, ...['a', 'b', 'c'].map((id) => resourceOf('Patient', id)));
        const find = (criteria: Criteria): Promise<readonly unknown[]> => idsOf(store, queryOf('Patient', criteria));
        assert.deepEqual(await find({ kind: 'id', ids: ['c', 'x', 'a', 'c'] }), ['a', 'c']);
        assert.deepEqual(await find({ kind: 'id', ids: [] }), []);
        assert.deepEqual(await find(ALL), ['a', 'b', 'c']);
        assert.deepEqual(await find(NONE), []);
        const instants = results.map((one) => (one.kind === 'put' ? Date.parse(one.lastUpdated) : Number.NaN));
        const last = Math.max(...instants);
        for (const [prefix, low, high] of [
          ['ge', last, last + 1],
          ['le', last, last + 1],
          ['gt', last, last + 1],
          ['lt', last, last + 1],
          ['eq', last, last + 1],
          ['ne', last, last + 1],
          ['sa', last - 1, last],
          ['eb', last + 1, last + 2],
          ['ap', last - 5, last + 1],
          ['po', last + 1, last + 9],
        ] as const) {
          const passes = (at: number): boolean =>
            ({
              ge: at >= low,
              le: at < high,
              gt: at >= high,
              lt: at < low,
              eq: at >= low && at < high,
              ne: at < low || at >= high,
              sa: at >= high,
              eb: at < low,
              ap: at >= low && at < high,
              po: at >= low && at < high,
            })[prefix];
          const expected = ['a', 'b', 'c'].filter((_, index) => passes(instants[index]!));
          assert.deepEqual(
            await find({ kind: 'last-updated', test: { kind: 'date', prefix, low, high } }),
            expected,
            prefix,
          );
        }
      },
    },
    {
      name: 'and, or and not, nested, resources without values included',
      async run(store) {
        await putAll(
          store,
          resourceOf('Patient', 'a', { gender: 'male', active: true }),
          resourceOf('Patient', 'b', { gender: 'female', active: true }),
          resourceOf('Patient', 'c', { gender: 'male' }),
          resourceOf('Patient', 'd'),
        );
        const token = (parameter: string, code: string): Criteria => ({
          kind: 'match',
          parameter,
          test: { kind: 'token', code },
        });
        const male = token('gender', 'male');
        const active = token('active', 'true');
        const find = (criteria: Criteria): Promise<readonly unknown[]> => idsOf(store, queryOf('Patient', criteria));
        assert.deepEqual(await find({ kind: 'and', of: [male, active] }), ['a']);
        assert.deepEqual(await find({ kind: 'or', of: [male, active] }), ['a', 'b', 'c']);
        assert.deepEqual(await find({ kind: 'not', of: male }), ['b', 'd']);
        assert.deepEqual(await find({ kind: 'and', of: [male, { kind: 'not', of: active }] }), ['c']);
        assert.deepEqual(await find({ kind: 'not', of: { kind: 'or', of: [male, active] } }), ['d']);
        assert.deepEqual(
          await find({
            kind: 'or',
            of: [
              { kind: 'not', of: active },
              { kind: 'and', of: [male, active] },
            ],
          }),
          ['a', 'c', 'd'],
        );
        assert.deepEqual(await find({ kind: 'and', of: [] }), ['a', 'b', 'c', 'd']);
        assert.deepEqual(await find({ kind: 'or', of: [] }), []);
        assert.deepEqual(await find({ kind: 'not', of: token('birthdate', 'x') }), ['a', 'b', 'c', 'd']);
      },
    },
    {
      name: 'alternatives of one parameter, the negated beside the others',
      async run(store) {
        const observation = (id: string, patient: string, status: string): Parameters<typeof putAll>[1] =>
          resourceOf('Observation', id, { status, subject: { reference: `Patient/${patient}` } });
        await putAll(
          store,
          observation('a', 'one', 'final'),
          observation('b', 'two', 'amended'),
          observation('c', 'three', 'final'),
          observation('d', 'four', 'registered'),
        );
        const find = (parameter: string, ...tests: ValueTest[]): Promise<readonly unknown[]> =>
          idsOf(
            store,
            queryOf('Observation', { kind: 'or', of: tests.map((test) => ({ kind: 'match', parameter, test })) }),
          );
        const subject = (id: string, negated = false): ValueTest => ({
          kind: 'reference',
          types: ['Patient'],
          id,
          ...(negated ? { negated } : {}),
        });
        const status = (code: string, negated = false): ValueTest => ({
          kind: 'token',
          code,
          ...(negated ? { negated } : {}),
        });
        assert.deepEqual(await find('subject', subject('one'), subject('three')), ['a', 'c']);
        assert.deepEqual(await find('subject', subject('one'), subject('two', true)), ['a', 'c', 'd']);
        assert.deepEqual(await find('subject', subject('two', true), subject('two')), ['a', 'b', 'c', 'd']);
        assert.deepEqual(await find('subject', subject('one', true), subject('one', true)), ['b', 'c', 'd']);
        assert.deepEqual(await find('status', status('registered'), status('amended')), ['b', 'd']);
        assert.deepEqual(await find('status', status('registered'), status('amended', true)), ['a', 'c', 'd']);
        assert.deepEqual(await find('status', status('final', true), status('final', true)), ['b', 'd']);
      },
    },
    {
      name: 'takes a thousand alternatives',
      async run(store) {
        await putAll(
          store,
          ...Array.from({ length: 20 }, (_, n) =>
            resourceOf('Patient', `p${n}`, {
              identifier: [{ system: `s${n % 2}`, value: `${n}` }],
              name: [{ family: `f${n}x` }],
            }),
          ),
        );
        const numbers = Array.from({ length: 1_000 }, (_, n) => n + 10);
        const expected = Array.from({ length: 10 }, (_, n) => `p${n + 10}`);
        const alternatives: readonly ((n: number) => Criteria)[] = [
          (n) => ({ kind: 'match', parameter: 'identifier', test: { kind: 'token', code: `${n}` } }),
          (n) => ({
            kind: 'match',
            parameter: 'identifier',
            test: { kind: 'token', code: `${n}`, system: `s${n % 2}` },
          }),
          (n) => ({
            kind: 'match',
            parameter: 'family',
            test: { kind: 'string', comparator: 'starts-with', text: `f${n}x` },
          }),
          (n) => ({
            kind: 'match',
            parameter: 'family',
            test: { kind: 'string', comparator: 'contains', text: `f${n}x` },
          }),
          (n) => ({ kind: 'id', ids: [`p${n}`] }),
        ];
        for (const make of alternatives) {
          assert.deepEqual(await idsOf(store, queryOf('Patient', { kind: 'or', of: numbers.map(make) })), expected);
          const nested: Criteria = {
            kind: 'and',
            of: [ALL, { kind: 'not', of: { kind: 'or', of: numbers.map(make) } }],
          };
          assert.equal((await idsOf(store, queryOf('Patient', nested))).length, 10);
        }
      },
    },
    {
      name: 'finds nothing in a project or type without resources',
      async run(store) {
        await putAll(store, resourceOf('Patient', 'a', { gender: 'male' }));
        const criteria: Criteria = { kind: 'match', parameter: 'gender', test: { kind: 'token', code: 'male' } };
        for (const query of [queryOf('Person', criteria), { ...queryOf('Patient', criteria), project: 'other' }]) {
          assert.deepEqual(await store.search({ ...query, total: true }), { matches: [], total: 0 });
        }
      },
    },
  ],
};
