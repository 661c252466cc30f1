import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';

const BESIDE = process.env['FHIRGRAPH_SHARED'] ?? resolve(import.meta.dirname, '../../../shared');

/** Whether the shared material is there; it is large, so what counts things asks. */
export const hasShared = existsSync(join(BESIDE, 'corpus/index.json'));

/** The folder of shared material beside the repository, or the excerpt that takes its place where there is none. */
export const SHARED = hasShared ? BESIDE : resolve(import.meta.dirname, '../excerpt');
