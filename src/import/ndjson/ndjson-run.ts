import { assertWholeNumber } from '../../fhir/whole-number.js';
import { FhirError, maskError } from '../../fhir/error.js';
import { tracedBy } from '../../access/access-trace.js';
import { recorded } from '../../access/audited.js';
import { underLimits } from '../../access/turns/under-limits.js';
import { assertNotAborted } from '../../store/guards.js';
import { MAX_RESOURCE_BYTES } from '../../store/json-text.js';
import { checkResource } from '../entries/check-resource.js';
import { commitEach } from '../write/commit-each.js';
import type { BadLine, NdjsonContext, NdjsonProgress, NdjsonResult } from './ndjson-types.js';
import { parseJson } from '../../fhir/json/parse-json.js';
import { planPuts, type WantedPut } from '../write/plan-puts.js';
import { type ImportSession, openSession } from '../session.js';
import { nextTurn } from '../../platform/timers.js';
import { randomId } from '../../platform/node-crypto.js';
import { type Line, LineSplitter } from './split-lines.js';

const DEFAULTS = { batchLines: 200, batchBytes: 4 << 20, maxLineBytes: MAX_RESOURCE_BYTES, maxErrors: 1000 } as const;

/** A line to be stored. */
interface WantedLine {
  readonly line: number;
  readonly put: WantedPut;
}

/** The state of one NDJSON import: the current batch, and the counts so far. */
export class NdjsonRun {
  readonly splitter: LineSplitter;
  bytes = 0;
  stopped = false;
  readonly #session: ImportSession;
  readonly #context: NdjsonContext;
  readonly #batchLines: number;
  readonly #batchBytes: number;
  readonly #maxErrors: number;
  /** The lines of the current batch to be stored, and the errors of the others, in order of lines. */
  #puts: WantedLine[] = [];
  #bad: BadLine[] = [];
  #heldLines = 0;
  #heldBytes = 0;
  #lines = 0;
  #created = 0;
  #updated = 0;
  #unchanged = 0;
  #failed = 0;
  readonly #errors: BadLine[] = [];

  constructor(context: NdjsonContext) {
    this.#session = openSession(context);
    this.#context = context;
    this.#batchLines = positive('batchLines', context);
    this.#batchBytes = positive('batchBytes', context);
    this.#maxErrors = positive('maxErrors', context);
    this.splitter = new LineSplitter(maxLineBytes(context));
  }

  /** @returns true when the batch is full */
  add({ number, bytes }: Line): boolean {
    this.#lines = number;
    this.#heldLines++;
    this.#heldBytes += bytes?.length ?? 0;
    try {
      const put = readLine(bytes, this.#context);
      if (put !== undefined) this.#puts.push({ line: number, put });
    } catch (error) {
      this.#bad.push(badLine(number, maskError(error)));
      if (this.#context.stopOnError === true) return true;
    }
    return this.#heldLines >= this.#batchLines || this.#heldBytes >= this.#batchBytes;
  }

  /** Commits the batch, reports it, and yields to the event loop. */
  async flush(): Promise<void> {
    assertNotAborted(this.#session.options);
    const puts = this.#puts;
    const bad = this.#bad;
    this.#puts = [];
    this.#bad = [];
    this.#heldLines = 0;
    this.#heldBytes = 0;

    if (puts.length > 0) bad.push(...(await this.#writeAudited(puts)));
    bad.sort((a, b) => a.line - b.line);
    if (this.#context.stopOnError === true && bad.length > 0) {
      this.stopped = true;
      bad.length = 1;
    }
    this.#failed += bad.length;
    this.#errors.push(...bad.slice(0, this.#maxErrors - this.#errors.length));
    this.#context.onProgress?.(this.#progress());
    await nextTurn();
  }

  /** A batch has changed something. */
  get hasWritten(): boolean {
    return this.#created + this.#updated > 0;
  }

  result(): NdjsonResult {
    return {
      ...this.#progress(),
      created: this.#created,
      updated: this.#updated,
      unchanged: this.#unchanged,
      errors: this.#errors,
      stopped: this.stopped,
    };
  }

  /** Each batch has a record of its own, so that records are bounded and a killed import leaves those of its commits. */
  #writeAudited(puts: readonly WantedLine[]): Promise<readonly BadLine[]> {
    const context = this.#context;
    return recorded(context, 'import', (facts) => {
      const trace = tracedBy(context, facts, context.baseUrl);
      if (trace !== undefined) facts.targets = puts.map(({ put }) => ({ ...put.key, interaction: 'update' }));
      facts.results = puts.length;
      return underLimits(context, (bounded) => this.#commit(puts, openSession(bounded, trace)));
    });
  }

  /** @returns the lines that the store refused */
  async #commit(puts: readonly WantedLine[], session: ImportSession): Promise<readonly BadLine[]> {
    const plans = await planPuts(
      puts.map(({ put }) => put),
      new Set(),
      session,
    );
    const writes = plans.flatMap((plan, index) =>
      plan.kind === 'write' ? [{ line: puts[index]!.line, group: [plan.write] }] : [],
    );
    const results = await commitEach(
      writes.map(({ group }) => group),
      session,
      this.#context.stopOnError === true,
    );
    const refused: BadLine[] = [];
    results.forEach((result, index) => {
      const { line } = writes[index]!;
      if (result instanceof FhirError) refused.push(badLine(line, result));
      else if (result[0]?.kind === 'put' && result[0].created) this.#created++;
      else this.#updated++;
    });
    // After a stop, lines after the bad one were not examined.
    const end = this.#context.stopOnError === true ? (refused[0]?.line ?? Infinity) : Infinity;
    this.#unchanged += plans.filter((plan, index) => plan.kind === 'unchanged' && puts[index]!.line < end).length;
    return refused;
  }

  #progress(): NdjsonProgress {
    const imported = this.#created + this.#updated + this.#unchanged;
    return { lines: this.#lines, imported, failed: this.#failed, bytes: this.bytes };
  }
}

const UTF8 = new TextDecoder('utf-8', { fatal: true });

/** @returns undefined for a blank line */
function readLine(bytes: Uint8Array | undefined, context: NdjsonContext): WantedPut | undefined {
  if (bytes === undefined) {
    const limit = maxLineBytes(context);
    const hint =
      limit < MAX_RESOURCE_BYTES ? '; raise maxLineBytes to import it' : ', the most that a resource may have';
    throw new FhirError('too-costly', `The line is longer than ${limit} bytes${hint}`);
  }
  let text: string;
  try {
    text = UTF8.decode(bytes);
  } catch (cause) {
    throw new FhirError('invalid', 'The line is not valid UTF-8', { cause });
  }
  if (text.trim() === '') return undefined;
  const resource = checkResource(context.store.model, parseJson(text));
  const { resourceType: type, id } = resource;
  if (id !== undefined) return { key: { type, id }, resource };
  return { key: { type, id: randomId() }, resource, expect: { version: null }, generatedId: true };
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
