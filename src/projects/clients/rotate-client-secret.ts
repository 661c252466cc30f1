import type { ClientApplication } from '@medplum/fhirtypes';
import { FhirError } from '../../fhir/error.js';
import { nameToId, notFound } from '../../fhir/reference.js';
import { randomSecret } from '../../platform/crypto.js';
import { commitPlanned, type PlannedWrites } from '../session/commit-planned.js';
import { type ProjectContext, projectOperation } from '../session/project-context.js';
import { authored, openProject, type ProjectSession } from '../session/project-session.js';
import { hashSecret, type SecretHash, validUntil } from './client-secret.js';
import type { ClientRef } from './update-client.js';

/** The client, and how to replace its secret. */
export interface SecretRotation extends ClientRef {
  /**
   * How long the old secret stays valid, in milliseconds. Default 0: it ends at once. `Infinity`: until the next
   * rotation, which always ends it.
   */
  readonly keepOldFor?: number | undefined;
}

/**
 * Gives a ClientApplication a new secret, which is shown only once and stored as a hash.
 *
 * @throws FhirError `forbidden` - the caller is not an administrator of the project
 * @throws FhirError `not-found` - no such client in the project
 * @throws FhirError `invalid` - the client is not named by an id, or `keepOldFor` is not a number of milliseconds
 *
 * @example
 * const day = 24 * 60 * 60 * 1000;
 * const { secret } = await rotateClientSecret({ project, client, keepOldFor: day }, { store, caller });
 */
export function rotateClientSecret(
  { project, client, keepOldFor = 0 }: SecretRotation,
  context: ProjectContext,
): Promise<{ readonly secret: string }> {
  return projectOperation(context, 'rotate-secret', async (facts, bounded) => {
    const session = await openProject(project, bounded, 'update');
    const id = nameToId(client, 'ClientApplication');
    if (id === undefined) {
      throw new FhirError('invalid', 'The client must be named by its id, ClientApplication/id or a Reference');
    }
    if (typeof keepOldFor !== 'number' || !(keepOldFor >= 0)) {
      throw new FhirError('invalid', 'keepOldFor must be a number of milliseconds, 0 or more');
    }
    facts.targets = [{ type: 'ClientApplication', id }];
    const secret = randomSecret();
    const hash = await hashSecret(secret);
    await commitPlanned(session.guard, () => planRotation(session, id, hash, keepOldFor), session.options);
    return { secret };
  });
}

async function planRotation(
  session: ProjectSession,
  id: string,
  hash: SecretHash,
  keepOldFor: number,
): Promise<PlannedWrites> {
  const key = { type: 'ClientApplication', id };
  // Reads past the guard, which hides the secret.
  const [found] = await session.store.read([{ ...key, project: session.project }], session.options);
  if (found?.status !== 'found') throw notFound(key);
  const { secret: previous, retiringSecret: _, ...rest } = found.resource as ClientApplication;
  const keepsOld = keepOldFor > 0 && previous !== undefined;
  const retiring = keepsOld ? { retiringSecret: validUntil(previous, Date.now() + keepOldFor) } : {};
  const resource = authored(session, { ...rest, secret: hash, ...retiring });
  return { writes: [{ kind: 'put', key, resource, expect: { version: found.versionId } }] };
}
