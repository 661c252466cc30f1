import { assertWholeNumber } from '../../fhir/whole-number.js';
import { FhirError, maskError } from '../../fhir/error.js';
import type { AuditTarget } from '../../audit/audit-record.js';
import type { GuardedKey } from '../../access/contract.js';
import { tracedBy } from '../../access/access-trace.js';
import { recorded } from '../../access/audited.js';
import { underLimits } from '../../access/turns/under-limits.js';
import { assertNotAborted } from '../../store/guards.js';
import { MAX_RESOURCE_BYTES } from '../../store/json-text.js';
import { checkResource } from '../entries/check-resource.js';
import { commitEach } from '../write/commit-each.js';
import { deletionsOf } from './deletion-line.js';
import type { BadLine, NdjsonContext, NdjsonProgress, NdjsonResult } from './ndjson-types.js';
import { parseJson } from '../../fhir/json/parse-json.js';
import { planPuts, type WantedPut } from '../write/plan-puts.js';
import { type ImportSession, openSession } from '../session.js';
import { nextTurn } from '../../platform/timers.js';
import { randomId } from '../../platform/node-crypto.js';
import { type Line, LineSplitter } from './split-lines.js';

const DEFAULTS = { batchLines: 200, batchBytes: 4 << 20, maxLineBytes: MAX_RESOURCE_BYTES, maxErrors: 1000 } as const;

/** What a line asks for: a resource to be stored, or others to be deleted. */
type Wanted = { readonly put: WantedPut } | { readonly deletes: readonly GuardedKey[] };

type WantedLine = { readonly line: number } & Wanted;
type PutLine = Extract<WantedLine, { readonly put: unknown }>;
type DeletionLine = Extract<WantedLine, { readonly deletes: unknown }>;

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
  /** What the lines of the current batch ask for, and the errors of the others, in order of lines. */
  #wanted: WantedLine[] = [];
  #bad: BadLine[] = [];
  #heldLines = 0;
  #heldBytes = 0;
  #lines = 0;
  #created = 0;
  #updated = 0;
  #unchanged = 0;
  #deleted = 0;
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
      const wanted = readLine(bytes, this.#context);
      if (wanted !== undefined) this.#wanted.push({ line: number, ...wanted });
    } catch (error) {
      this.#bad.push(badLine(number, maskError(error)));
      if (this.#context.stopOnError === true) return true;
    }
    return this.#heldLines >= this.#batchLines || this.#heldBytes >= this.#batchBytes;
  }

  /** Commits the batch, reports it, and yields to the event loop. */
  async flush(): Promise<void> {
    assertNotAborted(this.#session.options);
    const wanted = this.#wanted;
    const bad = this.#bad;
    this.#wanted = [];
    this.#bad = [];
    this.#heldLines = 0;
    this.#heldBytes = 0;

    if (wanted.length > 0) bad.push(...(await this.#writeAudited(wanted)));
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
    return this.#created + this.#updated + this.#deleted > 0;
  }

  result(): NdjsonResult {
    return {
      ...this.#progress(),
      created: this.#created,
      updated: this.#updated,
      unchanged: this.#unchanged,
      ...(this.#context.deletions === true ? { deleted: this.#deleted } : {}),
      errors: this.#errors,
      stopped: this.stopped,
    };
  }

  /** Each batch has a record of its own, so that records are bounded and a killed import leaves those of its commits. */
  #writeAudited(wanted: readonly WantedLine[]): Promise<readonly BadLine[]> {
    const context = this.#context;
    return recorded(context, 'import', (facts) => {
      const trace = tracedBy(context, facts, context.baseUrl);
      if (trace !== undefined) facts.targets = wanted.flatMap(targetsOf);
      facts.results = wanted.length;
      return underLimits(context, (bounded) => this.#commit(wanted, openSession(bounded, trace)));
    });
  }

  /** Puts and deletes in the order of the lines. @returns the lines that the store refused */
  async #commit(wanted: readonly WantedLine[], session: ImportSession): Promise<readonly BadLine[]> {
    const bad: BadLine[] = [];
    for (let start = 0, end = 0; start < wanted.length; start = end) {
      const isPut = 'put' in wanted[start]!;
      while (end < wanted.length && 'put' in wanted[end]! === isPut) end += 1;
      const run = wanted.slice(start, end);
      const refused = isPut
        ? await this.#put(run as readonly PutLine[], session)
        : await this.#delete(run as readonly DeletionLine[], session);
      bad.push(...refused);
      if (this.#context.stopOnError === true && refused.length > 0) break;
    }
    return bad;
  }

  async #delete(lines: readonly DeletionLine[], session: ImportSession): Promise<readonly BadLine[]> {
    const groups = lines.map(({ deletes }) => deletes.map((key) => ({ kind: 'delete' as const, key })));
    const results = await commitEach(groups, session, this.#context.stopOnError === true);
    return results.flatMap((result, index) => {
      if (result instanceof FhirError) return [badLine(lines[index]!.line, result)];
      this.#deleted += result.filter((one) => one.kind === 'delete' && one.versionId !== null).length;
      return [];
    });
  }

  async #put(puts: readonly PutLine[], session: ImportSession): Promise<readonly BadLine[]> {
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

function targetsOf(wanted: WantedLine): AuditTarget[] {
  if ('put' in wanted) return [{ ...wanted.put.key, interaction: 'update' }];
  return wanted.deletes.map((key) => ({ ...key, interaction: 'delete' }));
}

const UTF8 = new TextDecoder('utf-8', { fatal: true });

/** @returns undefined for a blank line */
function readLine(bytes: Uint8Array | undefined, context: NdjsonContext): Wanted | undefined {
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
  const deletes = context.deletions === true ? deletionsOf(resource) : undefined;
  if (deletes !== undefined) return { deletes };
  const { resourceType: type, id } = resource;
  if (id !== undefined) return { put: { key: { type, id }, resource } };
  return { put: { key: { type, id: randomId() }, resource, expect: { version: null }, generatedId: true } };
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
