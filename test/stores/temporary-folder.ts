import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onceFileEnds } from '../support/after-tests.js';

/** Names of files in a folder that is created with the first name, and removed after the tests of the file. */
export function temporaryFolder(): (name: string) => string {
  let folder: string | undefined;
  return (name) => {
    if (folder === undefined) {
      const made = (folder = mkdtempSync(join(tmpdir(), 'fhirgraph-')));
      onceFileEnds(() => {
        rmSync(made, { recursive: true, force: true });
        folder = undefined;
      });
    }
    return join(folder, name);
  };
}
