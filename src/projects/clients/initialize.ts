import type { ClientApplication, Project, ProjectMembership } from '@medplum/fhirtypes';
import { type MemberCaller, serverCaller } from '../../access/caller.js';
import { guardStore } from '../../access/guarded-store.js';
import { signIn } from '../../access/sign-in/sign-in.js';
import { AUDIT_LOG_PROJECT } from '../../audit/log/chain.js';
import { FhirError, inDoubt, isInDoubt, maskError } from '../../fhir/error.js';
import type { FhirModel } from '../../fhir/model/fhir-model.js';
import { referenceOf } from '../../fhir/reference.js';
import type { Stored } from '../../fhir/resource.js';
import { randomId, randomSecret } from '../../platform/crypto.js';
import { not } from '../../search/criteria/criteria.js';
import type { ResourceStore } from '../../store/store.js';
import { BodyReader } from '../body/body-reader.js';
import { copyWritten } from '../session/project-session.js';
import { hashSecret } from './client-secret.js';
import { clientMembership } from './create-client.js';

/** An audit log may have begun before: it has a project of its own. */
const OTHER_THAN_AUDIT_LOG = not({ kind: 'id', ids: [AUDIT_LOG_PROJECT] });

/** Options of `initialize`; all have defaults. */
export interface InitializeOptions {
  /** Name of the project. Default `Super Admin`. */
  readonly name?: string | undefined;
}

/** The first resources of a new store, as private copies without secrets. */
export interface Initialized {
  /** The super-admin project: its members administer all projects. */
  readonly project: Stored<Project>;
  /** The client of the operator who set the store up. */
  readonly client: Stored<ClientApplication>;
  readonly membership: Stored<ProjectMembership>;
  /** The client's secret, shown only once; only its hash is stored. */
  readonly secret: string;
  /** The client, signed in. */
  readonly caller: MemberCaller;
}

/**
 * Creates the first project of an empty store, a super-admin project, with a ClientApplication as its administrator.
 *
 * If it is called twice, or by two processes at once, it succeeds once. If you lose the secret, `rotateClientSecret({
 * project, client }, { store, caller: systemCaller(project) })` creates another.
 *
 * @throws FhirError `conflict` - the store has a project already
 * @throws FhirError `invalid` - the name
 * @throws FhirError `unavailable` - if the project may have been created all the same, `details` has `unknown: true`
 * and the `project` and `client` to rotate the secret for
 *
 * @example
 * const { project, client, secret, caller } = await initialize(store, { name: 'Operations' });
 */
export async function initialize(store: ResourceStore, options: InitializeOptions = {}): Promise<Initialized> {
  const name = nameOf(store.model, options);
  const id = randomId();
  const secret = randomSecret();
  const project: Project = { resourceType: 'Project', id, name, active: true, superAdmin: true, strictMode: true };
  const client: ClientApplication = {
    resourceType: 'ClientApplication',
    id: randomId(),
    name: `${name} Default Client`,
    secret: await hashSecret(secret),
  };
  const membership = clientMembership(id, client, { admin: true });
  const resources = [project, client, membership];
  const [, ...results] = await guardStore(store, serverCaller(id))
    .commit([
      { kind: 'assert-no-match', query: { type: 'Project', criteria: OTHER_THAN_AUDIT_LOG } },
      ...resources.map((resource) => ({
        kind: 'put' as const,
        key: { type: resource.resourceType, id: resource.id! },
        resource,
        expect: { version: null },
      })),
    ])
    .catch((error: unknown) => {
      throw isInDoubt(error) ? withNames(maskError(error), project, client) : explainConflict(error);
    });
  const caller = await signIn(store, { membership: membership.id! }, { issuedAt: 'now' }).catch((error: unknown) => {
    throw withNames(inDoubt(maskError(error), 'the store is set up all the same'), project, client);
  });
  return {
    project: copyWritten(results[0], {}),
    client: copyWritten(results[1], {}),
    membership: copyWritten(results[2], {}),
    secret,
    caller,
  };
}

function nameOf(model: FhirModel, options: InitializeOptions): string {
  const reader = new BodyReader(model);
  const name = reader.text({ ...options }, 'name', '') ?? 'Super Admin';
  reader.assertGood('The store cannot be set up');
  return name;
}

/** Adds the ids needed to rotate a secret that was lost with the answer. */
function withNames(error: FhirError, project: Project, client: ClientApplication): FhirError {
  return error.with({
    details: { project: referenceOf(project), client: referenceOf(client) },
  });
}

function explainConflict(error: unknown): unknown {
  if (!(error instanceof FhirError) || error.code !== 'conflict') return error;
  return new FhirError('conflict', 'This store has a project already; only an empty store can be initialized', {
    cause: error,
  });
}
