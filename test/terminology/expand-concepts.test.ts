import { getEventListeners } from 'node:events';
import { describe, expect, test, vi } from 'vitest';
import { expandAll, MAX_CONCEPTS, MAX_EXPANSIONS, withConcepts } from '../../src/access/terminology/expand-concepts.js';
import { searchForPolicy } from '../../src/access/terminology/search-terminology.js';
import { FhirError, MemoryStore } from '../../src/index.js';
import type { CallOptions, Criteria } from '../../src/store.js';
import type { ExpansionRequest, Terminology, TerminologyContext } from '../../src/terminology.js';
import { ALL, type Expansions } from '../../src/search/criteria/criteria.js';
import { codeOf, faultOf } from '../repository/harness.js';

const CONTEXT = { project: 'clinic', search: () => Promise.resolve([]) };

/** Requests for sets of these names. */
function sets(...names: readonly string[]): Map<string, ExpansionRequest> {
  return new Map(names.map((name) => [name, { kind: 'value-set', url: `urn:set:${name}` }]));
}

function terminologyOf(expand: (request: ExpansionRequest, context: TerminologyContext) => unknown): Terminology {
  return { expand: expand as Terminology['expand'], subsumes: undefined as never, lookup: undefined as never };
}

function expand(
  requests: Map<string, ExpansionRequest>,
  answer: (request: ExpansionRequest, context: TerminologyContext) => unknown,
  options?: CallOptions,
): Promise<Expansions> {
  return expandAll(requests, terminologyOf(answer), CONTEXT, options);
}

const codes = (count: number): object[] => Array.from({ length: count }, (_, index) => ({ code: `c${index}` }));

describe('expansions', () => {
  test('are requested concurrently, each with its context, and returned by their keys', async () => {
    const asked: unknown[] = [];
    const found = await expand(sets('a', 'b'), (request, { project, search }) => {
      asked.push([request, project, search]);
      return Promise.resolve([{ system: 'urn:s', code: asked.length === 1 ? 'x' : 'y' }]);
    });
    expect(asked).toEqual([
      [{ kind: 'value-set', url: 'urn:set:a' }, 'clinic', CONTEXT.search],
      [{ kind: 'value-set', url: 'urn:set:b' }, 'clinic', CONTEXT.search],
    ]);
    expect(found).toEqual(
      new Map([
        ['a', [{ system: 'urn:s', code: 'x' }]],
        ['b', [{ system: 'urn:s', code: 'y' }]],
      ]),
    );
  });

  test('need a terminology', async () => {
    expect(await codeOf(expandAll(sets('a'), undefined, CONTEXT, undefined))).toBe('unsupported');
  });

  test('are not requested if the criteria name none', async () => {
    expect(await withConcepts(ALL, undefined, CONTEXT, undefined)).toBe(ALL);
  });

  test('replace the tests in criteria', async () => {
    const request: ExpansionRequest = { kind: 'value-set', url: 'urn:set:a' };
    const criteria: Criteria = { kind: 'match', parameter: 'code', test: { kind: 'concept', request } };
    const terminology = terminologyOf(() => Promise.resolve([{ system: 'urn:s', code: 'x' }]));
    expect(await withConcepts(criteria, terminology, CONTEXT, undefined)).toEqual({
      kind: 'match',
      parameter: 'code',
      test: { kind: 'token', system: 'urn:s', code: 'x' },
    });
  });

  test(`are at most ${MAX_EXPANSIONS} in one search`, async () => {
    const names = Array.from({ length: MAX_EXPANSIONS }, (_, index) => `set${index}`);
    expect(await expand(sets(...names), () => [])).toEqual(new Map(names.map((name) => [name, []])));
    const asked: unknown[] = [];
    const fault = await faultOf(expand(sets(...names, 'more'), (request) => asked.push(request)));
    expect([fault.code, asked]).toEqual(['too-costly', []]);
    expect(fault.message).toBe(
      'At most 10 value sets and hierarchies of codes are allowed, this has 11: ask in several requests',
    );
  });

  test(`have at most ${MAX_CONCEPTS} concepts together`, async () => {
    const half = codes(MAX_CONCEPTS / 2);
    const found = await expand(sets('a', 'b'), () => half);
    expect(['a', 'b'].map((name) => found.get(name)?.length)).toEqual([5_000, 5_000]);
    const answers = [half, half, codes(1)];
    const fault = await faultOf(expand(sets('a', 'b', 'c'), () => answers.pop()));
    expect([fault.code, fault.message]).toEqual([
      'too-costly',
      'At most 10000 codes of value sets in one search are allowed, this has 10001: name a narrower set',
    ]);
  });
});

describe('answers of a terminology', () => {
  test.each<[string, unknown]>([
    ['nothing', undefined],
    ['no list', { code: 'x' }],
    ['a text', 'x'],
    ['texts', ['x']],
    ['null', [null]],
    ['no code', [{ system: 'urn:s' }]],
    ['an empty code', [{ code: '' }]],
    ['a code that is a number', [{ code: 7 }]],
    ['a system that is a number', [{ system: 7, code: 'x' }]],
    ['one of two', [{ code: 'x' }, { code: null }]],
  ])('are checked: %s', async (_, answer) => {
    const fault = await faultOf(expand(sets('a'), () => answer));
    expect([fault.code, fault.message]).toEqual([
      'unavailable',
      'The terminology answered something else than concepts, so that value sets cannot be searched now; try again',
    ]);
  });

  test('keep errors of the library, and hide others behind "unavailable"', async () => {
    const own = new FhirError('invalid', 'Unknown value set');
    expect(await faultOf(expand(sets('a'), () => Promise.reject(own)))).toBe(own);
    const other = new TypeError('ECONNREFUSED');
    const fault = await faultOf(expand(sets('a'), () => Promise.reject(other)));
    expect([fault.code, fault.message, fault.cause]).toEqual([
      'unavailable',
      'The terminology failed, so that value sets cannot be searched now; try again',
      other,
    ]);
  });
});

/** Timers that the test runner has set before keep their own time. */
async function inFakeTime(work: () => Promise<void>): Promise<void> {
  await Promise.resolve();
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
  await work().finally(() => vi.useRealTimers());
}

describe('a wait for a terminology', () => {
  /** How the wait for a terminology that never answers has ended after so many milliseconds; undefined: not yet. */
  async function endedAfter(milliseconds: number, options?: CallOptions): Promise<FhirError | undefined> {
    let ended: FhirError | undefined;
    const never = expand(sets('a'), () => new Promise(() => undefined), options);
    never.catch((error: FhirError) => (ended = error));
    await vi.advanceTimersByTimeAsync(milliseconds);
    return ended;
  }

  test('ends after ten seconds', () =>
    inFakeTime(async () => {
      const { signal } = new AbortController();
      expect(await endedAfter(9_999, { signal })).toBeUndefined();
      for (const deadline of [undefined, () => performance.now() + 10_000]) {
        const fault = await endedAfter(10_000, { deadline: deadline?.() });
        expect([fault?.code, fault?.message]).toEqual([
          'unavailable',
          'The terminology takes too long, so that value sets cannot be searched now; try again',
        ]);
      }
    }));

  test('ends by the deadline of the call', () =>
    inFakeTime(async () => {
      const timedOut = ['aborted', { deadline: true }];
      const deadline = (left: number): CallOptions => ({ deadline: performance.now() + left });
      expect(await endedAfter(49, deadline(50))).toBeUndefined();
      for (const left of [50, 9_999]) {
        const fault = await endedAfter(left, deadline(left));
        expect([fault?.code, fault?.details]).toEqual(timedOut);
      }
    }));

  test('does not begin after the deadline', () =>
    inFakeTime(async () => {
      let asked = 0;
      for (const left of [0, -1]) {
        const fault = await faultOf(expand(sets('a'), () => (asked += 1), { deadline: performance.now() + left }));
        expect([fault.code, fault.details, asked]).toEqual(['aborted', { deadline: true }, 0]);
      }
      expect(await expand(sets('a'), () => [], { deadline: performance.now() + 1 })).toEqual(new Map([['a', []]]));
    }));

  test('ends by the signal of the call', () =>
    inFakeTime(async () => {
      const control = new AbortController();
      const { signal } = control;
      let told: AbortSignal | undefined;
      let ended: FhirError | undefined;
      expand(
        sets('a'),
        (_, context) => {
          told = context.signal;
          return new Promise(() => undefined);
        },
        { signal },
      ).catch((error: FhirError) => (ended = error));
      await vi.advanceTimersByTimeAsync(1);
      expect([ended, told?.aborted]).toEqual([undefined, false]);
      control.abort(new Error('gone'));
      await vi.advanceTimersByTimeAsync(1);
      expect([ended?.code, ended?.cause, told?.aborted]).toEqual(['aborted', signal.reason, true]);
      const again = await endedAfter(1, { signal });
      expect([again?.code, again?.cause]).toEqual(['aborted', signal.reason]);
    }));

  test('leaves no timer and no listener, and its signal ends', () =>
    inFakeTime(async () => {
      const { signal } = new AbortController();
      let told: AbortSignal | undefined;
      await expand(sets('a'), (_, context) => ((told = context.signal), []), { signal });
      expect([vi.getTimerCount(), getEventListeners(signal, 'abort').length, told?.aborted]).toEqual([0, 0, true]);
    }));
});

test('for a policy a terminology searches the project, all of it up to 1,000 resources', async () => {
  const store = new MemoryStore();
  const write = (count: number): Promise<unknown> =>
    store.commit(
      Array.from({ length: count }, (_, index) => {
        const key = { project: 'clinic', type: 'CodeSystem', id: `c${index}` };
        return { kind: 'put', key, resource: { resourceType: 'CodeSystem', id: key.id } as never };
      }),
    );
  await write(1_000);
  const search = searchForPolicy(store, 'clinic', undefined, new Set(), undefined);
  expect((await search('CodeSystem', { kind: 'id', ids: ['c7'] })).map(({ id }) => id)).toEqual(['c7']);
  expect(await search('CodeSystem', ALL)).toHaveLength(1_000);
  expect(await searchForPolicy(store, 'other', undefined, new Set(), undefined)('CodeSystem', ALL)).toEqual([]);
  await write(1_001);
  await expect(search('CodeSystem', ALL)).rejects.toMatchObject({ code: 'too-costly' });
});
