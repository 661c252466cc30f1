import type { FhirModel } from '../../../fhir/model/fhir-model.js';
import { boundedSize } from '../../../fhir/json/json-values.js';
import { mapInTurns, Pace } from '../../../platform/pace.js';
import { indexEntries } from '../../../search/index/index-resource.js';
import { assertPutMatchesKey } from '../../../store/guards.js';
import { jsonLines, parseJsonText } from '../../../store/json-text.js';
import { type Change, type Expectation, putResultOf, type Write, type WriteResult } from '../../../store/write.js';
import { withVersion } from '../../../store/versioned.js';
import type { AnyResource } from '../../../fhir/resource.js';
import type { ResourceKey } from '../../../store/resource-key.js';
import { changeOf, type LongCommitted } from '../../sql/commit-results.js';
import { type MarkedEntries, markEntries } from '../../sql/extremes.js';
import type { FirstText, PreparedPut, PreparedWrite } from '../rows/prepared-write.js';
import { THREAD_TUNING } from '../database/tuning.js';
import { EntryPacker, EntryReader } from './packed-entries.js';
import type { SentPut, SentWrite, WritePart, WrittenRow } from './protocol.js';

/**
 * Prepares writes for a thread: all work that needs no transaction. The text of a put is stored unchanged if
 * it makes the first version of its resource.
 *
 * @param start the position of the first write in the commit
 * @param commit the instant of the commit, in milliseconds since 1970, and whether it is a load
 * @param isEnough called after each write; true ends the part
 */
export function partOf(
  model: FhirModel,
  writes: readonly Write[],
  start: number,
  { now, load }: Pick<WritePart, 'now' | 'load'>,
  isEnough: () => boolean,
): WritePart {
  const instant = new Date(now).toISOString();
  const packer = new EntryPacker();
  const prepare = (write: Write, index: number): SentWrite => {
    if (write.kind === 'delete') return { kind: 'delete', key: write.key, expect: write.expect };
    if (write.kind !== 'put') return write;
    assertPutMatchesKey(write, start + index);
    const { key, resource, expect, unique } = write;
    const text = jsonLines(withVersion(resource, '1', instant));
    // PERF (import-rate): a value takes two characters, so the length of most texts shows that they have few values, and counting
    // values takes as long as extraction.
    if (text.length > 2 * THREAD_TUNING.largeResource && isLargeResource(resource)) packer.skip();
    else packer.add(markEntries(indexEntries(model, resource)));
    // PERF (import-rate): V8 allocates literals in its old generation, where they keep the text: see `LoadedResource`.
    return Array.of<SentPut[number]>(key.project, key.type, key.id, text, expect, unique) as unknown as SentPut;
  };
  const sent: SentWrite[] = [];
  for (let index = 0; index < writes.length; index++) {
    sent.push(prepare(writes[index]!, index));
    if (isEnough()) break;
  }
  return { now, load, writes: sent, entries: packer.take() };
}

/** Whether a write belongs in a thread, because its values alone take long to find, or its text takes long to write. */
export function isLarge(write: Write): boolean {
  return write.kind === 'put' && isLargeResource(write.resource);
}

function isLargeResource(resource: AnyResource): boolean {
  const { largeResource } = THREAD_TUNING;
  return boundedSize(resource, largeResource) >= largeResource;
}

/** Reads the writes of a part, in the thread. */
export function readPart(model: FhirModel, { now, writes, entries }: WritePart): readonly PreparedWrite[] {
  const lastUpdated = new Date(now).toISOString();
  const reader = new EntryReader(entries);
  return writes.map((write): PreparedWrite => {
    if (!isPut(write)) return write;
    const marked = reader.read() ?? markEntries(indexEntries(model, parseJsonText(write[3])));
    return new ReceivedPut(write, marked, lastUpdated);
  });
}

/** PERF (import-rate): first versions are not parsed, and an object with a getter of its own takes five times as long to make. */
class ReceivedPut implements PreparedPut {
  readonly kind = 'put';
  readonly key: ResourceKey;
  readonly expect: Expectation | undefined;
  readonly unique: readonly string[] | undefined;
  readonly marked: MarkedEntries;
  readonly firstText: FirstText;

  constructor([project, type, id, text, expect, unique]: SentPut, marked: MarkedEntries, lastUpdated: string) {
    this.key = { project, type, id };
    this.expect = expect;
    this.unique = unique;
    this.marked = marked;
    this.firstText = { text, lastUpdated };
  }

  get resource(): AnyResource {
    return parseJsonText(this.firstText.text);
  }
}

/** @param instant of the commit, ISO 8601 */
export function writtenRow(result: WriteResult, instant: string): WrittenRow {
  switch (result.kind) {
    case 'put': {
      const { created, versionId, lastUpdated } = result;
      return created && versionId === '1' && lastUpdated === instant ? null : [created, versionId, lastUpdated];
    }
    case 'erase':
      return [result.versionId, result.versions];
    case 'delete':
      return [result.versionId];
    case 'assert-no-match':
      return [];
  }
}

/**
 * The effects of a commit by a thread.
 *
 * The changes are made at once, because they are published in the order of commits. The results of a long commit
 * follow.
 */
export function committedOf(writes: readonly SentWrite[], rows: readonly WrittenRow[], instant: string): LongCommitted {
  const changes: Change[] = [];
  for (let index = 0; index < writes.length; index++) {
    const write = writes[index]!;
    if (isPut(write)) {
      const [project, type, id] = write;
      changes.push({ kind: 'put', key: { project, type, id }, versionId: putRow(rows[index])[1] });
    } else if (write.kind === 'delete') {
      const [versionId] = rows[index] as readonly [string | null];
      if (versionId !== null) changes.push(changeOf('delete', write.key, { versionId }));
    } else if (write.kind === 'erase') {
      const [versionId, removed] = rows[index] as readonly [string | null, number];
      if (removed > 0) changes.push(changeOf('erase', write.key, { versionId: versionId! }));
    }
  }
  // A written commit no longer ends early.
  const results = mapInTurns(writes, new Pace(), (write, index) => resultOf(write, rows[index], instant));
  return { results, changes };
}

function resultOf(write: SentWrite, row: WrittenRow | undefined, instant: string): WriteResult {
  if (isPut(write)) {
    const [, , , text] = write;
    const [created, versionId, lastUpdated = instant] = putRow(row);
    const stamp = { created, versionId, lastUpdated };
    return putResultOf(stamp, () => withVersion(parseJsonText(text), versionId, lastUpdated));
  }
  switch (write.kind) {
    case 'delete': {
      const [versionId] = row as readonly [string | null];
      return { kind: 'delete', versionId };
    }
    case 'erase': {
      const [versionId, removed] = row as readonly [string | null, number];
      return { kind: 'erase', versionId, versions: removed };
    }
    case 'assert-no-match':
      return { kind: 'assert-no-match' };
  }
}

/** An omitted row is a creation at the instant of the commit. */
function putRow(row: WrittenRow | undefined): PutRow {
  return (row ?? CREATED) as PutRow;
}

const CREATED: PutRow = [true, '1'];

type PutRow = readonly [created: boolean, versionId: string, lastUpdated?: string];

function isPut(write: SentWrite): write is SentPut {
  return Array.isArray(write);
}
