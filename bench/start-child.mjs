// A fresh process of start.ts. The arguments are the SQLite file, the project, the query and its variables as JSON.
// It prints its peak memory, in kilobytes.
import { executeFhirGraphql, systemCaller } from '../dist/index.js';
import { SqliteStore } from '../dist/sqlite.js';

const [file, project, query, variables] = process.argv.slice(2);
const store = new SqliteStore(file);
const result = await executeFhirGraphql(query, {
  store,
  caller: systemCaller(project),
  variables: JSON.parse(variables),
});
if (result.errors !== undefined) throw new AggregateError(result.errors, 'The query failed');
JSON.stringify(result);
process.stdout.write(String(peakMemory()));

/**
 * On Linux, the peak of this program alone: resourceUsage would include the memory of the parent at the fork. An import of
 * node:fs would take 3 ms, which the floor does not spend, and answers do not need it.
 */
function peakMemory() {
  try {
    const { readFileSync } = process.getBuiltinModule('node:fs');
    return Number(/VmHWM:\s*(\d+) kB/.exec(readFileSync('/proc/self/status', 'utf8'))[1]);
  } catch {
    return process.resourceUsage().maxRSS;
  }
}
