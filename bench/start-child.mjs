// One fresh process of start.ts: the arguments are the SQLite file, the project, the query and its variables as JSON.
// It prints the most memory it held, in kilobytes.
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
process.stdout.write(String(process.resourceUsage().maxRSS));
