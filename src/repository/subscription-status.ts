import type { Bundle, BundleEntry } from '@medplum/fhirtypes';
import { recordKey } from '../access/write/subscription-write.js';
import { FhirError } from '../fhir/error.js';
import { quote } from '../fhir/messages.js';
import { type AnyResource, isResourceId } from '../fhir/resource.js';
import { MAX_COUNT } from '../interactions/pages.js';
import { FORMAT_PARAMETERS } from '../search/parse/parse-search.js';
import { and, type Criteria, or } from '../search/criteria/criteria.js';
import { stateIn } from '../subscriptions/delivery-state.js';
import { statusEntry } from '../subscriptions/notification.js';
import { type OpenRepository, readResource } from './open-repository.js';
import type { RepositorySession } from './repository.js';

/**
 * The status of Subscriptions that the caller can read, with the number of their events. See
 * http://hl7.org/fhir/uv/subscriptions-backport/OperationDefinition/backport-subscription-status.
 *
 * @param id of one Subscription; undefined: those that `parameters` select by `id` and `status`
 * @throws FhirError `not-found`, `gone` - the Subscription
 * @throws FhirError `too-costly` - more than 1000 Subscriptions
 */
export function subscriptionStatus(
  { context, interact, bundle, baseUrl }: OpenRepository,
  id: string | undefined,
  parameters: URLSearchParams,
): Promise<Bundle> {
  const target = { type: 'Subscription', ...(id === undefined ? {} : { id }) };
  return interact(id === undefined ? 'search' : 'read', target, async (facts, session) => {
    const unknown = [...parameters.keys()].find((name) => !PARAMETERS.has(name) && !FORMAT_PARAMETERS.has(name));
    if (unknown !== undefined) throw new FhirError('invalid', `Unknown parameter ${quote(unknown)} of the operation`);
    const found =
      id === undefined ? await select(session, parameters) : [await readResource({ ...target, id }, session)];
    const { project } = context.caller;
    const keys = found.map((one) => recordKey('Parameters', { project, id: one.id! }));
    const records = keys.length === 0 ? [] : await context.store.read(keys, session.options);
    const entry = found.map((subscription, index): BundleEntry => {
      session.trace?.show(subscription);
      const status = statusEntry({ subscription, state: stateIn(records[index]), baseUrl }, 'query-status');
      return { ...status, search: { mode: 'match' } };
    });
    if (id === undefined) facts.results = entry.length;
    return bundle({
      resourceType: 'Bundle',
      type: 'searchset',
      total: entry.length,
      ...(entry.length === 0 ? {} : { entry }),
    });
  });
}

const PARAMETERS: ReadonlySet<string> = new Set(['id', 'status']);

async function select({ store, options }: RepositorySession, parameters: URLSearchParams): Promise<AnyResource[]> {
  const listed = (name: string): string[] => parameters.getAll(name).flatMap((text) => text.split(','));
  const ids = listed('id').filter(isResourceId);
  const statuses = listed('status').map((code): Criteria => ({
    kind: 'match',
    parameter: 'status',
    test: { kind: 'token', code },
  }));
  const criteria = and([
    ...(parameters.has('id') ? [{ kind: 'id', ids } as const] : []),
    ...(parameters.has('status') ? [or(statuses)] : []),
  ]);
  const { matches } = await store.search({ type: 'Subscription', criteria, limit: MAX_COUNT + 1 }, options);
  if (matches.length <= MAX_COUNT) return matches.map(({ resource }) => resource);
  throw new FhirError('too-costly', `More than ${MAX_COUNT} Subscriptions match; name some by their ids`, {
    details: { limit: 'results', max: MAX_COUNT },
  });
}
