import { setTimeout as pause } from 'node:timers/promises';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createProject, createRepository, serverCaller, systemCaller, type Repository } from 'fhirgraph';
import { PostgresStore } from 'fhirgraph/postgres';
import { runHere, runProgram } from '../command/run-program.js';
import { temporaryFolder } from '../stores/temporary-folder.js';
import { findPostgres, type PostgresServer, startPostgres } from '../support/postgres-server.js';

const programs = findPostgres();
const fileNamed = temporaryFolder();

describe.skipIf(programs === undefined)('the program on the database of a living service', () => {
  let server: PostgresServer;
  let service: PostgresStore;
  let pool: pg.Pool;
  let url: string;
  let project: string;
  let repository: Repository;

  beforeAll(async () => {
    server = await startPostgres(programs!, { fsync: 'off' });
    const { user, host, port, database } = server.connection;
    url = `postgresql://${user}@${host}:${port}/${database}`;
    pool = new pg.Pool(server.connection);
  }, 60_000);
  afterAll(async () => {
    await service?.close();
    await pool.end();
    await server.stop();
  });

  test('an empty database stays empty', async () => {
    for (const args of [['info'], ['verify'], ['import', '-', '--project', 'p']]) {
      const [name = '', ...rest] = args;
      const { code, errors } = await runHere([name, url, ...rest]);
      expect([code, errors]).toEqual([1, expect.stringContaining('holds no store yet')]);
    }
    const { rows } = await pool.query("SELECT 1 FROM pg_class WHERE relnamespace = 'public'::regnamespace");
    expect(rows).toEqual([]);
  });

  test('every command answers while the service writes', async () => {
    service = new PostgresStore(pool);
    project = (
      await createProject({ resourceType: 'Project', name: 'Clinic' }, { store: service, caller: serverCaller() })
    ).id;
    repository = createRepository({ store: service, caller: systemCaller(project) });
    await repository.update({ resourceType: 'Patient', id: 'ann' });
    let isDone = false;
    const writing = (async () => {
      for (; !isDone; await pause(5)) await repository.create({ resourceType: 'Basic', code: { text: 'beside' } });
    })();
    const file = fileNamed('clinic.ndjson');
    const erase = ['--project', project, '--reason', 'patient-request', '--record'];
    const codes: [string, number, string][] = [];
    for (const [name = '', ...rest] of [
      ['info', '--project', project],
      ['verify'],
      ['check-policies'],
      ['reindex', '--project', project],
      ['export', file, '--project', project, '--audit-log'],
      ['import', file, '--project', project],
      ['erase', 'Patient/ann', ...erase],
    ]) {
      const { code, errors } = await runHere([name, url, ...rest]);
      codes.push([name, code, code === 0 ? '' : errors]);
    }
    isDone = true;
    await writing;
    expect(codes.map(([name, code, errors]) => [name, code, errors])).toEqual(codes.map(([name]) => [name, 0, '']));
    await expect(repository.read('Patient', 'ann')).rejects.toMatchObject({ code: 'gone' });
  });

  test('a process of its own ends by itself; a backup is the work of pg_dump', async () => {
    const { code, output } = await runProgram(['info', url, '--json']);
    expect([code, JSON.parse(output)]).toMatchObject([0, { kind: 'postgres', projects: expect.arrayContaining([]) }]);
    expect(await runHere(['backup', url, 'copy.db'])).toMatchObject({
      code: 2,
      errors: expect.stringContaining('pg_dump'),
    });
  });
});
