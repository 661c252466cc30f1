import { FhirError } from '../../fhir/error.js';
import { observed } from '../../telemetry/observed.js';
import { byteChunks, type NdjsonSource } from './byte-chunks.js';
import { partlyWritten } from '../write/commit-each.js';
import { NdjsonRun } from './ndjson-run.js';
import type { NdjsonContext, NdjsonResult } from './ndjson-types.js';

export type { BadLine, NdjsonContext, NdjsonProgress, NdjsonResult } from './ndjson-types.js';

/**
 * Imports resources, one per line, into the caller's project. See https://hl7.org/fhir/R4/nd-json.html.
 *
 * The source is read only as fast as the store writes, in batches of one commit each. At most four batches are in
 * progress at once, or two that are longer than `batchBytes` together, so memory stays bounded for any size. Each
 * resource is put under its id (a new UUID without one): a new resource, the next version, or nothing if the content is
 * unchanged. References are unchanged. Bad lines are reported and left out; blank lines are skipped; a byte order mark
 * and CRLF are fine.
 *
 * @throws FhirError `unauthenticated` - no caller
 * @throws FhirError `invalid` - the source is neither text nor bytes, or a limit is not a positive number
 * @throws FhirError `aborted`, `unavailable`, `corrupt` - earlier batches are kept; `details.unknown` if they, or the
 * last one, may have written something
 * @throws any error of the source
 *
 * @example
 * await importNdjson(createReadStream('Patient.ndjson'), { store, caller: systemCaller('clinic') });
 */
export function importNdjson(source: NdjsonSource, context: NdjsonContext): Promise<NdjsonResult> {
  return observed(context.store, 'import', {}, () => runNdjson(source, context));
}

async function runNdjson(source: NdjsonSource, context: NdjsonContext): Promise<NdjsonResult> {
  const run = new NdjsonRun(context);
  try {
    return await runLines(source, context, run);
  } catch (error) {
    // Nothing is written after the import has failed.
    await run.settle().catch(() => undefined);
    throw error instanceof FhirError && run.hasWritten ? partlyWritten(error) : error;
  }
}

async function runLines(source: NdjsonSource, context: NdjsonContext, run: NdjsonRun): Promise<NdjsonResult> {
  for await (const chunk of byteChunks(source, context.signal)) {
    run.read(chunk.length);
    for (const line of run.splitter.push(chunk)) {
      if (run.add(line)) await run.flush();
      if (run.stopped) return run.result();
    }
  }
  for (const line of run.splitter.end()) run.add(line);
  await run.flush();
  await run.settle();
  return run.result();
}
