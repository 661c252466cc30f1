import { once } from 'node:events';
import pg from 'pg';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import type { FhirError } from '../../../src/index.js';
import type { PostgresPool } from '../../../src/postgres.js';
import { sql } from '../../../src/stores/sql/sql.js';
import { Connections } from '../../../src/stores/postgres/database/connections.js';
import type { Connection, Row } from '../../../src/stores/postgres/database/lent-connection.js';
import { untilDeadline, writtenUntilDeadline } from '../../../src/stores/postgres/database/until-deadline.js';
import { startWireServer, type WireServer } from '../../support/wire-server.js';

const SLOW = sql`SELECT slow`;
const NEXT = sql`SELECT next`;
/** The clock of deadlines. */
const FAKE: Parameters<typeof vi.useFakeTimers>[0] = { toFake: ['setTimeout', 'performance'] };

describe('a statement with an aborted signal', () => {
  let server: WireServer;
  let pool: pg.Pool;
  let controller: AbortController;
  beforeEach(async () => {
    server = await startWireServer();
    controller = new AbortController();
  });
  afterEach(async () => {
    vi.useRealTimers();
    await pool.end();
    await server.close();
  });

  const open = (max: number, cancelWait = 60_000, wrap = (one: pg.Pool): PostgresPool => one): Connections => {
    pool = new pg.Pool({ ...server.connection, max });
    return new Connections(wrap(pool), { connectionWait: 60_000, cancelWait });
  };
  const runSlow = (connections: Connections): Promise<readonly Row[]> => connections.run(SLOW, controller.signal);

  test('is cancelled over a connection of its own, if the pool has no other', async () => {
    const connections = open(2);
    const calls = [runSlow(connections), runSlow(connections)];
    await server.saw('1: SELECT slow');
    await server.saw('2: SELECT slow');
    controller.abort();
    expect(await codesOf(calls)).toEqual(['aborted', 'aborted']);
    await Promise.all([connections.run(NEXT), connections.run(NEXT)]);
    expect(server.events.slice(-4).sort()).toEqual(['1: SELECT next', '2: SELECT next', 'cancel 1', 'cancel 2']);
    expect([pool.totalCount, pool.idleCount]).toEqual([2, 2]);
  });

  test('is cancelled at the deadline of its call, with or without a signal', async () => {
    const connections = open(2);
    vi.useFakeTimers(FAKE);
    const deadline = performance.now() + 1_000;
    const signals = [undefined, controller.signal];
    const calls = signals.map((signal) =>
      untilDeadline({ deadline, signal }, (options) => connections.run(SLOW, options?.signal)),
    );
    await server.saw('1: SELECT slow');
    await server.saw('2: SELECT slow');
    vi.advanceTimersByTime(1_001);
    const failure = expect.objectContaining({ code: 'aborted', details: { deadline: true } });
    await Promise.all(calls.map((call) => expect(call).rejects.toEqual(failure)));
    expect(server.events.slice(-2).sort()).toEqual(['cancel 1', 'cancel 2']);
    await expect(untilDeadline({ deadline }, () => Promise.reject(new Error('too late')))).rejects.toEqual(failure);
  });

  test('keeps its connection until the cancel request is complete, so that it cannot cancel the next statement', async () => {
    const connections = open(1);
    const request = Promise.withResolvers<() => void>();
    server.onCancel = ({ close }) => request.resolve(close);
    const call = runSlow(connections);
    await server.saw('1: SELECT slow');
    controller.abort();
    const next = connections.run(NEXT);
    const close = await request.promise;
    server.answer(1);
    // The answer to the statement has arrived, and the freed connection would have been used.
    await turns();
    expect(server.events).toEqual(['start 1', '1: SELECT slow', 'cancel 1']);
    expect([pool.idleCount, pool.waitingCount]).toEqual([0, 1]);
    close();
    await next;
    expect(server.events).toEqual(['start 1', '1: SELECT slow', 'cancel 1', '1: SELECT next']);
    expect(await codesOf([call])).toEqual(['done']);
  });

  test('that no cancel request ends loses its connection, and the next statement gets a new connection', async () => {
    const connections = open(1, 30);
    server.onCancel = ({ close }) => close();
    const call = runSlow(connections);
    await server.saw('1: SELECT slow');
    controller.abort();
    expect(await codesOf([call])).toEqual(['aborted']);
    await connections.run(NEXT);
    expect(server.events.filter((event) => !event.startsWith('cancel'))).toEqual(
      expect.arrayContaining(['end 1', 'start 2', '2: SELECT next']),
    );
    expect(pool.totalCount).toBe(1);
  });

  test('with a cancel request that never completes loses its connection, even if the statement has ended', async () => {
    const connections = open(1);
    server.onCancel = () => undefined;
    vi.useFakeTimers(FAKE);
    const connected = once(pool, 'connect') as Promise<pg.PoolClient[]>;
    const call = runSlow(connections);
    await server.saw('1: SELECT slow');
    controller.abort();
    await server.saw('cancel 1');
    const ended = once((await connected)[0]!, 'drain');
    server.answer(1);
    await ended;
    vi.advanceTimersByTime(60_000);
    expect(await codesOf([call])).toEqual(['done']);
    await connections.run(NEXT);
    expect(server.events).toContain('2: SELECT next');
  });

  test('is cancelled again if the request overtook it', async () => {
    const connections = open(1);
    let requests = 0;
    server.onCancel = ({ obey, close }) => {
      if (++requests === 3) obey();
      close();
    };
    const call = runSlow(connections);
    await server.saw('1: SELECT slow');
    controller.abort();
    expect(await codesOf([call])).toEqual(['aborted']);
    await connections.run(NEXT);
    expect(server.events.slice(2)).toEqual(['cancel 1', 'cancel 1', 'cancel 1', '1: SELECT next']);
  });

  test('loses its connection if the driver cannot cancel', async () => {
    const connections = open(1, 30, (one) => ({ connect: () => one.connect() }));
    const call = runSlow(connections);
    await server.saw('1: SELECT slow');
    controller.abort();
    expect(await codesOf([call])).toEqual(['aborted']);
    await connections.run(NEXT);
    expect(server.events).toContain('2: SELECT next');
    expect(server.events).not.toContain('cancel 1');
  });

  test('is not sent any more if the signal fired while its call waited for a connection', async () => {
    const connections = open(1);
    const first = connections.run(SLOW);
    await server.saw('1: SELECT slow');
    const call = runSlow(connections);
    await turns();
    expect(pool.waitingCount).toBe(1);
    controller.abort();
    expect(await codesOf([call])).toEqual(['aborted']);
    server.answer(1);
    await first;
    await connections.run(NEXT);
    expect(server.events).toEqual(['start 1', '1: SELECT slow', '1: SELECT next']);
  });

  test('does not end the process if its connection is lost as soon as it is opened', async () => {
    const connections = open(1);
    server.endsNew = true;
    expect(await faultsOf([connections.run(NEXT), connections.use((one) => one.write(NEXT))])).toEqual([
      ['Error', undefined],
      ['unavailable', true],
    ]);
    server.endsNew = false;
    expect(await codesOf([connections.run(NEXT)])).toEqual(['done']);
    expect(server.events.filter((event) => event.includes('next'))).toEqual(['3: SELECT next']);
  });

  describe('that writes', () => {
    const SLOW_WRITE = sql`INSERT slow`;
    const write = (connection: Connection): Promise<unknown> => connection.write(SLOW_WRITE);

    test('has written nothing if the server reports that it was cancelled', async () => {
      const call = open(1).use(write, controller.signal);
      await server.saw('1: INSERT slow');
      controller.abort();
      expect(await faultsOf([call])).toEqual([['aborted', undefined]]);
    });

    test('is in doubt if it does not end', async () => {
      server.onCancel = ({ close }) => close();
      const call = open(1, 30).use(write, controller.signal);
      await server.saw('1: INSERT slow');
      controller.abort();
      expect(await faultsOf([call])).toEqual([['aborted', true]]);
    });

    test('is in doubt if its connection is lost, with and without a signal', async () => {
      const connections = open(2);
      const calls = [connections.use(write, controller.signal), connections.use(write)];
      await server.saw('1: INSERT slow');
      await server.saw('2: INSERT slow');
      server.cut(1);
      server.cut(2);
      expect(await faultsOf(calls)).toEqual([
        ['unavailable', true],
        ['unavailable', true],
      ]);
    });

    test('is in doubt if the cancel request ended only the wait for the standbys', async () => {
      server.onCancel = ({ processID, close }) => {
        server.warn(processID);
        server.answer(processID);
        close();
      };
      const call = open(1).use(write, controller.signal);
      await server.saw('1: INSERT slow');
      controller.abort();
      expect(await faultsOf([call])).toEqual([['aborted', true]]);
    });

    test('has written its data if the signal came too late', async () => {
      server.onCancel = ({ processID, close }) => {
        server.answer(processID);
        close();
      };
      const call = open(1).use(write, controller.signal);
      await server.saw('1: INSERT slow');
      controller.abort();
      expect(await faultsOf([call])).toEqual(['done']);
    });

    test('that the server does not end soon after its deadline continues, and its call rejects with an unknown outcome', async () => {
      const connections = open(1);
      server.onCancel = () => undefined;
      vi.useFakeTimers(FAKE);
      const deadline = performance.now() + 1_000;
      const written: string[] = [];
      const connected = once(pool, 'connect') as Promise<pg.PoolClient[]>;
      const call = writtenUntilDeadline({ deadline }, async (options) => {
        await connections.use(write, options?.signal);
        written.push('committed');
      });
      await server.saw('1: INSERT slow');
      vi.advanceTimersByTime(1_001);
      await server.saw('cancel 1');
      vi.advanceTimersByTime(40);
      const error = await call.catch((one: unknown) => one);
      expect(error).toMatchObject({ code: 'aborted', details: { deadline: true, unknown: true } });
      expect((error as FhirError).outcome.issue[0]!.details!.coding).toEqual([
        { system: 'urn:fhirgraph:write', code: 'unknown' },
      ]);
      expect(written).toEqual([]);
      const ended = once((await connected)[0]!, 'drain');
      server.answer(1);
      await ended;
      vi.advanceTimersByTime(60_000);
      while (written.length === 0) await new Promise((resolve) => setImmediate(resolve));
      expect(written).toEqual(['committed']);
    });

    test('that the server cancels at its deadline has written nothing', async () => {
      const connections = open(1);
      vi.useFakeTimers(FAKE);
      const deadline = performance.now() + 1_000;
      const call = writtenUntilDeadline({ deadline }, (options) => connections.use(write, options?.signal));
      await server.saw('1: INSERT slow');
      vi.advanceTimersByTime(1_001);
      await expect(call).rejects.toMatchObject({ code: 'aborted', details: { deadline: true } });
      expect(await faultsOf([call])).toEqual([['aborted', undefined]]);
    });

    test('and is in doubt at its deadline says so in its outcome too', async () => {
      const connections = open(1);
      server.onCancel = ({ processID, close }) => {
        server.warn(processID);
        server.answer(processID);
        close();
      };
      vi.useFakeTimers(FAKE);
      const deadline = performance.now() + 1_000;
      const call = writtenUntilDeadline({ deadline }, (options) => connections.use(write, options?.signal));
      await server.saw('1: INSERT slow');
      vi.advanceTimersByTime(1_001);
      const error = (await call.catch((one: unknown) => one)) as FhirError;
      expect(error.details).toEqual({ deadline: true, unknown: true });
      expect(error.outcome.issue[0]!.details!.coding).toEqual([{ system: 'urn:fhirgraph:write', code: 'unknown' }]);
    });

    test('is not sent over a connection that is already lost, so it has written nothing', async () => {
      const connections = open(1);
      const connected = once(pool, 'connect') as Promise<pg.PoolClient[]>;
      const call = connections.use(async (connection) => {
        const [client] = await connected;
        const lost = once(client!, 'end');
        server.cut(1);
        await lost;
        await connection.write(SLOW_WRITE);
      });
      expect(await faultsOf([call])).toEqual([['Error', undefined]]);
      expect(server.events).not.toContain('1: INSERT slow');
    });
  });
});

/** Lets everything that has arrived be read. */
async function turns(): Promise<void> {
  for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve));
}

async function codesOf(calls: readonly Promise<unknown>[]): Promise<readonly unknown[]> {
  return (await faultsOf(calls)).map((fault) => (Array.isArray(fault) ? (fault[0] as unknown) : fault));
}

/** The code of each, and whether it is in doubt. */
async function faultsOf(calls: readonly Promise<unknown>[]): Promise<readonly unknown[]> {
  return (await Promise.allSettled(calls)).map((outcome) => {
    if (outcome.status === 'fulfilled') return 'done';
    const { code, name, details } = outcome.reason as {
      readonly code?: string;
      readonly name: string;
      readonly details?: { readonly unknown?: boolean };
    };
    return [code ?? name, details?.unknown];
  });
}
