// A process in which many callers read and write the resources of a file that other processes also use:
// `node --import tsx callers.ts FILE NAME CALLS SEED`. It ends with its CallerHistory as a line of JSON.

import { SqliteStore } from '../../../src/sqlite.js';
import { runManyCallers } from '../many-callers.js';

const [file, name, calls, seed] = process.argv.slice(2) as [string, string, string, string];
const store = new SqliteStore(file, { synchronous: 'normal' });
const options = { callers: 4, calls: Number(calls), resources: 4, seed: Number(seed), name };
console.log(JSON.stringify(await runManyCallers(store, options)));
await store.close();
