import type { FhirModel } from '../../fhir/model/fhir-model.js';
import { isLong, PARTS, sizeOf } from '../../fhir/json/parts.js';
import { writingJson } from '../../fhir/json/stringify-in-turns.js';
import { parseInTurns } from '../../fhir/json/parse-in-turns.js';
import type { AnyResource } from '../../fhir/resource.js';
import { byteLength } from '../../platform/byte-length.js';
import { inTurns } from '../../platform/pace.js';
import { groupingEntries, type SearchSubject } from '../../search/evaluate/search-subject.js';
import { indexEntriesInTurns } from '../../search/index/index-resource.js';
import { CallPace } from '../../store/call-pace.js';
import type { CallOptions } from '../../store/call-options.js';
import { freezing } from '../../store/deep-freeze.js';
import { MAX_RESOURCE_BYTES } from '../../store/json-text.js';
import type { Write } from '../../store/write.js';

/** A put with all done that depends on nothing stored. */
export interface PreparedPut {
  /** The frozen copy that is kept, except for its version. */
  readonly resource: AnyResource;
  /** Of its JSON text in UTF-8, without its version. */
  readonly bytes: number;
  readonly entries: SearchSubject['entries'];
}

export type PreparedPuts = ReadonlyMap<Write, PreparedPut>;

/** Writes that take long together, if they are as large as most. */
const MANY_WRITES = 200;

/** Whether the puts of a commit take so long that they are better prepared in turns with other work. */
export function isLongCommit(writes: readonly Write[]): boolean {
  if (writes.length >= MANY_WRITES) return true;
  let left = PARTS.long;
  for (const write of writes) {
    if (write.kind === 'put') left -= sizeOf(write.resource, left, CHARACTERS_PER_VALUE);
    if (left <= 0) return true;
  }
  return false;
}

/** So many characters of a name take about as long to fold as a value to copy and to index. */
const CHARACTERS_PER_VALUE = 4;

/**
 * Copies and indexes the resources of a commit in turns with other work. What cannot be written is left out: the commit
 * refuses it, after the writes before it.
 *
 * @throws FhirError `aborted`
 */
export async function preparePuts(
  model: FhirModel,
  writes: readonly Write[],
  options: CallOptions | undefined,
): Promise<PreparedPuts> {
  const prepared = new Map<Write, PreparedPut>();
  const pace = new CallPace(options);
  for (const write of writes) {
    if (pace.isSpent) await pace.next();
    if (write.kind !== 'put') continue;
    // Before, it was checked, which takes a turn as well.
    if (isLong(write.resource)) await pace.next();
    const text = await inTurns(writing(write.resource), pace);
    if (text === undefined) continue;
    if (pace.isSpent) await pace.next();
    const resource = (await parseInTurns(text)) as AnyResource;
    await inTurns(freezing(resource), pace);
    const entries = await indexEntriesInTurns(model, resource, pace);
    prepared.set(write, { resource, bytes: byteLength(text), entries: await inTurns(groupingEntries(entries), pace) });
  }
  return prepared;
}

function* writing(resource: AnyResource): Generator<void, string | undefined> {
  try {
    const text = yield* writingJson(resource);
    return text.length * MAX_BYTES_PER_UNIT > MAX_RESOURCE_BYTES ? undefined : text;
  } catch {
    return undefined;
  }
}

/** Of UTF-8, for a unit of UTF-16. */
const MAX_BYTES_PER_UNIT = 3;
