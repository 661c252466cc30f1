import { type ErrorCode, FhirError, maskError } from '../../fhir/error.js';
import { assertWholeNumber } from '../../fhir/whole-number.js';
import { observed } from '../../telemetry/with-telemetry.js';
import { abortable, type ImportContext, type ImportSession, openSession } from '../session.js';
import { importWith, runContent, type RunImport } from '../bundle/import-bundle.js';
import { readBundle } from '../entries/bundle-entries.js';
import { concernsAll, type ImportResult } from '../entries/entry-outcome.js';
import { partlyWritten } from '../write.js';
import { Line, type PlaceInLine } from './place-in-line.js';

/** Bundles as parsed JSON, one after the other. */
export type BundleSource = Iterable<object> | AsyncIterable<object>;

/** The context of an import of many Bundles. */
export interface BundlesContext extends ImportContext {
  /**
   * Called for each Bundle, in order, with its result or with the error why nothing of it was imported. An error thrown
   * here ends the import.
   *
   * @param position of the Bundle in the source, from 0
   */
  readonly onResult?: ((result: ImportResult | FhirError, position: number) => void) | undefined;
  /** Ends at the first Bundle that fails; earlier ones are kept, later ones are not imported. Default false. */
  readonly stopOnError?: boolean | undefined;
  /** Maximum number of failed Bundles described in the result; all are counted. Default 1000. */
  readonly maxErrors?: number | undefined;
}

/** A refused Bundle: nothing of it was imported. */
export interface BadBundle {
  /** Its position in the source, from 0. */
  readonly bundle: number;
  readonly reason: { readonly code: ErrorCode; readonly message: string };
}

/** The result of an import of many Bundles. */
export interface BundlesResult {
  /** Bundles read, failed ones included. */
  readonly bundles: number;
  readonly created: number;
  /** Resources with a new version. */
  readonly updated: number;
  readonly deleted: number;
  /** Resources with unchanged content, and conditional creates with a match. */
  readonly unchanged: number;
  /** Entries of batches that could not be processed; `onResult` has their outcome. */
  readonly failed: number;
  /** Refused Bundles: nothing of them was imported. */
  readonly refused: number;
  /** The first refused Bundles, in order. */
  readonly errors: readonly BadBundle[];
  /** True when a failed Bundle ended the import (`stopOnError`). */
  readonly stopped: boolean;
}

/**
 * Imports many transaction and batch Bundles into the caller's project, each as `importBundle` does: a transaction is
 * one commit, and a failed transaction writes nothing and does not stop the others.
 *
 * The result is the same as importing one after the other. While a Bundle is written, the next ones are prepared,
 * unless they depend on an earlier one. With `stopOnError` or `requireAudit`, and in imports by members, each waits for
 * the one before. The source is read only as fast as the store writes, at most four Bundles at once, or two with more
 * than 1,500 entries together, so memory stays bounded for any number.
 *
 * @param bundles parsed JSON. Parse JSON text with `parseJson`, which keeps the digits of decimals.
 * @throws FhirError `unauthenticated` - no caller
 * @throws FhirError `invalid` - the source is not iterable, or a limit is not a positive number
 * @throws FhirError `aborted`, `unavailable`, `corrupt` - earlier Bundles are kept; `details.unknown` if they, or the
 * last ones, may have written something
 * @throws any error of the source
 *
 * @example
 * const texts = ['ann.json', 'bob.json'].map((file) => readFileSync(file, 'utf8'));
 * await importBundles(texts.map((text) => parseJson(text)), { store, caller: systemCaller('clinic') });
 */
export function importBundles(bundles: BundleSource, context: BundlesContext): Promise<BundlesResult> {
  return observed(context.store, 'import', {}, () => runBundles(bundles, context));
}

async function runBundles(bundles: BundleSource, context: BundlesContext): Promise<BundlesResult> {
  const run = new BundlesRun(context);
  try {
    for await (const bundle of abortable(iterate(bundles), context.signal)) {
      await run.add(bundle);
      if (run.stopped) break;
    }
    await run.settle();
  } catch (error) {
    // Nothing is written after the import has failed.
    await run.settle().catch(() => undefined);
    throw error instanceof FhirError && run.hasWritten ? partlyWritten(error) : error;
  }
  return run.result();
}

function iterate(bundles: BundleSource): AsyncIterator<object> | Iterator<object> {
  if (typeof bundles === 'object' && bundles !== null) {
    if (Symbol.asyncIterator in bundles) return bundles[Symbol.asyncIterator]();
    if (Symbol.iterator in bundles) return bundles[Symbol.iterator]();
  }
  throw new FhirError('invalid', 'The Bundles must come as an iterable of parsed JSON');
}

const MAX_ERRORS = 1000;

const COUNTED = ['created', 'updated', 'deleted', 'unchanged', 'failed'] as const;

/** The state of an import of many Bundles, a few of which are in progress. */
class BundlesRun {
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
    this.#session = openSession({ ...context, call: { signal: context.signal } });
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
