// A process that records without end until it is killed: `node --import tsx endless-log.ts FILE`. It prints the heads
// that it was told.

import { createAuditLog } from '../../src/audit/log/create-audit-log.js';
import { SqliteStore } from '../../src/stores/sqlite/store.js';

const store = new SqliteStore(process.argv[2]!, { synchronous: 'off' });
const log = createAuditLog({ store, gather: 0, onHead: (head) => console.log(JSON.stringify(head)) });
for (let index = 0; ; index += 1) {
  await log.audit({
    interaction: 'read',
    who: { kind: 'system', project: 'clinic' },
    targets: [{ type: 'Patient', id: `p${index}` }],
    outcome: { success: true },
    started: new Date().toISOString(),
    duration: 1,
  });
}
