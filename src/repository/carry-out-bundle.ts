import type { Bundle } from '@medplum/fhirtypes';
import type { AccessTrace } from '../access/access-trace.js';
import { runBundle } from '../import/bundle/import-bundle.js';
import { entryReader } from './entry-reader.js';
import type { RepositoryContext } from './repository-context.js';

/** See https://hl7.org/fhir/R4/http.html#transaction. */
export async function carryOutBundle(
  bundle: Bundle,
  context: RepositoryContext,
  trace: AccessTrace | undefined,
): Promise<Bundle> {
  const { store, caller, signal, baseUrl, extendedMeta, profiles } = context;
  const importing = { store, caller, signal, baseUrl, extendedMeta, profiles, ids: 'assigned' } as const;
  return (await runBundle(bundle, importing, trace, entryReader(context))).bundle;
}
