import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { Session } from 'node:inspector/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createRepository, executeFhirGraphql, initialize, invite, MemoryStore, systemCaller } from '../src/index.js';
import { SqliteStore } from '../src/sqlite.js';

// Counts the files of src that one request enters: those with a function that it calls, by V8's precise coverage. Each
// store has a process of its own. `-- --list` prints the names of the files too.

const SRC = new URL('../src/', import.meta.url).href;

/** The most files that each request may enter over memory and over SQLite. */
const TARGETS = { 'dashboard, warm': [70, 80], '{ Patient(id) { id } }, warm': [40, 45], 'first invite': [110, 125] };

const DASHBOARD = `{
  PatientList(name: "A", _count: 3) {
    id name { family }
    ObservationList(_reference: subject, _count: 5) {
      id status subject { reference resource { ... on Patient { id } } }
    }
  }
}`;

const isListing = process.argv.includes('--list');
const [kind] = process.argv.slice(2).filter((argument) => !argument.startsWith('--'));
function runBoth(): void {
  for (const store of ['memory', 'sqlite']) {
    const own = [...process.execArgv, fileURLToPath(import.meta.url), store, ...(isListing ? ['--list'] : [])];
    const { status } = spawnSync(process.execPath, own, { stdio: 'inherit' });
    if (status !== 0) process.exitCode = 1;
  }
}

async function countOver(kind: string): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'fhirgraph-entered-'));
  const store = kind === 'sqlite' ? new SqliteStore(join(folder, 'bench.sqlite')) : new MemoryStore();
  try {
    const { project } = await initialize(store, { name: 'Clinic' });
    const caller = systemCaller(project.id);
    const repository = createRepository({ store, caller });
    const patient = await repository.create({ resourceType: 'Patient', name: [{ family: 'A', given: ['B'] }] });
    const subject = { reference: `Patient/${patient.id}` };
    for (let index = 0; index < 5; index++) {
      await repository.create({ resourceType: 'Observation', status: 'final', code: { text: 'x' }, subject });
    }
    const ask = async (query: string): Promise<void> => {
      const { errors } = await executeFhirGraphql(query, { store, caller });
      if (errors !== undefined) throw new AggregateError(errors, 'The query failed');
    };
    const read = `{ Patient(id: "${patient.id}") { id } }`;
    for (const query of [DASHBOARD, DASHBOARD, read, read]) await ask(query);
    const coverage = await Coverage.start();
    await report(kind, 'dashboard, warm', coverage, () => ask(DASHBOARD));
    await report(kind, '{ Patient(id) { id } }, warm', coverage, () => ask(read));
    const person = {
      resourceType: 'Practitioner',
      firstName: 'A',
      lastName: 'B',
      email: 'a@b.example',
      sendEmail: false,
    } as const;
    await report(kind, 'first invite', coverage, () =>
      invite(project.id, { ...person, membership: { admin: true } }, { store, caller }),
    );
  } finally {
    await store.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

async function report(
  kind: string,
  name: keyof typeof TARGETS,
  coverage: Coverage,
  request: () => Promise<unknown>,
): Promise<void> {
  const { files, functions } = await coverage.of(request);
  const most = TARGETS[name][kind === 'memory' ? 0 : 1]!;
  const verdict = files.length <= most ? 'ok' : 'MISS';
  console.log(`${kind.padEnd(8)}${name.padEnd(32)}${files.length} files, ${functions} functions; ${verdict} (${most})`);
  if (isListing) for (const file of files) console.log(`  ${file}`);
}

class Coverage {
  readonly #session = new Session();

  static async start(): Promise<Coverage> {
    const coverage = new Coverage();
    coverage.#session.connect();
    await coverage.#session.post('Profiler.enable');
    await coverage.#session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false });
    return coverage;
  }

  async of(
    request: () => Promise<unknown>,
  ): Promise<{ readonly files: readonly string[]; readonly functions: number }> {
    await this.#session.post('Profiler.takePreciseCoverage');
    await request();
    const { result } = await this.#session.post('Profiler.takePreciseCoverage');
    const files: string[] = [];
    let functions = 0;
    for (const script of result) {
      if (!script.url.startsWith(SRC)) continue;
      // The body of a module runs when it is loaded, which is no call.
      const called = script.functions.filter(({ ranges: [range] }) => range!.count > 0 && range!.startOffset > 0);
      if (called.length === 0) continue;
      files.push(script.url.slice(SRC.length).replace(/\?.*/, ''));
      functions += called.length;
    }
    return { files: files.sort(), functions };
  }
}

if (kind === undefined) runBoth();
else await countOver(kind);
