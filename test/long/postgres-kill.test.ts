import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { FhirError, importNdjson, systemCaller } from '../../src/index.js';
import { PostgresStore } from '../../src/postgres.js';
import type { Criteria, ReadResult, ResourceKey, Write } from '../../src/store.js';
import { below, createRandom } from '../support/kit.js';
import { SEED } from '../support/chance.js';
import { tallyOf } from '../support/long-report.js';
import { findPostgres, type PostgresServer, startPostgres } from '../support/postgres-server.js';

const PROGRAMS = findPostgres();
if (PROGRAMS === undefined)
  console.warn('PostgreSQL is not killed: no server here; FHIRGRAPH_POSTGRES_BIN may name one');

const COMMITS = 10_000;
const WRITERS = 8;
const PARTS = ['a', 'b', 'c'];
/** How a commit may fail while the server dies: never as anybody's mistake. */
const EXPECTED: readonly string[] = ['unavailable', 'conflict'];

describe.skipIf(PROGRAMS === undefined)('a PostgreSQL server killed at random moments during writes', () => {
  const tally = tallyOf('killed server, PostgreSQL');
  let server: PostgresServer;
  let pool: pg.Pool;
  let store: PostgresStore;
  beforeAll(async () => {
    server = await startPostgres(PROGRAMS!);
    pool = new pg.Pool({ ...server.connection, max: 10 });
    store = new PostgresStore(pool);
  });
  afterAll(async () => {
    await store?.close();
    await pool?.end();
    await server?.stop();
  });

  test(`of ${COMMITS} commits no acknowledged commit is lost, and none is half done`, async () => {
    const random = createRandom(SEED);
    const acknowledged: number[] = [];
    const failed: number[] = [];
    const codes = new Map<string, number>();
    let next = 0;
    let kills = 0;
    let up = Promise.resolve();
    const write = async (writer: number): Promise<void> => {
      while (next < COMMITS) {
        const number = next++;
        try {
          await store.commit(writesOf(number, writer));
          acknowledged.push(number);
        } catch (error) {
          if (!(error instanceof FhirError)) throw error;
          codes.set(error.code, (codes.get(error.code) ?? 0) + 1);
          failed.push(number);
          // A client would also wait before it tries again.
          await sleep(5);
          await up;
        }
      }
    };
    const kill = async (): Promise<void> => {
      while (next < COMMITS) {
        await sleep(200 + below(1500, random));
        await server.kill();
        tally.addFaults();
        kills += 1;
        await (up = server.start());
      }
    };
    await Promise.all([kill(), ...Array.from({ length: WRITERS }, (_, writer) => write(writer))]);
    tally.addTrials(COMMITS);

    const of = async (number: number): Promise<readonly string[]> => {
      const results = await store.read(PARTS.map((part) => keyOf(number, part)));
      return results.map((result) => seen(result));
    };
    const lost: number[] = [];
    const half: number[] = [];
    let beyond = 0;
    for (const number of acknowledged) {
      if (!(await of(number)).every((state) => state === `found ${number}`)) lost.push(number);
    }
    for (const number of failed) {
      const states = new Set(await of(number));
      if (states.size > 1) half.push(number);
      else if (!states.has('missing')) beyond += 1;
    }
    tally.addViolations(lost.length + half.length);
    console.log(
      `${kills} kills: ${acknowledged.length} commits acknowledged, ${failed.length} not (${[...codes].join(' ')}), of which ${beyond} are there`,
    );
    expect({ lost, half }).toEqual({ lost: [], half: [] });
    expect([...codes.keys()].filter((code) => !EXPECTED.includes(code))).toEqual([]);
    expect(kills).toBeGreaterThan(2);

    // Searches find exactly the existing resources, because the index is part of each commit.
    const { total } = await store.search({
      project: PROJECT,
      type: 'Basic',
      criteria: { kind: 'all' },
      limit: 0,
      total: true,
    });
    const { total: indexed } = await store.search({
      project: PROJECT,
      type: 'Basic',
      criteria: { kind: 'missing', parameter: 'identifier', missing: false },
      limit: 0,
      total: true,
    });
    expect([total, indexed]).toEqual([PARTS.length * (acknowledged.length + beyond), total]);
  });

  test('a counter that many processes increment by expected versions loses no step while the server dies', async () => {
    const key: ResourceKey = { project: PROJECT, type: 'Basic', id: 'counter' };
    const put = (count: number, version: string | null): Write => ({
      kind: 'put',
      key,
      resource: { resourceType: 'Basic', id: 'counter', ...{ extension: [{ url: 'urn:count', valueInteger: count }] } },
      expect: { version },
    });
    await store.commit([put(0, null)]);
    let raised = 0;
    let unsure = 0;
    let kills = 0;
    // A slow machine takes longer for both.
    const isDone = (): boolean => kills >= 6 && raised > 10;
    const raise = async (): Promise<void> => {
      while (!isDone()) {
        try {
          const [found] = await store.read([key]);
          if (found?.status !== 'found') throw new Error('the counter is gone');
          await store.commit([put(countOf(found) + 1, found.versionId)]);
          raised += 1;
        } catch (error) {
          if (!(error instanceof FhirError)) throw error;
          if (error.code === 'unavailable') unsure += 1;
          else if (error.code !== 'precondition-failed' && error.code !== 'conflict') throw error;
          await sleep(10);
        }
      }
    };
    const kill = async (): Promise<void> => {
      while (kills < 6) {
        await sleep(800);
        await server.kill();
        tally.addFaults();
        kills += 1;
        await server.start();
      }
    };
    await tally.trial(async () => {
      await Promise.all([kill(), ...Array.from({ length: 4 }, raise)]);
      const [found] = await store.read([key]);
      const count = found?.status === 'found' ? countOf(found) : -1;
      // Nobody knows of a step whose answer was lost; all others count once.
      expect(count).toBeGreaterThanOrEqual(raised);
      expect(count).toBeLessThanOrEqual(raised + unsure);
      const { total } = await store.history(key, { offset: 0, limit: 1 });
      expect(total).toBe(count + 1);
    });
  });

  test('killed imports are completed by importing again, beside readers, and leave a consistent store', async () => {
    const random = createRandom(SEED + 1);
    const lines = linesOfImport();
    const projects = ['import-a', 'import-b'];
    const open = new Set(projects);
    let kills = 0;
    let up = Promise.resolve();
    const importInto = async (project: string): Promise<void> => {
      for (;;) {
        try {
          const { failed } = await importNdjson(lines, { store, caller: systemCaller(project) });
          expect(failed).toBe(0);
          open.delete(project);
          return;
        } catch (error) {
          if (!(error instanceof FhirError)) throw error;
          expect(EXPECTED).toContain(error.code);
          await sleep(5);
          await up;
        }
      }
    };
    const kill = async (): Promise<void> => {
      while (open.size > 0 && kills < MAX_KILLS) {
        await sleep(300 + below(900, random));
        await server.kill();
        tally.addFaults();
        kills += 1;
        await (up = server.start());
      }
    };
    const numberOf = async (project: string, code?: string): Promise<number> => {
      const criteria: Criteria =
        code === undefined ? { kind: 'all' } : { kind: 'match', parameter: 'code', test: { kind: 'token', code } };
      return (await store.search({ project, type: 'Observation', criteria, limit: 0, total: true })).total!;
    };
    /** A reader always sees one moment between commits of 200 lines each, so equal numbers of both codes. */
    const read = async (): Promise<void> => {
      const seen = new Map<string, number>();
      while (open.size > 0) {
        for (const project of projects) {
          try {
            const count = await numberOf(project, 'even');
            expect(count % 100).toBe(0);
            expect(count).toBeGreaterThanOrEqual(seen.get(project) ?? 0);
            seen.set(project, count);
          } catch (error) {
            if (!(error instanceof FhirError)) throw error;
            await up;
          }
        }
        await sleep(5);
      }
    };
    await tally.trial(async () => {
      await Promise.all([kill(), read(), ...projects.map(importInto)]);
      await up;
      for (const project of projects) {
        expect(await numberOf(project)).toBe(IMPORTED);
        expect([await numberOf(project, 'even'), await numberOf(project, 'odd')]).toEqual([IMPORTED / 2, IMPORTED / 2]);
      }
      const { problems } = await store.verify();
      expect(problems).toEqual([]);
    });
    expect(kills).toBeGreaterThan(0);
  });
});

const IMPORTED = 10_000;
const MAX_KILLS = 6;

function linesOfImport(): readonly string[] {
  return Array.from({ length: IMPORTED }, (_, number) => {
    const code = { coding: [{ system: 'urn:parity', code: number % 2 === 0 ? 'even' : 'odd' }] };
    const resource = { resourceType: 'Observation', id: `o${number}`, status: 'final', code, valueInteger: number };
    return `${JSON.stringify(resource)}\n`;
  });
}

const PROJECT = 'kill';

function keyOf(number: number, part: string): ResourceKey {
  return { project: PROJECT, type: 'Basic', id: `${number}-${part}` };
}

function writesOf(number: number, writer: number): Write[] {
  return PARTS.map((part) => ({
    kind: 'put',
    key: keyOf(number, part),
    resource: {
      resourceType: 'Basic',
      id: `${number}-${part}`,
      ...{ identifier: [{ system: 'urn:number', value: String(number) }], code: { text: `writer ${writer}` } },
    },
    expect: { version: null },
  }));
}

function seen(result: ReadResult): string {
  if (result.status !== 'found') return result.status;
  const { identifier } = result.resource as unknown as { identifier: readonly { readonly value: string }[] };
  return `found ${identifier[0]!.value}`;
}

function countOf({ resource }: Extract<ReadResult, { status: 'found' }>): number {
  return (resource as unknown as { extension: readonly { readonly valueInteger: number }[] }).extension[0]!
    .valueInteger;
}
