import { fileURLToPath } from 'node:url';

/** What `node --import` takes to run TypeScript of the repository in a process of its own. */
export const LOADER = fileURLToPath(new URL('../../scripts/load-typescript.mjs', import.meta.url));
