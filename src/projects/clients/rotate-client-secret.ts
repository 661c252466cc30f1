import type { ClientApplication } from '@medplum/fhirtypes';
import { audited } from '../../access/audited.js';
import { FhirError } from '../../fhir/error.js';
import { createSecret, hashSecret, type SecretHash } from './client-secret.js';
import type { ProjectContext, ResourceRef } from '../session/project-context.js';
import { authored, nameToId, openProject, type ProjectSession } from '../session/project-session.js';
import { commitPlanned, type PlannedWrites } from '../session/retry-conflicts.js';

export interface RotationOptions {
  /** Let the secret so far work beside the new one, until the next rotation. Default false: it ends at once. */
  readonly keepPrevious?: boolean | undefined;
}

/**
 * Gives a ClientApplication a new secret, which is given out this once and stored only as a hash.
 *
 * @throws FhirError `forbidden` - the caller is no administrator of the project
 * @throws FhirError `not-found` - no such client in the project
 *
 * @example
 * const { secret } = await rotateClientSecret(project, client, { store, caller }, { keepPrevious: true });
 */
export function rotateClientSecret(
  project: ResourceRef,
  client: ResourceRef,
  context: ProjectContext,
  options: RotationOptions = {},
): Promise<{ readonly secret: string }> {
  return audited(context, 'rotate-secret', async (facts) => {
    const session = await openProject(project, context, 'update');
    const id = nameToId(client, 'ClientApplication');
    if (id === undefined) {
      throw new FhirError('invalid', 'The client must be named by its id, ClientApplication/id or a Reference');
    }
    facts.targets = [{ type: 'ClientApplication', id }];
    const secret = createSecret();
    const hash = await hashSecret(secret);
    await commitPlanned(session.guard, () => planRotation(session, id, hash, options), session.options);
    return { secret };
  });
}

async function planRotation(
  session: ProjectSession,
  id: string,
  hash: SecretHash,
  options: RotationOptions,
): Promise<PlannedWrites> {
  const key = { type: 'ClientApplication', id };
  // Past the guard, which hides the secret so far.
  const [found] = await session.store.read([{ ...key, project: session.project }], session.options);
  if (found?.status !== 'found') throw new FhirError('not-found', `ClientApplication/${id} was not found`);
  const { secret: previous, retiringSecret: _, ...rest } = found.resource as ClientApplication;
  const retiring = options.keepPrevious === true && previous !== undefined ? { retiringSecret: previous } : {};
  const resource = authored(session, { ...rest, secret: hash, ...retiring });
  return { writes: [{ kind: 'put', key, resource, expect: { version: found.versionId } }] };
}
