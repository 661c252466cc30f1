// The program of a thread of a SqliteStore. scripts/generate-thread.mjs bundles it with its imports into one text.
import { parentPort, workerData } from 'node:worker_threads';
import { FhirModel } from '../../../fhir/model/fhir-model.js';
import { loadFhirPath } from '../../../fhirpath/library.js';
import { configureConnection } from '../database/configure.js';
import { Connection } from '../connection.js';
import { assertInPlace } from '../database/database-file.js';
import { openDatabase } from '../database/driver.js';
import { storeError } from '../database/errors.js';
import { Guard, setGuard } from '../database/guard.js';
import type { OpenCommit } from '../commit/commit.js';
import { CallState } from './call-state.js';
import type { Answer, Request, ThreadCall, ThreadData, WritePart, WrittenRow } from './protocol.js';
import { setPatience } from '../database/transaction.js';
import { sendError } from './sent-error.js';
import { readPart, writtenRow } from './text-writes.js';
import { doWork, type WorkArguments, type WorkName } from './work.js';

const { base, file, opened, definitions, needsFhirPath, writes, busyTimeout, calls: memory } = workerData as ThreadData;
const port = parentPort!;
const calls = new CallState(memory);
let running = 0;
let now = 0;
/** The commit that parts belong to, until its call comes. */
let commit: OpenCommit | undefined;
/** The error of a failed part: the answer to the call. */
let failure: { readonly error: unknown } | undefined;

void start();

async function start(): Promise<void> {
  if (needsFhirPath) await loadFhirPath();
  const { texts, contentFingerprint, fingerprint, typesFingerprint } = definitions;
  const connection = connect(new FhirModel(texts, contentFingerprint, fingerprint, typesFingerprint));
  port.on('message', (request: Request) => serve(connection, request));
  port.postMessage('ready');
}

function connect(model: FhirModel): Connection {
  const database = openDatabase(file, { timeout: busyTimeout, readonly: writes === undefined }, base);
  // Otherwise a thread would answer from a file that has taken the place of the store's.
  if (opened !== undefined) assertInPlace(opened);
  configureConnection(database, {
    busyTimeout: writes === undefined ? busyTimeout : LOCK_STEP_MS,
    synchronous: writes,
  });
  setPatience(database, busyTimeout);
  setGuard(database, new Guard(() => calls.isCancelled(running)));
  Connection.prepare(model, database);
  // Only the event loop caches resources: a thread returns keys.
  const connection = new Connection(model, database, {
    cacheBytes: 0,
    clock: () => new Date(now),
    ownsFile: true,
    opened,
  });
  connection.status.noteRemovals();
  return connection;
}

function serve(connection: Connection, request: Request): void {
  if (request === 'end') {
    connection.database.close();
    port.close();
    return;
  }
  const { id, left } = request;
  running = id;
  const deadline = left === undefined ? undefined : performance.now() + left;
  if ('part' in request) {
    receive(connection, request.part, deadline);
    return;
  }
  calls.begin(id);
  let reply: Answer;
  try {
    reply = { id, result: connection.guard.run(deadline, () => answer(connection, request.call)) };
  } catch (error) {
    reply = { id, error: sendError(storeError(error)) };
  }
  abandonCommit();
  failure = undefined;
  port.postMessage(reply);
}

/** Begins to write before all writes have arrived, while the event loop prepares the others. */
function receive(connection: Connection, part: WritePart, deadline: number | undefined): void {
  if (failure !== undefined) return;
  try {
    connection.guard.run(deadline, () =>
      openCommit(connection, part.now, part.load).add(readPart(connection.commits.model, part)),
    );
  } catch (error) {
    abandonCommit();
    failure = { error };
  }
}

function abandonCommit(): void {
  commit?.abandon();
  commit = undefined;
}

function openCommit(connection: Connection, time: number, load: boolean): OpenCommit {
  now = time;
  return (commit ??= connection.commits.begin(load));
}

function answer(connection: Connection, call: ThreadCall): unknown {
  if (call.kind === 'nothing') return undefined;
  return call.kind === 'commit'
    ? endCommit(connection, call.now)
    : doWork(connection, call.kind, call.args as WorkArguments<WorkName>);
}

function endCommit(connection: Connection, time: number): readonly WrittenRow[] {
  if (failure !== undefined) throw failure.error;
  const open = openCommit(connection, time, false);
  commit = undefined;
  const instant = new Date(time).toISOString();
  return open.end().results.map((result) => writtenRow(result, instant));
}

/** How often a wait for another process's lock checks the deadline, in milliseconds. */
const LOCK_STEP_MS = 10;
