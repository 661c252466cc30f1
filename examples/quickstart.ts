import { once } from 'node:events';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Caller, executeFhirGraphql, FhirError, importBundle, type ResourceStore, systemCaller } from 'fhirgraph';
import { SqliteStore } from 'fhirgraph/sqlite';
import { parseArguments, USAGE, UsageError } from './quickstart/arguments.js';
import { type BundleSource, bundlesInDirectory, generatedBundles } from './quickstart/bundles.js';
import { formatJson } from './quickstart/format-json.js';
import { serve } from './quickstart/serve.js';
import { showProgress } from './quickstart/progress.js';
import { type Example, examples, PICK } from './quickstart/queries.js';

// Imports clinical data into a SQLite file, then runs five queries on it, or serves GraphiQL over it.
// Run it with `npm run quickstart`, or `npm run quickstart -- --serve`.

interface Context {
  readonly store: ResourceStore;
  readonly caller: Caller;
}

try {
  await main();
} catch (error) {
  if (!(error instanceof UsageError) && !(error instanceof FhirError)) throw error;
  console.error(error.message);
  process.exitCode = 1;
}

async function main(): Promise<void> {
  const { db, data, patients, serve: serves, port, help } = parseArguments(process.argv.slice(2));
  if (help) {
    console.log(USAGE);
    return;
  }
  const source = data === undefined ? generatedBundles(patients) : await bundlesInDirectory(data);
  const file = db ?? join(await mkdtemp(join(tmpdir(), 'fhirgraph-')), 'quickstart.db');
  const context: Context = { store: open(file), caller: systemCaller('quickstart') };
  try {
    console.log(`Importing ${source.description} into ${file}`);
    await importAll(source, context);
    const queries = examples(await pickPatient(context));
    if (serves) await serveUntilInterrupted(queries, port, context);
    else for (const [index, example] of queries.entries()) await show(index + 1, example, context);
    console.log(`\nThe data stay in ${file}`);
  } finally {
    await context.store.close();
  }
}

function open(file: string): SqliteStore {
  try {
    return new SqliteStore(file);
  } catch (error) {
    throw error instanceof FhirError ? new UsageError(`${file}: ${error.message}`) : error;
  }
}

async function importAll(source: BundleSource, context: Context): Promise<void> {
  const progress = showProgress(source.size);
  const start = performance.now();
  let resources = 0;
  try {
    for await (const [name, bundle] of source.bundles()) {
      const { created, updated, unchanged } = await importBundle(bundle, context).catch((error: unknown) => {
        throw error instanceof FhirError ? new UsageError(`${name}: ${error.message}`) : error;
      });
      resources += created + updated + unchanged;
      progress.advance(resources);
    }
  } finally {
    progress.stop();
  }
  const seconds = (performance.now() - start) / 1000;
  console.log(`${resources} resources in ${seconds.toFixed(1)} s, ${Math.round(resources / seconds)} per second`);
}

/** The patient of the latest report, else any. */
async function pickPatient(context: Context): Promise<string> {
  interface Picked {
    readonly DiagnosticReportList: readonly { readonly subject: { readonly reference: string | null } | null }[];
    readonly PatientList: readonly { readonly id: string }[];
  }
  const { data } = await executeFhirGraphql<Picked>(PICK, context);
  const subject = data?.DiagnosticReportList[0]?.subject?.reference;
  const id = subject?.startsWith('Patient/') === true ? subject.slice('Patient/'.length) : data?.PatientList[0]?.id;
  if (id === undefined) throw new UsageError('The data has no Patient, so the examples have nothing to query');
  return id;
}

/** @returns after Ctrl+C, or when the process that started this one asks it to end */
async function serveUntilInterrupted(queries: readonly Example[], port: number, context: Context): Promise<void> {
  const { server, url } = await serve({ ...context, examples: queries, port });
  console.log(`\nGraphiQL: ${url}\nPress Ctrl+C to stop.`);
  const stop = new AbortController();
  const signals = ['SIGINT', 'SIGTERM'].map((name) =>
    once(process, name, { signal: stop.signal }).catch(() => undefined),
  );
  await Promise.race(signals);
  stop.abort();
  server.close();
  server.closeAllConnections();
}

async function show(number: number, { title, query, variables }: Example, context: Context): Promise<void> {
  const ask = { ...context, variables };
  const [first, answer] = await timed(() => executeFhirGraphql(query, ask));
  const [second] = await timed(() => executeFhirGraphql(query, ask));
  console.log(`\n── ${number}. ${title}\n${query}`);
  if (variables !== undefined) console.log(`variables ${formatJson(variables)}`);
  console.log(`\n${formatJson(answer)}`);
  console.log(`first ${first.toFixed(1)} ms, again ${second.toFixed(1)} ms`);
}

async function timed<Result>(work: () => Promise<Result>): Promise<readonly [milliseconds: number, result: Result]> {
  const start = performance.now();
  const result = await work();
  return [performance.now() - start, result];
}
