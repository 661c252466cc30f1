import type { Bundle, BundleEntry } from '@medplum/fhirtypes';
import { readsAll } from '../../access/decide.js';
import { trimBaseUrl } from '../../fhir/reference.js';
import type { CallerExchange } from './exchange.js';

/**
 * The URL of an administrative route: `/admin` is next to a base that ends in `/fhir/R4`, otherwise below the base.
 *
 * @param segments not encoded yet
 */
export function adminUrl(baseUrl: string, ...segments: readonly string[]): string {
  const base = (trimBaseUrl(baseUrl) ?? baseUrl).replace(/\/fhir\/R4$/, '');
  return [base, 'admin', ...segments.map(encodeURIComponent)].join('/');
}

/**
 * The URL under which the caller of the exchange reads a member. FHIR's own URL leads only into the caller's project,
 * and only those who read every membership of it.
 */
export function memberUrl({ settings, caller }: CallerExchange, project: string, id: string): string {
  const { baseUrl, routes } = settings;
  const isOwn = project === caller.project && readsAll(caller, 'ProjectMembership');
  return (isOwn && routes.has('read')) || !routes.has('admin')
    ? `${trimBaseUrl(baseUrl)}/ProjectMembership/${id}`
    : adminUrl(baseUrl, 'projects', project, 'members', id);
}

/**
 * A page of administrative resources whose URLs can be followed as they are.
 *
 * @param address the URL of the search, without parameters
 * @param urlOf the URL of a match
 */
export function withAddresses(found: Bundle, address: string, urlOf: (id: string) => string): Bundle {
  const link = found.link?.map(({ relation, url }) => ({ relation, url: `${address}${url.replace(/^[^?]*/, '')}` }));
  const entry = found.entry?.map((one): BundleEntry =>
    one.search?.mode === 'match' ? { fullUrl: urlOf(one.resource!.id!), ...one } : one,
  );
  return { ...found, ...(link && { link }), ...(entry && { entry }) };
}
