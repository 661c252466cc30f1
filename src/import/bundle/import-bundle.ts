import { type AccessTrace, tracedBy } from '../../access/access-trace.js';
import type { AuditFacts } from '../../audit/audit.js';
import { operation, type OperationOptions } from '../../access/operation.js';
import { copyBundleForHost } from '../../fhir/json/copy-json.js';
import { hasDecimalText } from '../../fhir/json/stringify-json.js';
import { bundleTargets } from './bundle-targets.js';
import { runBatch } from './batch.js';
import type { EntryReader } from '../entry-reader.js';
import { type BundleContent, readBundle } from '../entries/bundle-entries.js';
import type { ImportResult } from '../entries/entry-outcome.js';
import type { ImportContext } from '../import-context.js';
import { type ImportSession, openSession } from '../session.js';
import { runTransaction } from './transaction.js';

/**
 * Imports a transaction or batch Bundle into the caller's project. See https://hl7.org/fhir/R4/http.html#transaction.
 *
 * - A transaction takes effect as a whole, in one commit, or not at all; the entries of a batch are independent.
 *   Both are processed in the order DELETE, POST, PUT, GET.
 * - **Ids are kept.** A POST stores its resource under its own id, otherwise under the id in its `urn:uuid:` or
 *   `…/Type/id` fullUrl, otherwise under a new UUID. If that id exists, the resource becomes its next version, or
 *   nothing is written if the content is the same. So importing a Bundle twice changes nothing the second time. `ids:
 *   'assigned'` gives every POST a new id instead, as a FHIR server does.
 * - **Links** to entries by fullUrl become `Type/id` as stored: in references, elements of type url, uri, oid and uuid
 *   and in narrative links. In elements of type uri, this applies only to `urn:` fullUrls, because canonical URLs also
 *   have that type. Unresolvable links are unchanged.
 * - **Conditions**: `ifNoneExist`, `PUT Type?…`, `DELETE Type?…` (at most one match), `ifMatch`, `PUT` with
 *   `ifNoneMatch: *`, and conditional references, which must match exactly one resource of the Bundle or the project.
 * - GET entries read, vread and search, and see what the Bundle wrote.
 *
 * @param bundle parsed JSON; it is not changed. Parse JSON text with `parseJson`, which keeps the digits of decimals.
 * @throws FhirError `invalid` - no Bundle, or not of type transaction or batch
 * @throws FhirError `unauthenticated` - no caller
 * @throws FhirError of the first faulty entry of a transaction, with one issue per faulty entry
 * (`Bundle.entry[3].resource`) and their positions in `details.entries`, up to 1,000 entries; a batch reports all of
 * them in its response instead
 * @throws FhirError `aborted`, `unavailable` - of a batch, part may have been imported
 *
 * @example
 * const { created } = await importBundle(parseJson(text), { store, caller: systemCaller('clinic') });
 */
export function importBundle(bundle: object, context: ImportContext): Promise<ImportResult> {
  return importWith(bundle, context, runBundle);
}

/** Imports a Bundle. It receives the context with its limits applied. */
export type RunImport = (
  bundle: object,
  context: ImportContext,
  trace: AccessTrace | undefined,
) => Promise<ImportResult>;

/** {@link importBundle}, carried out by the caller. */
export function importWith(
  bundle: object,
  context: ImportContext,
  run: RunImport,
  options?: OperationOptions,
): Promise<ImportResult> {
  const work = async (bounded: ImportContext, facts: AuditFacts): Promise<ImportResult> => {
    const trace = tracedBy(context, facts, context.baseUrl);
    const { model } = context.store;
    if (trace !== undefined) facts.targets = await bundleTargets(model, bundle, undefined, context.baseUrl);
    const result = await run(bundle, bounded, trace);
    if (trace !== undefined) facts.targets = await bundleTargets(model, bundle, result.bundle, context.baseUrl);
    facts.results = result.bundle.entry?.length ?? 0;
    return hasDecimalText(result.bundle) ? { ...result, bundle: await copyBundleForHost(result.bundle) } : result;
  };
  return operation(context, 'import', work, options);
}

/** {@link importBundle} within a larger operation. */
export async function runBundle(
  bundle: object,
  context: ImportContext,
  trace?: AccessTrace,
  reader?: EntryReader,
): Promise<ImportResult> {
  const session = openSession(context, trace, reader);
  return runContent(await readBundle(context.store.model, bundle, session.baseUrl, session.options), session);
}

export function runContent(content: BundleContent, session: ImportSession): Promise<ImportResult> {
  return content.type === 'transaction' ? runTransaction(content, session) : runBatch(content, session);
}
