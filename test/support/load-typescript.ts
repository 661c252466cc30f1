import { fileURLToPath } from 'node:url';

/** The arguments of `node --import` that run TypeScript of the repository in a process of its own. */
export const LOADER = fileURLToPath(new URL('../../scripts/load-typescript.mjs', import.meta.url));
