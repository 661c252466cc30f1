import type { ClientApplication } from '@medplum/fhirtypes';
import { type ResourceRef, namedBy, strangerOf } from '../../access/sign-in/find-membership.js';
import type { AuditFacts, AuditOptions } from '../../audit/audit.js';
import { FhirError } from '../../fhir/error.js';
import { idOf } from '../../fhir/reference.js';
import type { LimitedStoreContext } from '../../access/limits/call-limits.js';
import { type InCall, operation } from '../../access/operation.js';
import { fitsHash } from './client-secret.js';
import type { ClientRef } from './update-client.js';

/** A presented secret of a ClientApplication. */
export interface PresentedSecret extends ClientRef {
  readonly secret: string;
}

/**
 * Verifies the secret of a ClientApplication: the current one, or a replaced one that is still valid. Then sign in with
 * `{ project, client }`.
 *
 * For clients that do not exist, are inactive or have no secret it also derives a hash, so that timing reveals nothing,
 * and returns false.
 *
 * @throws FhirError `invalid` - project or client are not named by an id
 *
 * @example
 * if (!(await verifyClientSecret({ project, client, secret }, { store }))) return unauthorized();
 * const caller = await signIn(store, { project, client }, { issuedAt: 'now' });
 */
export async function verifyClientSecret(
  presented: PresentedSecret,
  context: LimitedStoreContext & AuditOptions,
): Promise<boolean> {
  const targets = namedBy(presented);
  const work = async (bounded: InCall<LimitedStoreContext>, facts: AuditFacts): Promise<boolean> => {
    const fits = await verify(presented, bounded);
    if (!fits) facts.failure = 'unauthenticated';
    return fits;
  };
  return operation(context, 'verify-secret', work, { facts: { targets, who: strangerOf(targets) }, isPart: true });
}

async function verify(
  { project, client, secret }: PresentedSecret,
  { store, call }: InCall<LimitedStoreContext>,
): Promise<boolean> {
  const key = {
    project: requireId(project, 'Project'),
    type: 'ClientApplication',
    id: requireId(client, 'ClientApplication'),
  };
  const [found] = await store.read([key], call);
  const application = found?.status === 'found' ? (found.resource as ClientApplication) : undefined;
  const usable = application?.status === undefined || application.status === 'active' ? application : undefined;
  const fits = await Promise.all([usable?.secret, usable?.retiringSecret].map((hash) => fitsHash(secret, hash)));
  return fits.includes(true);
}

function requireId(name: ResourceRef, type: string): string {
  const id = idOf(name, type);
  if (id === undefined)
    throw new FhirError('invalid', `The ${type} must be named by its id, ${type}/id or a Reference`);
  return id;
}
