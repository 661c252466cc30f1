import { tracedBy } from '../../access/access-trace.js';
import type { GuardedKey } from '../../access/contract.js';
import { type InCall, operation } from '../../access/operation.js';
import type { AuditTarget } from '../../audit/audit-record.js';
import type { AuditFacts } from '../../audit/audit.js';
import { FhirError, maskError } from '../../fhir/error.js';
import { keyText } from '../../fhir/reference.js';
import { assertWholeNumber } from '../../fhir/whole-number.js';
import { nextTurn } from '../../platform/runtime.js';
import { decidesAccess } from '../../store/access-epoch.js';
import { assertNotAborted } from '../../store/guards.js';
import { MAX_RESOURCE_BYTES } from '../../store/json-text.js';
import type { WriteResult } from '../../store/write.js';
import { observed } from '../../telemetry/with-telemetry.js';
import { type ImportSession, openSession } from '../session.js';
import { commitEach, commitGuessed, groupsOf, partlyWritten, planPuts } from '../write.js';
import type { BadLine, NdjsonContext, NdjsonProgress, NdjsonResult } from './ndjson-types.js';
import {
  byteChunks,
  type Line,
  LineSplitter,
  lineTooLong,
  type NdjsonSource,
  readLine,
  type Wanted,
} from './read-line.js';

const DEFAULTS = { batchLines: 200, batchBytes: 4 << 20, maxLineBytes: MAX_RESOURCE_BYTES, maxErrors: 1000 } as const;

type WantedLine = { readonly line: number } & Wanted;
type PutLine = Extract<WantedLine, { readonly put: unknown }>;
type DeletionLine = Extract<WantedLine, { readonly deletes: unknown }>;

/** Lines that are committed together. */
interface Batch {
  readonly wanted: readonly WantedLine[];
  readonly bad: readonly BadLine[];
  /** How much of the source was read at its end. */
  readonly end: { readonly lines: number; readonly bytes: number };
}

/** The counts of what lines did. */
type Tally = Record<(typeof TALLIED)[number], number>;

const TALLIED = ['created', 'updated', 'unchanged', 'deleted'] as const;

function newTally(): Tally {
  return { created: 0, updated: 0, unchanged: 0, deleted: 0 };
}

/** The state of one NDJSON import: the current batch, and the counts so far. */
class NdjsonRun {
  readonly splitter: LineSplitter;
  stopped = false;
  readonly #session: ImportSession;
  readonly #context: NdjsonContext;
  readonly #batchLines: number;
  readonly #batchBytes: number;
  readonly #maxErrors: number;
  /** The requests of the lines in the current batch, and the errors of its bad lines, in the order of the lines. */
  #wanted: WantedLine[] = [];
  #bad: BadLine[] = [];
  #heldLines = 0;
  #heldBytes = 0;
  #lines = 0;
  #bytes = 0;
  readonly #batches: BatchQueue;
  readonly #total: Tally = newTally();
  #failed = 0;
  /** The lines and bytes of finished batches. */
  #done = { lines: 0, bytes: 0 };
  #hasWritten = false;
  readonly #errors: BadLine[] = [];

  constructor(context: NdjsonContext) {
    this.#session = openSession({ ...context, call: { signal: context.signal } });
    this.#context = context;
    this.#batchLines = positive('batchLines', context);
    this.#batchBytes = positive('batchBytes', context);
    this.#maxErrors = positive('maxErrors', context);
    this.#batches = new BatchQueue(this.#batchBytes);
    this.splitter = new LineSplitter(maxLineBytes(context));
  }

  /** Counts bytes of the source. */
  read(bytes: number): void {
    this.#bytes += bytes;
  }

  /** @returns true when the batch is full */
  add({ number, bytes }: Line): boolean {
    this.#lines = number;
    this.#heldLines++;
    this.#heldBytes += bytes?.length ?? 0;
    if (bytes === undefined) return this.#refuse(number, lineTooLong(maxLineBytes(this.#context)));
    try {
      const wanted = readLine(bytes, this.#context);
      if (wanted !== undefined) this.#wanted.push({ line: number, ...wanted });
      return this.#isFull;
    } catch (error) {
      return this.#refuse(number, error);
    }
  }

  #refuse(line: number, error: unknown): boolean {
    this.#bad.push(badLine(line, maskError(error)));
    return this.#context.stopOnError === true || this.#isFull;
  }

  get #isFull(): boolean {
    return this.#heldLines >= this.#batchLines || this.#heldBytes >= this.#batchBytes;
  }

  /** Starts to commit the batch, waits until there is room for another one, and yields to the event loop. */
  async flush(): Promise<void> {
    assertNotAborted(this.#session.options);
    const batch: Batch = { wanted: this.#wanted, bad: this.#bad, end: { lines: this.#lines, bytes: this.#bytes } };
    this.#wanted = [];
    this.#bad = [];
    const bytes = this.#heldBytes;
    this.#heldLines = 0;
    this.#heldBytes = 0;
    await this.#batches.start(this.#keysOf(batch), bytes, (before, concerned) => this.#write(batch, before, concerned));
    await nextTurn();
  }

  /** Waits until all batches are committed. */
  settle(): Promise<void> {
    return this.#batches.settle();
  }

  /** Commits a batch after the last batch that it must follow, and reports it after all earlier batches. */
  async #write({ wanted, bad, end }: Batch, before: Promise<void>, concerned: Promise<void>): Promise<void> {
    const tally = newTally();
    const writing = wanted.length > 0 ? concerned.then(() => this.#writeAudited(wanted, tally)) : Promise.resolve([]);
    // A failure is reported after the earlier batches.
    const [earlier, own] = await Promise.allSettled([before, writing]);
    if (earlier.status === 'rejected') throw earlier.reason;
    if (own.status === 'rejected') throw own.reason;
    const refused = own.value;
    const all = [...bad, ...refused].sort((a, b) => a.line - b.line);
    if (this.#context.stopOnError === true && all.length > 0) {
      this.stopped = true;
      all.length = 1;
    }
    for (const name of TALLIED) this.#total[name] += tally[name];
    this.#failed += all.length;
    this.#errors.push(...all.slice(0, this.#maxErrors - this.#errors.length));
    this.#done = end;
    this.#context.onProgress?.(this.#progress());
  }

  /**
   * The resources of a batch that can be written alongside others; undefined if it must be written alone: a bad line or
   * a failed audit record may end the import, or the batch may affect access decisions.
   */
  #keysOf({ wanted }: Batch): ReadonlySet<string> | undefined {
    const { caller, stopOnError, requireAudit } = this.#context;
    if (stopOnError === true || requireAudit === true || caller?.kind === 'member') return undefined;
    const changes = wanted.flatMap((one): { readonly kind: 'put' | 'delete'; readonly key: GuardedKey }[] =>
      'put' in one ? [{ kind: 'put', key: one.put.key }] : one.deletes.map((key) => ({ kind: 'delete', key })),
    );
    if (changes.some(({ kind, key }) => decidesAccess({ kind, key: { ...key, project: '' } }))) return undefined;
    return new Set(changes.map(({ key }) => keyText(key)));
  }

  /** True if a batch has changed something. */
  get hasWritten(): boolean {
    return this.#hasWritten;
  }

  result(): NdjsonResult {
    return {
      ...this.#progress(),
      created: this.#total.created,
      updated: this.#total.updated,
      unchanged: this.#total.unchanged,
      ...(this.#context.deletions === true ? { deleted: this.#total.deleted } : {}),
      errors: this.#errors,
      stopped: this.stopped,
    };
  }

  /** Each batch has a record of its own, so that records are bounded and a killed import leaves those of its commits. */
  #writeAudited(wanted: readonly WantedLine[], tally: Tally): Promise<readonly BadLine[]> {
    const context = this.#context;
    const facts: AuditFacts = { results: wanted.length };
    const trace = tracedBy(context, facts);
    if (trace !== undefined) facts.targets = wanted.flatMap(targetsOf);
    const work = (bounded: InCall<NdjsonContext>): Promise<readonly BadLine[]> =>
      this.#commit(wanted, { ...openSession(bounded, trace), guess: this.#session.guess }, tally);
    return operation(context, 'import', work, { facts, isPart: true });
  }

  /** Puts and deletes in the order of the lines. @returns the lines that the store refused */
  async #commit(wanted: readonly WantedLine[], session: ImportSession, tally: Tally): Promise<readonly BadLine[]> {
    const bad: BadLine[] = [];
    for (let start = 0, end = 0; start < wanted.length; start = end) {
      const isPut = 'put' in wanted[start]!;
      while (end < wanted.length && 'put' in wanted[end]! === isPut) end += 1;
      const run = wanted.slice(start, end);
      const refused = isPut
        ? await this.#put(run as readonly PutLine[], session, tally)
        : await this.#delete(run as readonly DeletionLine[], session, tally);
      bad.push(...refused);
      if (this.#context.stopOnError === true && refused.length > 0) break;
    }
    return bad;
  }

  async #delete(lines: readonly DeletionLine[], session: ImportSession, tally: Tally): Promise<readonly BadLine[]> {
    const groups = lines.map(({ deletes }) => deletes.map((key) => ({ kind: 'delete' as const, key })));
    const results = await commitEach(groups, session, this.#context.stopOnError === true);
    return results.flatMap((result, index) => {
      if (result instanceof FhirError) return [badLine(lines[index]!.line, result)];
      const deleted = result.filter((one) => one.kind === 'delete' && one.versionId !== null).length;
      tally.deleted += deleted;
      this.#hasWritten ||= deleted > 0;
      return [];
    });
  }

  async #put(puts: readonly PutLine[], session: ImportSession, tally: Tally): Promise<readonly BadLine[]> {
    const wanted = puts.map(({ put }) => put);
    let plans = await planPuts(wanted, new Set(), session, true);
    const guesses = plans.some((plan) => plan.kind === 'write' && plan.guessed);
    let results: readonly (readonly WriteResult[] | FhirError)[] | undefined;
    if (guesses) results = await commitGuessed(plans, session);
    if (results === undefined) {
      if (guesses) plans = await planPuts(wanted, new Set(), session);
      results = await commitEach(groupsOf(plans), session, this.#context.stopOnError === true);
    }
    const lines = puts.flatMap(({ line }, index) => (plans[index]!.kind === 'write' ? [line] : []));
    const refused: BadLine[] = [];
    results.forEach((result, index) => {
      const line = lines[index]!;
      if (result instanceof FhirError) refused.push(badLine(line, result));
      else if (result[0]?.kind === 'put' && result[0].created) tally.created++;
      else tally.updated++;
    });
    this.#hasWritten ||= tally.created + tally.updated > 0;
    // After a stop, lines after the bad one were not examined.
    const end = this.#context.stopOnError === true ? (refused[0]?.line ?? Infinity) : Infinity;
    tally.unchanged += plans.filter((plan, index) => plan.kind === 'unchanged' && puts[index]!.line < end).length;
    return refused;
  }

  #progress(): NdjsonProgress {
    const { created, updated, unchanged } = this.#total;
    return {
      lines: this.#done.lines,
      imported: created + updated + unchanged,
      failed: this.#failed,
      bytes: this.#done.bytes,
    };
  }
}

function targetsOf(wanted: WantedLine): AuditTarget[] {
  if ('put' in wanted) return [{ ...wanted.put.key, interaction: 'update' }];
  return wanted.deletes.map((key) => ({ ...key, interaction: 'delete' }));
}

function badLine(line: number, { code, message }: FhirError): BadLine {
  return { line, reason: { code, message } };
}

function maxLineBytes(context: NdjsonContext): number {
  return Math.min(positive('maxLineBytes', context), MAX_RESOURCE_BYTES);
}

function positive(name: keyof typeof DEFAULTS, context: NdjsonContext): number {
  const value = context[name] ?? DEFAULTS[name];
  assertWholeNumber(name, value, 1);
  return value;
}

/** A batch that is being written. */
interface QueuedBatch {
  readonly keys: ReadonlySet<string>;
  readonly bytes: number;
  readonly done: Promise<void>;
}

/**
 * Writes batches in order, a few at once: the process prepares the rows of some while the database writes those of
 * another. A batch waits for earlier batches with the same resources; other batches may overtake it.
 */
class BatchQueue {
  /** In order; each settles after the earlier ones. */
  #open: readonly QueuedBatch[] = [];
  readonly #mostBytes: number;
  #hasFailed = false;

  /** @param mostBytes more than two batches are in progress only if they have at most this many bytes together */
  constructor(mostBytes: number) {
    this.#mostBytes = mostBytes;
  }

  /**
   * Starts a batch. Resolves when there is room for another one.
   *
   * @param keys the resources that it concerns; undefined: it is written alone
   * @param write receives two promises: the end of all earlier batches, and the end of the last batch that it must
   * follow
   * @throws the error of this batch, or of an earlier one
   */
  async start(
    keys: ReadonlySet<string> | undefined,
    bytes: number,
    write: (before: Promise<void>, concerned: Promise<void>) => Promise<void>,
  ): Promise<void> {
    if (keys === undefined || this.#hasFailed) await this.settle();
    const done = write(endOf(this.#open.at(-1)), endOf(this.#lastOf(keys)));
    if (keys === undefined) return done;
    // The callers that wait for the import receive the failure.
    done.catch(() => (this.#hasFailed = true));
    this.#open = [...this.#open, { keys, bytes, done }];
    while (this.#isFull) {
      await this.#open[0]!.done;
      this.#open = this.#open.slice(1);
    }
  }

  /** Waits for all batches. @throws the error of one of them */
  async settle(): Promise<void> {
    const last = this.#open.at(-1);
    this.#open = [];
    await last?.done;
  }

  get #isFull(): boolean {
    const bytes = this.#open.reduce((sum, batch) => sum + batch.bytes, 0);
    return this.#open.length >= (bytes > this.#mostBytes ? 2 : MOST_BATCHES);
  }

  /** The last batch in progress that has one of these resources. */
  #lastOf(keys: ReadonlySet<string> = new Set()): QueuedBatch | undefined {
    return this.#open.findLast((batch) => [...keys].some((key) => batch.keys.has(key)));
  }
}

function endOf(batch: QueuedBatch | undefined): Promise<void> {
  return batch?.done ?? Promise.resolve();
}

/** Maximum number of batches in progress. */
const MOST_BATCHES = 4;

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
