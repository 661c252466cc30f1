import '../scripts/assert-node.mjs';
import Database from 'better-sqlite3';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  type AuditOptions,
  type Caller,
  createAuditLog,
  createRepository,
  executeFhirGraphql,
  invite,
  type ResourceStore,
  serverCaller,
  signIn,
  systemCaller,
} from 'fhirgraph';
import { FileAuditJournal } from 'fhirgraph/audit-journal';
import { SqliteStore } from 'fhirgraph/sqlite';
import { chooseVariables } from './choose-variables.js';
import { loadData } from './data.js';
import { assertEqualAnswers } from './equal-answers.js';
import { importIndexed } from './import-rate.js';
import { QUERIES, type Variables, type Variant } from './queries.js';
import { table } from './table.js';
import { FloorAudit } from './variants/floor-audit.js';
import { floor } from './variants/floor.js';

/**
 * Measures the cost of access options for the six queries: a member with a policy instead of trusted code, rechecks, and each
 * form of audit. Prints ratios of CPU time and wall clock to the member without options. Then prints the ratios of all options
 * together to a floor with an audit of its own. Medians of rounds interleaved in one process, with one client, then with
 * sixteen.
 *
 *     npx tsx --tsconfig bench/tsconfig.built.json bench/all-options.ts [DIR]
 */
const PROJECT = 'bench';
const ROUNDS = 15;
/** Duration of a sample of the first subject, in milliseconds. */
const SAMPLE = 15;

interface Subject extends Variant {
  /** Finishes the work that the sample left. */
  readonly settle?: () => Promise<void>;
}

const folder = mkdtempSync(join(tmpdir(), 'fhirgraph-options-'));
try {
  const file = join(folder, 'bench.db');
  await importIndexed(loadData(process.argv[2], 100).bundles, file, PROJECT);
  const variables = chooseVariables(file, PROJECT);
  const store = new SqliteStore(file);
  const logs = ['full', 'normal', 'journal'].map((kind) => openLog(kind));
  const options = await optionsOf(store, logs);
  const database = new Database(file, { readonly: true });
  const audit = new FloorAudit(join(folder, 'floor.db'), 'normal');
  const floors: Subject[] = [floor(database, PROJECT, audit), floor(database, PROJECT), ...options.slice(-2)];
  for (const query of QUERIES) await assertEqualAnswers([...floors, ...options], query, variables);
  for (const subjects of [options, floors]) {
    for (const clients of [1, 16]) await compareAll(subjects, clients, variables);
  }
  audit.close();
  database.close();
  for (const { close } of logs) await close();
  await store.close();
} finally {
  rmSync(folder, { recursive: true, force: true });
}

async function compareAll(subjects: readonly Subject[], clients: number, variables: Variables): Promise<void> {
  const rows = [];
  for (const query of QUERIES) {
    const asks = subjects.map((subject) => subject.prepare(query, variables));
    const run = (at: number, count: number): Promise<Cost> => cost(asks[at]!, clients, count, subjects[at]!.settle);
    rows.push([query.name, ...(await ratios(subjects.length, run))]);
  }
  console.log(`\n${table([[`${clients} at once, CPU (wall)`, ...subjects.map(({ name }) => name)], ...rows])}`);
}

function openLog(kind: string) {
  const trail = new SqliteStore(join(folder, `${kind}.db`), { synchronous: kind === 'full' ? 'full' : 'normal' });
  const journal = kind === 'journal' ? new FileAuditJournal(join(folder, 'journal'), { sync: 'interval' }) : undefined;
  const log = createAuditLog({ store: trail, journal });
  const close = async (): Promise<void> => {
    await log.close();
    journal?.close();
    await trail.close();
  };
  return { log, close };
}

async function optionsOf(store: ResourceStore, logs: readonly ReturnType<typeof openLog>[]): Promise<Subject[]> {
  const trusted = createRepository({ store, caller: systemCaller(PROJECT) });
  const policy = await trusted.create({
    ...{ resourceType: 'AccessPolicy', name: 'All', resource: [{ resourceType: '*', readonly: true }] },
  });
  await createRepository({ store, caller: serverCaller() }).update({
    resourceType: 'Project',
    id: PROJECT,
    name: 'Bench',
  });
  const { membership } = await invite(
    PROJECT,
    {
      ...{ resourceType: 'Practitioner', firstName: 'Ann', lastName: 'Hill', email: 'ann@example.org' },
      ...{ sendEmail: false, membership: { access: [{ policy: { reference: `AccessPolicy/${policy.id}` } }] } },
    },
    { store, caller: systemCaller(PROJECT) },
  );
  const identity = { membership: `ProjectMembership/${membership.id}` };
  const standing = await signIn(store, identity, { recheckAfter: Infinity });
  const usual = await signIn(store, identity);
  const always = await signIn(store, identity, { recheckAfter: 0 });
  const [full, normal, journal] = logs.map(({ log }) => log);
  const required = (log: typeof full): AuditOptions => ({ audit: log!.audit, requireAudit: true, purpose: 'TREAT' });
  const subject = (name: string, caller: Caller, options: AuditOptions, settle?: () => Promise<void>): Subject => ({
    name,
    prepare: (query, variables) => async () =>
      JSON.stringify(await executeFhirGraphql(query.text, { store, caller, variables: { ...variables }, ...options })),
    ...(settle === undefined ? {} : { settle }),
  });
  return [
    subject('member', standing, {}),
    subject('rechecks', usual, {}),
    subject('each call', always, {}),
    subject('hook', standing, { audit: () => undefined }),
    subject('log, full', standing, required(full), () => full!.flush()),
    subject('log, normal', standing, required(normal), () => normal!.flush()),
    subject('all, journal', usual, required(journal)),
    subject('+ delivery', usual, required(journal), () => journal!.flush()),
  ];
}

/** In microseconds. */
interface Cost {
  readonly cpu: number;
  readonly wall: number;
}

/** @param subjects their number; the first is the base of the ratios */
async function ratios(subjects: number, run: (at: number, count: number) => Promise<Cost>): Promise<string[]> {
  const all = Array.from({ length: subjects }, (_, at) => at);
  for (const at of all) await run(at, 30);
  const once = await run(0, 30);
  const count = Math.max(16, Math.round((SAMPLE * 1000 * 30) / once.wall));
  const samples = all.map((): Cost[] => []);
  for (let round = 0; round < ROUNDS; round += 1) {
    for (const at of round % 2 === 1 ? all.toReversed() : all) samples[at]!.push(await run(at, count));
  }
  const median = (values: number[]): number => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)]!;
  return all.map((at) => {
    const of = (member: keyof Cost): string =>
      median(samples[at]!.map((one, round) => one[member] / samples[0]![round]![member])).toFixed(2);
    if (at === 0) return `${(median(samples[0]!.map(({ cpu }) => cpu)) / count).toFixed(0)} µs`;
    return `${of('cpu')} (${of('wall')})`;
  });
}

async function cost(
  ask: () => unknown,
  clients: number,
  count: number,
  settle: (() => Promise<void>) | undefined,
): Promise<Cost> {
  const cpu = process.cpuUsage();
  const start = performance.now();
  let left = count;
  const client = async (): Promise<void> => {
    while (left-- > 0) {
      const answer = ask();
      if (answer instanceof Promise) await answer;
    }
  };
  await Promise.all(Array.from({ length: clients }, client));
  const wall = (performance.now() - start) * 1000;
  await settle?.();
  const { user, system } = process.cpuUsage(cpu);
  return { cpu: user + system, wall };
}
