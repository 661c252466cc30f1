import { chmodSync, mkdtempSync, rmSync, statfsSync } from 'node:fs';

/** The file system in memory that Linux has; containers have a small one. */
const MEMORY = '/dev/shm';
const ROOM_BYTES = 2 ** 30;

/** Temporary files of `npm test` are in memory if there is space: stores wait for the disk up to half of their time. */
export function setup(): (() => void) | undefined {
  if (roomIn(MEMORY) < ROOM_BYTES) return undefined;
  // The workers and their child processes inherit it.
  const folder = (process.env['TMPDIR'] = mkdtempSync(`${MEMORY}/fhirgraph-`));
  // Another user runs PostgreSQL.
  chmodSync(folder, 0o711);
  return () => rmSync(folder, { recursive: true, force: true });
}

function roomIn(folder: string): number {
  try {
    const { bavail, bsize } = statfsSync(folder);
    return bavail * bsize;
  } catch {
    return 0;
  }
}
