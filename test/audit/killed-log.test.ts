import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import type { AuditHead } from '../../src/audit/log/chain.js';
import { createAuditLog } from '../../src/audit/log/create-audit-log.js';
import { verifyAuditLog } from '../../src/audit/log/verify-audit-log.js';
import { SqliteStore } from '../../src/stores/sqlite/store.js';
import { temporaryFolder } from '../stores/temporary-folder.js';

const fileIn = temporaryFolder();
const PROGRAM = fileURLToPath(new URL('endless-log.ts', import.meta.url));

test('a killed process leaves a chain that verifies, with all that it was told, and others go on', async () => {
  const file = fileIn('audit.db');
  const child = spawn(process.execPath, ['--import', 'tsx', PROGRAM, file], { stdio: ['ignore', 'pipe', 'inherit'] });
  const heads: AuditHead[] = [];
  for await (const line of createInterface(child.stdout)) {
    heads.push(JSON.parse(line) as AuditHead);
    if (heads.length === 20) child.kill('SIGKILL');
  }
  if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
  const store = new SqliteStore(file);
  try {
    const killed = await verifyAuditLog({ store, heads });
    expect(killed.problems).toEqual([]);
    expect(killed.segments).toMatchObject([{ segment: heads[0]!.segment, closed: false }]);
    // The commit that was told last, and no more than one after it.
    expect(killed.segments[0]!.head.sequence - heads.at(-1)!.sequence).toBeLessThanOrEqual(1);
    const next = createAuditLog({ store, gather: 0 });
    await next.audit({
      interaction: 'read',
      who: { kind: 'unknown' },
      targets: [],
      outcome: { success: true },
      started: new Date().toISOString(),
      duration: 1,
    });
    await next.close();
    expect(await verifyAuditLog({ store, heads })).toMatchObject({ intact: true, segments: [{}, { closed: true }] });
  } finally {
    await store.close();
  }
});
