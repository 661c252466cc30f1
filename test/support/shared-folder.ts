import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';

const BESIDE = process.env['FHIRGRAPH_SHARED'] ?? resolve(import.meta.dirname, '../../../shared');

/** Whether the shared material exists. It is large, so tests that count things check this. */
export const hasShared = existsSync(join(BESIDE, 'corpus/index.json'));

/** The folder of shared material beside the repository, or the excerpt that replaces it. */
export const SHARED = hasShared ? BESIDE : resolve(import.meta.dirname, '../excerpt');
