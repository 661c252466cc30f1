// What a thread of a SqliteStore runs. scripts/generate-thread.mjs makes it, with all that it imports, one text.
import { parentPort, workerData } from 'node:worker_threads';
import { FhirModel } from '../../../fhir/model/fhir-model.js';
import { loadFhirPath } from '../../../fhirpath/library.js';
import { configureConnection } from '../configure.js';
import { Connection } from '../connection.js';
import { openDatabase } from '../driver.js';
import { storeError } from '../errors.js';
import { Guard, setGuard } from '../guard.js';
import type { Answer, Request, ThreadCall, ThreadData, WrittenRow } from './protocol.js';
import { setPatience } from '../transaction.js';
import { sendError } from './sent-error.js';
import type { PreparedWrite } from '../prepared-write.js';
import { readWrite, writtenRow } from './text-writes.js';

const { base, file, definitions, needsFhirPath, writes, busyTimeout, cancelled } = workerData as ThreadData;
const port = parentPort!;
const cancelledCall = new Int32Array(cancelled);
let running = 0;
let now = 0;
let received: PreparedWrite[] = [];

void start();

async function start(): Promise<void> {
  if (needsFhirPath) await loadFhirPath();
  const connection = connect(new FhirModel(definitions.texts, definitions.fingerprint));
  port.on('message', (request: Request) => serve(connection, request));
  port.postMessage('ready');
}

function connect(model: FhirModel): Connection {
  const database = openDatabase(file, { timeout: busyTimeout, readonly: writes === undefined }, base);
  configureConnection(database, {
    busyTimeout: writes === undefined ? busyTimeout : LOCK_STEP_MS,
    synchronous: writes,
  });
  setPatience(database, busyTimeout);
  setGuard(database, new Guard(() => Atomics.load(cancelledCall, 0) === running));
  Connection.prepare(model, database);
  // The event loop has the cache of resources: a thread finds keys.
  const connection = new Connection(model, database, {
    cacheBytes: 0,
    clock: () => new Date(now),
    ownsFile: true,
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
  if ('part' in request) {
    for (const write of request.part) received.push(readWrite(write));
    return;
  }
  const { id, call, left } = request;
  running = id;
  let reply: Answer;
  try {
    const deadline = left === undefined ? undefined : performance.now() + left;
    reply = { id, result: connection.guard.run(deadline, () => answer(connection, call)) };
  } catch (error) {
    reply = { id, error: sendError(storeError(error)) };
  }
  received = [];
  port.postMessage(reply);
}

function answer(connection: Connection, call: ThreadCall): unknown {
  switch (call.kind) {
    case 'search':
      return connection.search(call.query);
    case 'search-by-reference':
      return connection.searchByReference(call.query, call.parameter, call.targets);
    case 'verify':
      return connection.maintenance.verify();
    case 'commit':
      return commit(connection, call.now);
    case 'create-indexes':
      connection.valueIndexes.create();
      return null;
    case 'build-skip-indexes':
      return connection.skipIndexes.build(call.collection, call.sizes);
    case 'write-skip-indexes':
      connection.skipIndexes.write(call.built);
      return null;
    case 'reindex':
      return connection.maintenance.reindex();
    case 'purge-history':
      return connection.removal.purgeHistory(call.request);
    case 'remove-project':
      return connection.removal.removeProject(call.project);
    case 'scrub':
      connection.scrub();
      return null;
    case 'nothing':
      return null;
    case 'checkpoint':
      // Passive: it waits for no other connection, and no connection waits for it.
      connection.database.pragma('wal_checkpoint(PASSIVE)');
      return null;
  }
}

function commit(connection: Connection, time: number): readonly WrittenRow[] {
  now = time;
  return connection.commits.commit(received).results.map(writtenRow);
}

/** A wait for another process's lock looks at the deadline so often. */
const LOCK_STEP_MS = 10;
