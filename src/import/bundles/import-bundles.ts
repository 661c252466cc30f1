import { FhirError } from '../../fhir/error.js';
import { observed } from '../../telemetry/observed.js';
import { abortable } from '../abortable.js';
import { partlyWritten } from '../write/commit-each.js';
import { BundlesRun } from './bundles-run.js';
import type { BundlesContext, BundleSource, BundlesResult } from './bundles-types.js';

export type { BadBundle, BundlesContext, BundleSource, BundlesResult } from './bundles-types.js';

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
