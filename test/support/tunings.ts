import { PARTS } from '../../src/fhir/json/stringify-json.js';
import { PACE } from '../../src/platform/pace.js';
import { READ_TUNING } from '../../src/store/every-page.js';
import { TUNING as POSTGRES_SCANS } from '../../src/stores/postgres/scans/tuning.js';
import { THREAD_TUNING } from '../../src/stores/sqlite/database/tuning.js';
import { SIZES } from '../../src/stores/segments/run-format.js';
import { SEGMENT_TUNING } from '../../src/stores/segments/upkeep.js';
import { TUNING as SQLITE_SCANS } from '../../src/stores/sqlite/scans/tuning.js';

// FHIRGRAPH_PACE=0 lets all work pause after each step, as on a busy machine: see vitest.busy.config.ts.
if (process.env.FHIRGRAPH_PACE !== undefined) PACE.turnMs = Number(process.env.FHIRGRAPH_PACE);

const TUNINGS: readonly object[] = [
  ...[PARTS, PACE, READ_TUNING, THREAD_TUNING],
  ...[POSTGRES_SCANS, SQLITE_SCANS, SEGMENT_TUNING, SIZES],
];
const DEFAULTS = TUNINGS.map((one) => ({ ...one }));

/** Undoes the changes of a file for its tests, because the next file of the worker has the same modules. */
export function restoreTunings(): void {
  for (const [index, one] of TUNINGS.entries()) Object.assign(one, DEFAULTS[index]);
}
