import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { beforeAll, afterAll, describe, expect, test } from 'vitest';
import {
  createProject,
  createRepository,
  searchAuditLog,
  serverCaller,
  systemCaller,
  type Repository,
} from 'fhirgraph';
import { extendDefinitions, R4 } from 'fhirgraph/definitions';
import { SqliteStore } from 'fhirgraph/sqlite';
import { temporaryFolder } from '../stores/temporary-folder.js';
import { jsonOf, runHere, runProgram } from './run-program.js';

const fileNamed = temporaryFolder();

/** A service that has the file open, and writes to it while the program runs. */
let file: string;
let service: SqliteStore;
let repository: Repository;
let project: string;

beforeAll(async () => {
  file = fileNamed('clinic.db');
  service = new SqliteStore(file);
  const caller = serverCaller();
  project = (await createProject({ resourceType: 'Project', name: 'Clinic' }, { store: service, caller })).id;
  repository = createRepository({ store: service, caller: systemCaller(project) });
  await repository.update({ resourceType: 'Patient', id: 'ann', active: true });
  await repository.update({
    resourceType: 'Observation',
    id: 'one',
    status: 'final',
    code: { text: 'Weight' },
    subject: { reference: 'Patient/ann' },
  });
});

afterAll(() => service.close());

/** Runs while the service commits. */
async function beside<Result>(work: () => Promise<Result>): Promise<Result> {
  let isDone = false;
  const writing = (async () => {
    for (; !isDone; await pause(5)) await repository.create({ resourceType: 'Basic', code: { text: 'beside' } });
  })();
  try {
    return await work();
  } finally {
    isDone = true;
    await writing;
  }
}

describe('on the file of a living service', () => {
  test('info shows the projects, and the resources of one', async () => {
    const { code, json } = await beside(() => jsonOf(['info', file, '--project', project]));
    const { projects, ...rest } = json as { projects: [{ types: { [type: string]: number } }] };
    expect([code, rest]).toEqual([0, { kind: 'sqlite', hasSameDefinitions: true }]);
    expect(projects).toMatchObject([{ id: project, name: 'Clinic', active: true, pending: 0 }]);
    expect(projects[0].types).toMatchObject({ Patient: 1, Observation: 1 });
  });

  test('verify finds no problems, and says so', async () => {
    const { code, output, errors } = await beside(() => runProgram(['verify', file]));
    expect(code).toBe(0);
    expect(output).toMatch(/^\d+ resources, no problems\n$/);
    expect(errors).toContain('verifying every resource');
  });

  test('backup copies it to a new file, which is sound, and never over another', async () => {
    const copy = fileNamed('copy.db');
    expect(await beside(() => jsonOf(['backup', file, copy]))).toEqual({ code: 0, json: { file: copy } });
    expect((await runProgram(['verify', copy])).code).toBe(0);
    const again = await runProgram(['backup', file, copy]);
    expect([again.code, again.errors]).toEqual([1, expect.stringContaining('a backup replaces nothing')]);
  });

  test('reindex rebuilds the index of a project while the service writes', async () => {
    const { code, json } = await beside(() => jsonOf(['reindex', file, '--project', project]));
    expect(code).toBe(0);
    expect((json as { resources: number }).resources).toBeGreaterThanOrEqual(2);
    expect((await repository.search('Observation', 'subject=Patient/ann')).entry).toHaveLength(1);
  });

  test('check-policies exits with 1 if members are locked out', async () => {
    expect((await runProgram(['check-policies', file])).output).toBe('0 findings\n');
    // Of an older version, or of another program.
    const resource = {
      resourceType: 'AccessPolicy',
      id: 'old',
      resource: [{ resourceType: 'Patient', criteria: 'Patient?nonsense=1' }],
    };
    await service.commit([{ kind: 'put', key: { project, type: 'AccessPolicy', id: 'old' }, resource: resource }]);
    const { code, json } = await beside(() => jsonOf(['check-policies', file, '--project', project]));
    expect([code, json]).toMatchObject([1, { findings: [{ project, resource: 'AccessPolicy/old', memberships: 0 }] }]);
    await service.commit([{ kind: 'delete', key: { project, type: 'AccessPolicy', id: 'old' } }]);
  });

  test('export writes a project to a file for its owner, and import puts it into another database', async () => {
    const lines = fileNamed('clinic.ndjson');
    const exported = await beside(() => jsonOf(['export', file, lines, '--project', project]));
    expect(exported.code).toBe(0);
    expect(statSync(lines).mode & 0o777).toBe(0o600);
    expect(readFileSync(lines, 'utf8')).toContain('"id":"ann"');
    const again = await runProgram(['export', file, lines, '--project', project]);
    expect([again.code, again.errors]).toEqual([1, expect.stringContaining('replaces nothing')]);
    const target = fileNamed('moved.db');
    const missing = await runProgram(['import', target, lines, '--project', project]);
    expect([missing.code, existsSync(target)]).toEqual([1, false]);
    const imported = await jsonOf(['import', target, lines, '--project', project, '--create']);
    expect(imported).toMatchObject({
      code: 0,
      json: { failed: 0, imported: (exported.json as { resources: number }).resources },
    });
    expect((await jsonOf(['info', target])).json).toMatchObject({ projects: [{ id: project, name: 'Clinic' }] });
  });

  test('export to the standard output writes nothing else there', async () => {
    const { code, output, errors } = await runProgram(['export', file, '-', '--project', project]);
    expect(code).toBe(0);
    for (const line of output.trimEnd().split('\n')) expect(JSON.parse(line)).toHaveProperty('resourceType');
    expect(errors).toMatch(/\d+ resources exported/);
  });

  test('import reads the standard input, reports bad lines, and exits with 1', async () => {
    const input = '{"resourceType":"Patient","id":"ben"}\nnonsense\n';
    const { code, json } = await beside(() => jsonOf(['import', file, '-', '--project', project], input));
    expect([code, json]).toMatchObject([1, { imported: 1, failed: 1, errors: [{ line: 2 }] }]);
    expect(await repository.read('Patient', 'ben')).toMatchObject({ id: 'ben' });
  });

  test('erase lists a record in a dry run, and removes it for good, with an audit record', async () => {
    const args = ['erase', file, 'Patient/ann', '--record', '--project', project, '--reason', 'patient-request'];
    const planned = await jsonOf([...args, '--dry-run']);
    expect(planned).toMatchObject({ code: 0, json: { erased: ['Observation/one', 'Patient/ann'], versions: 0 } });
    expect(await repository.read('Patient', 'ann')).toMatchObject({ id: 'ann' });
    const erased = await beside(() => jsonOf([...args, '--audit-log']));
    expect(erased).toMatchObject({ code: 0, json: { versions: 2 } });
    await expect(repository.read('Patient', 'ann')).rejects.toMatchObject({ code: 'gone' });
    const { entry = [] } = await searchAuditLog('type=rest', {
      store: service,
      caller: serverCaller('fhirgraph-audit-log'),
    });
    expect(JSON.stringify(entry)).toContain('erase-patient');
  });

  test('erase removes one resource', async () => {
    await repository.update({ resourceType: 'Basic', id: 'gone', code: { text: 'x' } });
    const args = ['erase', file, 'Basic/gone', '--project', project, '--reason', 'patient-request'];
    expect(await jsonOf(args)).toMatchObject({ code: 0, json: { resource: 'Basic/gone', versions: 1 } });
  });
});

describe('what a command is not told, it does not do', () => {
  test('a missing file is a problem, and stays missing', async () => {
    const missing = fileNamed('missing.db');
    for (const args of [['info'], ['verify'], ['reindex'], ['import', '-', '--project', 'p']]) {
      const [name = '', ...rest] = args;
      const { code, output } = await runHere([name, missing, ...rest, '--json']);
      const error = { code: 'unavailable', message: `There is no file ${missing}` };
      expect([code, JSON.parse(output)]).toEqual([1, { error }]);
    }
    expect(existsSync(missing)).toBe(false);
  });

  test('an empty file stays empty', async () => {
    const empty = fileNamed('empty.db');
    writeFileSync(empty, '');
    expect((await runHere(['import', empty, '-', '--project', 'p'])).code).toBe(1);
    expect(statSync(empty).size).toBe(0);
  });

  test('a file with definitions of the host needs them, unless only bytes are copied', async () => {
    const own = fileNamed('own.db');
    const parameter = {
      resourceType: 'SearchParameter',
      code: 'nickname',
      base: ['Patient'],
      type: 'string',
      expression: "Patient.name.where(use = 'nickname').given",
    };
    const extensions = { searchParameters: [parameter] };
    const module = fileNamed('definitions.mjs');
    const index = new URL('../../src/definitions.ts', import.meta.url).href;
    writeFileSync(
      module,
      `import { extendDefinitions, R4 } from ${JSON.stringify(index)};
       export default extendDefinitions(R4, ${JSON.stringify(extensions)});`,
    );
    const store = new SqliteStore(own, { model: await extendDefinitions(R4, extensions) });
    await createRepository({ store, caller: serverCaller('p') }).update({
      resourceType: 'Project',
      id: 'p',
      name: 'P',
    });
    await store.close();
    for (const name of ['verify', 'check-policies', 'reindex']) {
      const refused = await runHere([name, own]);
      expect([refused.code, refused.errors]).toEqual([1, expect.stringContaining('--definitions')]);
      const accepted = await runHere([name, own, '--definitions', module]);
      expect([name, accepted.code, accepted.errors]).toEqual([name, 0, expect.any(String)]);
    }
    expect(JSON.parse((await runHere(['info', own, '--json'])).output)).toMatchObject({ hasSameDefinitions: false });
    expect((await runHere(['backup', own, fileNamed('own-copy.db')])).code).toBe(0);
    expect((await runHere(['export', own, '-', '--project', 'p'])).code).toBe(0);
    const taken = await runHere(['reindex', own, '--pending', '--take-over']);
    expect([taken.code, taken.errors]).toEqual([0, expect.any(String)]);
    expect(JSON.parse((await runHere(['info', own, '--json'])).output)).toMatchObject({ hasSameDefinitions: true });
  });
});

describe('wrong arguments exit with 2 and show the usage', () => {
  test.each([
    [[], 'A command is missing'],
    [['inspect', 'x.db'], 'There is no command inspect'],
    [['verify'], '<database> is missing'],
    [['verify', 'x.db', 'y.db'], 'There are too many arguments'],
    [['verify', 'x.db', '--fast'], "Unknown option '--fast'"],
    [['export', 'x.db', '-'], '--project is missing'],
    [['verify', 'x.db', '--definitions', 'missing.mjs'], '--definitions cannot be loaded'],
  ])('%j', async (args, message) => {
    const { code, output, errors } = await runHere(args);
    expect([code, output]).toEqual([2, '']);
    expect(errors).toContain(message);
    expect(errors).toContain('Usage: fhirgraph');
  });

  test('help is no mistake', async () => {
    const { code, output } = await runHere(['erase', '--help']);
    expect([code, output]).toEqual([0, expect.stringContaining('--reason <reason>')]);
    expect((await runHere(['--help'])).output).toContain('check-policies');
  });
});
