import { describe, expect, test } from 'vitest';
import type { AnyResource } from '../../../src/index.js';
import type { Criteria, SortKey } from '../../../src/store.js';
import { type Ask, runAwaiting, runNow } from '../../../src/stores/ask.js';
import type { SegmentPort } from '../../../src/stores/segments/port.js';
import { SegmentIndex, type SegmentQuery } from '../../../src/stores/segments/segment-search.js';
import { SegmentCache } from '../../../src/stores/segments/segment-rows.js';
import { SegmentUpkeep } from '../../../src/stores/segments/upkeep.js';
import { fingerprintsOf, MemoryPort } from './memory-port.js';

const FINAL: Criteria = { kind: 'match', parameter: 'status', test: { kind: 'token', code: 'final' } };
const LATEST: readonly SortKey[] = [{ parameter: 'date', descending: true }];

function observation(id: string, elements: object = {}): AnyResource {
  const meta = { lastUpdated: '2024-01-01T00:00:00.000Z' };
  return { resourceType: 'Observation', id, status: 'final', ...elements, meta } as unknown as AnyResource;
}

/** A project with Observations in segments of two. */
class Project {
  readonly port = new MemoryPort();
  readonly upkeep = new SegmentUpkeep(fingerprintsOf, new SegmentCache(1e6));
  index = new SegmentIndex(fingerprintsOf);

  constructor(...resources: readonly AnyResource[]) {
    for (const one of resources) this.port.put(one);
    while (!this.run(this.upkeep.build('Observation', () => 2)));
  }

  run<Result>(steps: Ask<SegmentPort, Result>): Result {
    return runNow(steps, this.port);
  }

  search(criteria: Criteria, query: Partial<SegmentQuery> = {}): unknown {
    return this.run(this.index.search({ type: 'Observation', criteria, ...query }));
  }

  /** All stored bytes as text. */
  get text(): string {
    const rows = [...this.port.stored.values()].flatMap((segment) => [...segment]);
    return rows.map(([name, bytes]) => `${name} ${Buffer.from(bytes).toString('latin1')}`).join('\n');
  }
}

/** The answer to the question of a step. */
function answer(step: IteratorResult<unknown, unknown>, port: SegmentPort): unknown {
  return typeof step.value === 'function' ? (step.value as (given: SegmentPort) => unknown)(port) : undefined;
}

const FIVE = ['a', 'b', 'c', 'd', 'e'].map((id, day) => observation(id, { effectiveDateTime: `2020-01-0${day + 1}` }));

describe('segments', () => {
  test('answer pages and counts over several segments', () => {
    const project = new Project(...FIVE);
    expect(project.port.list('Observation')!.segments.map(({ size }) => size)).toEqual([2, 2, 1]);
    expect(project.search(FINAL, { sort: LATEST, limit: 2, total: true })).toEqual({ ids: ['e', 'd'], total: 5 });
  });

  test('know a write at once, and no longer once it is rolled back', () => {
    const project = new Project(...FIVE);
    project.port.put(observation('f'));
    const rollBack = project.port.begin();
    project.port.put(observation('b', { status: 'amended' }));
    project.port.put(observation('f', { status: 'amended' }));
    project.port.put(observation('g'));
    project.port.delete('Observation', 'c');
    expect(project.search(FINAL)).toEqual({ ids: ['a', 'd', 'e', 'g'] });
    rollBack();
    expect(project.search(FINAL)).toEqual({ ids: ['a', 'b', 'c', 'd', 'e', 'f'] });
  });

  test.each([
    ['below', 'http://a/x|1', ['a', 'b']],
    ['exact', 'http://a/x|1', ['a']],
    [undefined, 'http://a/x', ['a', 'b', 'c', 'd']],
  ] as const)('find canonicals by version %s', (version, url, ids) => {
    const urls = ['http://a/x|1', 'http://a/x|1.2', 'http://a/x|12', 'http://a/x'];
    const project = new Project(
      ...urls.map((reference, n) => observation('abcd'.charAt(n), { subject: { reference } })),
    );
    const test = { kind: 'reference', url, ...(version && { version }) } as const;
    expect(project.search({ kind: 'match', parameter: 'subject', test })).toEqual({ ids });
  });

  test('are those of the database at hand, also after it was replaced', () => {
    const project = new Project(...FIVE);
    project.port.put(observation('f'));
    expect(project.search(FINAL, { limit: 0, total: true })).toEqual({ ids: [], total: 6 });
    const restored = new Project(...FIVE.slice(0, 3));
    restored.index = project.index;
    expect(restored.search(FINAL)).toEqual({ ids: ['a', 'b', 'c'] });
  });

  test('are not used before all resources are in them', () => {
    const project = new Project();
    for (const one of FIVE) project.port.put(one);
    const other = new Project(...FIVE.slice(0, 3));
    const started = new MemoryPort();
    for (const one of FIVE) started.put(one);
    expect(
      runNow(
        project.upkeep.build('Observation', () => 2),
        started,
      ),
    ).toBe(false);
    const query = { type: 'Observation', criteria: FINAL };
    expect(runNow(project.index.search(query), started)).toBeUndefined();
    expect(runNow(project.index.search({ ...query, type: 'Patient' }), other.port)).toBeUndefined();
  });

  test('take a chain into a type without segments for undecided', () => {
    const subject = { reference: 'Patient/p' };
    const project = new Project(observation('a', { subject }), observation('b'));
    const patient = { resourceType: 'Patient', id: 'p', gender: 'male', meta: FIVE[0]!.meta };
    project.port.put(patient);
    const of: Criteria = { kind: 'match', parameter: 'gender', test: { kind: 'token', code: 'male' } };
    const chain: Criteria = { kind: 'chain', parameter: 'subject', type: 'Patient', of };
    expect(project.search(chain, { total: true })).toEqual({ ids: ['a'], total: 1 });
    expect(project.port.asked).toContain('matching');
    // Without the test per resource, absence would be taken for knowledge.
    expect(project.search({ kind: 'not', of: chain }, { total: true })).toEqual({ ids: ['b'], total: 1 });
  });

  test('test each resource for a parameter that was defined otherwise when they were built', () => {
    const project = new Project(...FIVE, observation('f', { status: 'amended' }));
    project.index = new SegmentIndex((type) => ({ ...fingerprintsOf(type), status: 'another' }));
    project.port.asked.length = 0;
    expect(project.search(FINAL, { total: true })).toEqual({ ids: ['a', 'b', 'c', 'd', 'e'], total: 5 });
    expect(project.port.asked).toContain('matching');
    expect(project.search(FINAL, { sort: [{ parameter: 'status', descending: false }] })).toBeUndefined();
    // Searches by it ask for a new build, others do not.
    const staleAfter = (criteria: Criteria): readonly string[] => {
      const stale: string[] = [];
      const query = { type: 'Observation', criteria };
      project.run(project.index.search(query, { stale: (types) => void stale.push(...types) }));
      return stale;
    };
    expect(staleAfter(FINAL)).toEqual(['Observation']);
    expect(staleAfter({ kind: 'missing', parameter: 'date', missing: true })).toEqual([]);
    expect(staleAfter({ kind: 'missing', parameter: 'unknown', missing: true })).toEqual([]);
    // Until they are built again.
    const upkeep = new SegmentUpkeep(project.index.fingerprints, new SegmentCache(1e6));
    while (project.run(upkeep.refresh('Observation')));
    project.port.asked.length = 0;
    expect(project.search(FINAL, { total: true })).toEqual({ ids: ['a', 'b', 'c', 'd', 'e'], total: 5 });
    expect(project.port.asked).not.toContain('matching');
    expect(staleAfter(FINAL)).toEqual([]);
  });

  test('hold nothing of an erased resource, in any of its versions', () => {
    const note = (text: string): object => ({ code: { coding: [{ system: 'urn:x', code: text }] } });
    const project = new Project(observation('a', note('secret1')), observation('b', note('other')));
    project.port.put(observation('a', note('secret2')));
    project.run(project.upkeep.flush('Observation'));
    expect(project.text).toContain('secret1');
    project.port.delete('Observation', 'a');
    expect(project.run(project.upkeep.erase('Observation', ['a']))).toBe(true);
    expect(project.text).not.toContain('secret');
    expect(project.text).toContain('other');
    expect(project.search(FINAL)).toEqual({ ids: ['b'] });
  });

  test('are built and rewritten with pauses after some thousand entries', () => {
    const port = new MemoryPort();
    const size = 20_000;
    for (let n = 0; n < size; n++) {
      port.put(observation(`o${n}`, { valueString: `text ${n * 7919}`, issued: new Date(1e12 + n).toISOString() }));
    }
    /** The pauses in a row, without a question. */
    const pauses = (steps: Ask<SegmentPort, unknown>): number => {
      let [most, since] = [0, 0];
      for (let step = steps.next(); step.done !== true; step = steps.next(answer(step, port))) {
        since = step.value === undefined ? since + 1 : 0;
        most = Math.max(most, since);
      }
      return most;
    };
    const upkeep = new SegmentUpkeep(fingerprintsOf, new SegmentCache(1e6));
    // The runs of texts and of instants are sorted, merged and written.
    const least = (2 * 3 * size) / 5_000;
    expect(pauses(upkeep.build('Observation'))).toBeGreaterThan(least);
    expect(pauses(upkeep.prepareErase('Observation', ['o5']))).toBeGreaterThan(least);
  });

  test('are prepared for an erasure before its transaction, whatever is written in between', () => {
    const project = new Project(...FIVE);
    const prepared = project.run(project.upkeep.prepareErase('Observation', ['a', 'c']));
    // Now the segment of c and d has a dead resource, and there is a segment with another version of a.
    project.port.put(observation('d', { status: 'amended' }));
    project.port.put(observation('a', { code: { coding: [{ code: 'secret' }] } }));
    project.run(project.upkeep.flush('Observation'));
    for (const id of ['a', 'c']) project.port.delete('Observation', id);
    expect(project.run(project.upkeep.erase('Observation', ['a', 'c'], prepared))).toBe(true);
    const { segments } = project.port.list('Observation')!;
    expect(segments.map(({ size }) => size)).toEqual([1, 1, 1, 1]);
    for (const id of prepared.keys()) expect(project.port.stored.has(id)).toBe(false);
    // What was prepared is used as it is.
    const made = [...prepared.values()].map(({ built }) => built!.id);
    expect(segments.map(({ id }) => id)).toEqual(expect.arrayContaining(made));
    expect(project.text).not.toContain('secret');
    expect(project.search(FINAL)).toEqual({ ids: ['b', 'e'] });
    expect(project.run(project.upkeep.verify('Observation'))).toEqual([]);
  });

  test('keep a resource whose earlier versions are erased, if it is noted as written', () => {
    const note = (text: string): object => ({ code: { coding: [{ code: text }] } });
    const project = new Project(observation('a', note('secret')), observation('b', note('other')));
    project.port.put(observation('a', note('current')));
    project.run(project.upkeep.flush('Observation'));
    project.port.put(observation('a', note('current')));
    expect(project.run(project.upkeep.erase('Observation', ['a']))).toBe(true);
    expect(project.text).not.toContain('secret');
    expect(project.search(FINAL)).toEqual({ ids: ['a', 'b'] });
  });

  test('are not written with values that were erased while they were built', () => {
    const project = new Project(...FIVE);
    project.port.put(observation('f', { code: { coding: [{ code: 'secret' }] } }));
    const flush = project.upkeep.flush('Observation');
    let step = flush.next();
    // The lists and the resources are read.
    for (let left = 2; left > 0; left--) step = flush.next(answer(step, project.port));
    project.port.delete('Observation', 'f');
    expect(project.run(project.upkeep.erase('Observation', ['f']))).toBe(true);
    while (step.done !== true) step = flush.next(answer(step, project.port));
    expect(step.value).toBe(false);
    expect(project.text).not.toContain('secret');
  });

  test('are merged, so that each write ends in few of them', () => {
    const project = new Project(...FIVE);
    for (let n = 0; n < 30; n++) {
      project.port.put(observation(`x${n}`));
      project.run(project.upkeep.flush('Observation'));
      while (project.run(project.upkeep.merge('Observation')));
    }
    expect(project.port.list('Observation')!.segments.length).toBeLessThan(5);
    expect(project.search(FINAL, { limit: 0, total: true })).toEqual({ ids: [], total: 35 });
    expect(project.run(project.upkeep.verify('Observation'))).toEqual([]);
  });

  test('are written by one of two processes', () => {
    const project = new Project(...FIVE);
    project.port.put(observation('f'));
    const flush = project.upkeep.flush('Observation');
    let step = flush.next();
    let isOtherDone = false;
    while (step.done !== true) {
      const answered = answer(step, project.port);
      if (!isOtherDone) isOtherDone = project.run(project.upkeep.flush('Observation'));
      step = flush.next(answered);
    }
    expect(step.value).toBe(false);
    expect(project.port.list('Observation')!.segments).toHaveLength(4);
    expect(project.search(FINAL, { limit: 0, total: true })).toEqual({ ids: [], total: 6 });
  });

  test.each([
    ['build again', { status: 'another' }],
    ['merge', {}],
  ])('that another process overtakes are still to %s', (_, changed) => {
    const project = new Project(...FIVE);
    project.port.put(observation('f'));
    const upkeep = new SegmentUpkeep((type) => ({ ...fingerprintsOf(type), ...changed }), new SegmentCache(1e6));
    const list = project.port.list('Observation')!.id;
    const rules = { least: 0, flushFrom: 2, merges: true, mostOf: () => 2 };
    const next = upkeep.next('Observation', { list, isComplete: true, written: 1, resources: 6 }, rules);
    const write = project.port.write.bind(project.port);
    project.port.write = (...given) => {
      project.port.write = write;
      project.run(project.upkeep.flush('Observation'));
      return write(...given);
    };
    expect(project.run(next)).toBe('more');
    expect(project.port.list('Observation')!.segments).toHaveLength(4);
  });

  test('are found to differ from the index entries', () => {
    const project = new Project(...FIVE);
    // A change that the store did not note.
    project.port.current.get('Observation')!.set('a', observation('a', { status: 'amended' }));
    const differing = project.run(project.upkeep.verify('Observation'));
    expect(differing).toEqual([project.port.list('Observation')!.segments[0]!.id]);
  });

  test('say that they are damaged when a row is missing', () => {
    const project = new Project(...FIVE);
    for (const rows of project.port.stored.values()) (rows as Map<string, Uint8Array>).delete('status');
    expect(() => project.search(FINAL)).toThrow(expect.objectContaining({ code: 'internal' }) as Error);
  });

  test('ask few questions: a round trip each on PostgreSQL', async () => {
    const project = new Project(...FIVE);
    project.port.asked.length = 0;
    const page = await runAwaiting(
      project.index.search({ type: 'Observation', criteria: FINAL, sort: LATEST, limit: 2, total: true }),
      project.port,
      { isSpent: false, next: async () => undefined },
    );
    expect(page).toEqual({ ids: ['e', 'd'], total: 5 });
    // The lists, the headers, the directories, the blocks of the condition, those of the sort, the ids.
    expect(project.port.asked.length).toBeLessThanOrEqual(8);
  });

  test('never confuse values with separators, or long ones with an equal beginning', () => {
    const long = 'x'.repeat(300);
    const values: readonly (readonly [string, string])[] = [
      ...([
        ['a|b', 'c'],
        ['a', 'b|c'],
        ['a\\', '|c'],
        ['a', '\\|c'],
        ['', 'a|c'],
      ] as const),
      ...([
        [`${long}1`, 'c'],
        [`${long}2`, 'c'],
        ['a', `${long}1`],
        ['a', `${long}2`],
      ] as const),
    ];
    const project = new Project(
      ...values.map(([system, code], n) =>
        observation(`o${n}`, { code: { coding: [{ ...(system && { system }), code }] } }),
      ),
    );
    for (const [n, [system, code]] of values.entries()) {
      const test = { kind: 'token', code, ...(system === '' ? { noSystem: true } : { system }) } as const;
      expect(project.search({ kind: 'match', parameter: 'code', test })).toEqual({ ids: [`o${n}`] });
    }
    for (const name of [...project.port.stored.values()].flatMap((rows) => [...rows.keys()])) {
      expect(name.length).toBeLessThan(200);
    }
  });
});
