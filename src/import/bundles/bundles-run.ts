import { FhirError, maskError } from '../../fhir/error.js';
import { assertWholeNumber } from '../../fhir/whole-number.js';
import { importWith, type RunImport, runContent } from '../bundle/import-bundle.js';
import { readBundle } from '../entries/bundle-entries.js';
import { concernsAll } from '../entries/entry-faults.js';
import type { ImportResult } from '../entries/entry-outcome.js';
import { type ImportSession, openSession } from '../session.js';
import type { BadBundle, BundlesContext, BundlesResult } from './bundles-types.js';
import { Line, type PlaceInLine } from './place-in-line.js';

const MAX_ERRORS = 1000;

const COUNTED = ['created', 'updated', 'deleted', 'unchanged', 'failed'] as const;

/** The state of an import of many Bundles, a few of which are in progress. */
export class BundlesRun {
  stopped = false;
  readonly #context: BundlesContext;
  readonly #session: ImportSession;
  readonly #maxErrors: number;
  readonly #counts = { created: 0, updated: 0, deleted: 0, unchanged: 0, failed: 0 };
  readonly #errors: BadBundle[] = [];
  #bundles = 0;
  #refused = 0;
  readonly #line = new Line();
  /** Settles when all results so far are reported. */
  #reported: Promise<void> = Promise.resolve();
  #hasFailed = false;

  constructor(context: BundlesContext) {
    if (context.requireAudit === true && context.audit === undefined) {
      throw new FhirError('invalid', 'requireAudit needs audit');
    }
    this.#maxErrors = context.maxErrors ?? MAX_ERRORS;
    assertWholeNumber('maxErrors', this.#maxErrors, 1);
    this.#context = context;
    this.#session = openSession(context);
  }

  /** True if a Bundle has changed something. */
  get hasWritten(): boolean {
    const { created, updated, deleted } = this.#counts;
    return created + updated + deleted > 0;
  }

  /** Starts a Bundle. Resolves when there is room for the next. @throws the error that ends the import */
  async add(bundle: object): Promise<void> {
    if (this.#hasFailed) await this.#reported;
    const position = this.#bundles++;
    const place = this.#line.enter(sizeOf(bundle));
    const result = this.#import(bundle, place).finally(() => place.end());
    const reported = this.#report(result, position, this.#reported).finally(() => place.leave());
    // The callers that wait for the import receive the failure.
    reported.catch(() => (this.#hasFailed = true));
    this.#reported = reported;
    if (this.#isAlone) return reported;
    await place.handedOver;
    await this.#line.room();
  }

  /** Waits until all Bundles have ended. @throws the error that ends the import */
  settle(): Promise<void> {
    return this.#reported;
  }

  result(): BundlesResult {
    const { stopped } = this;
    return { bundles: this.#bundles, ...this.#counts, refused: this.#refused, errors: this.#errors, stopped };
  }

  /**
   * True if each Bundle must end before the next begins: the next may depend on its outcome or on the caller's rights
   * after it, and a time limit must not include the wait for other Bundles.
   */
  get #isAlone(): boolean {
    const { caller, stopOnError, requireAudit, limits } = this.#context;
    return stopOnError === true || requireAudit === true || caller?.kind === 'member' || limits !== undefined;
  }

  /** @returns the error of a Bundle that is refused */
  async #import(bundle: object, place: PlaceInLine): Promise<ImportResult | FhirError> {
    const run: RunImport = async (_, context, trace) => {
      const session = { ...openSession(context, trace), guess: this.#session.guess };
      const content = await readBundle(context.store.model, bundle, session.baseUrl, session.options);
      const store = place.storeFor(session.store, content, session.assignIds);
      return runContent(content, { ...session, store });
    };
    try {
      return await importWith(bundle, this.#context, run, { isPart: true });
    } catch (error) {
      if (concernsAll(error)) throw error;
      return maskError(error);
    }
  }

  /** Counts a result after those of the Bundles before it. */
  async #report(imported: Promise<ImportResult | FhirError>, position: number, before: Promise<void>): Promise<void> {
    // A failure is reported after the results of the earlier Bundles.
    const [earlier, own] = await Promise.allSettled([before, imported]);
    if (own.status === 'fulfilled') this.#count(own.value, position);
    if (earlier.status === 'rejected') throw earlier.reason;
    if (own.status === 'rejected') throw own.reason;
    this.#context.onResult?.(own.value, position);
  }

  #count(result: ImportResult | FhirError, position: number): void {
    if (!(result instanceof FhirError)) {
      for (const name of COUNTED) this.#counts[name] += result[name];
      return;
    }
    this.#refused += 1;
    this.stopped ||= this.#context.stopOnError === true;
    const { code, message } = result;
    if (this.#errors.length < this.#maxErrors) this.#errors.push({ bundle: position, reason: { code, message } });
  }
}

/** The number of entries of an unchecked Bundle. */
function sizeOf(bundle: object): number {
  const { entry } = bundle as { readonly entry?: unknown };
  return Array.isArray(entry) ? entry.length : 0;
}
