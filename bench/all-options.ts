import '../scripts/assert-node.mjs';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  type AuditOptions,
  createAuditLog,
  createRepository,
  executeFhirGraphql,
  invite,
  type ResourceStore,
  serverCaller,
  signIn,
  systemCaller,
} from 'fhirgraph';
import { SqliteAuditJournal, SqliteStore } from 'fhirgraph/sqlite';
import { chooseVariables } from './choose-variables.js';
import { loadData } from './data.js';
import { importIndexed } from './import-rate.js';
import { QUERIES } from './queries.js';
import { table } from './table.js';

/**
 * What the options of trust cost the six queries: a member with a policy instead of trusted code, its rechecks, and the
 * audit in its forms. CPU time and wall clock of each over that of the member without options, the medians of rounds that
 * are interleaved in one process; one client, then sixteen.
 *
 *     npx tsx --tsconfig bench/tsconfig.built.json bench/all-options.ts [DIR]
 */
const PROJECT = 'bench';
const ROUNDS = 15;
/** How long a sample takes without options, in milliseconds. */
const SAMPLE = 15;

interface Option {
  readonly name: string;
  readonly caller: Parameters<typeof executeFhirGraphql>[1]['caller'];
  readonly audit: AuditOptions;
  /** Ends what the sample left to do. */
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
  for (const clients of [1, 16]) {
    const rows = [];
    for (const query of QUERIES) {
      const run = (option: Option, count: number): Promise<Cost> =>
        cost(option, clients, count, async () =>
          JSON.stringify(
            await executeFhirGraphql(query.text, {
              ...{ store, caller: option.caller, variables: { ...variables } },
              ...option.audit,
            }),
          ),
        );
      rows.push([query.name, ...(await ratios(options, run))]);
    }
    console.log(`\n${table([[`${clients} at once, CPU (wall)`, ...options.map(({ name }) => name)], ...rows])}`);
  }
  for (const { close } of logs) await close();
  await store.close();
} finally {
  rmSync(folder, { recursive: true, force: true });
}

function openLog(kind: string) {
  const trail = new SqliteStore(join(folder, `${kind}.db`), { synchronous: kind === 'full' ? 'full' : 'normal' });
  const journal =
    kind === 'journal' ? new SqliteAuditJournal(join(folder, 'journal'), { synchronous: 'normal' }) : undefined;
  const log = createAuditLog({ store: trail, journal });
  const close = async (): Promise<void> => {
    await log.close();
    journal?.close();
    await trail.close();
  };
  return { log, close };
}

async function optionsOf(store: ResourceStore, logs: readonly ReturnType<typeof openLog>[]): Promise<Option[]> {
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
  return [
    { name: 'member', caller: standing, audit: {} },
    { name: 'rechecks', caller: usual, audit: {} },
    { name: 'each call', caller: always, audit: {} },
    { name: 'hook', caller: standing, audit: { audit: () => undefined } },
    { name: 'log, full', caller: standing, audit: required(full), settle: () => full!.flush() },
    { name: 'log, normal', caller: standing, audit: required(normal), settle: () => normal!.flush() },
    { name: 'all, journal', caller: usual, audit: required(journal) },
    { name: '+ delivery', caller: usual, audit: required(journal), settle: () => journal!.flush() },
  ];
}

/** In microseconds. */
interface Cost {
  readonly cpu: number;
  readonly wall: number;
}

async function ratios(
  options: readonly Option[],
  run: (option: Option, count: number) => Promise<Cost>,
): Promise<string[]> {
  for (const option of options) await run(option, 30);
  const once = await run(options[0]!, 30);
  const count = Math.max(16, Math.round((SAMPLE * 1000 * 30) / once.wall));
  const samples = options.map((): Cost[] => []);
  for (let round = 0; round < ROUNDS; round += 1) {
    const order = [...options.keys()];
    if (round % 2 === 1) order.reverse();
    for (const at of order) samples[at]!.push(await run(options[at]!, count));
  }
  const median = (values: number[]): number => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)]!;
  return options.map((_, at) => {
    const of = (member: keyof Cost): string =>
      median(samples[at]!.map((one, round) => one[member] / samples[0]![round]![member])).toFixed(2);
    if (at === 0) return `${(median(samples[0]!.map(({ cpu }) => cpu)) / count).toFixed(0)} µs`;
    return `${of('cpu')} (${of('wall')})`;
  });
}

async function cost(option: Option, clients: number, count: number, ask: () => Promise<unknown>): Promise<Cost> {
  const cpu = process.cpuUsage();
  const start = performance.now();
  let left = count;
  const client = async (): Promise<void> => {
    while (left-- > 0) await ask();
  };
  await Promise.all(Array.from({ length: clients }, client));
  const wall = (performance.now() - start) * 1000;
  await option.settle?.();
  const { user, system } = process.cpuUsage(cpu);
  return { cpu: user + system, wall };
}
