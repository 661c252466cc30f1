import { FhirError } from '../../../fhir/error.js';
import type { AnyResource } from '../../../fhir/resource.js';
import { secretFields } from '../../../fhir/secret-fields.js';
import type { ReadResult } from '../../../store/stored-resource.js';
import type { Expectation } from '../../../store/write.js';
import type { ServerCaller, SystemCaller } from '../../caller.js';
import type { GuardedWrite } from '../../contract.js';
import { keepSecrets } from './keep-secrets.js';
import { ownProjectWrite } from './own-project-write.js';
import { isSystemBot } from './system-bot.js';
import { outOfReach } from './trusted-reach.js';

type Put = GuardedWrite & { kind: 'put' };

/**
 * True for resources that trusted code may only write based on the stored version: the Project and the Bots of a
 * project's own code, and resources whose omitted secrets stay.
 */
export function restsOnStored(caller: SystemCaller | ServerCaller, write: Put): boolean {
  return isOwnPut(caller, write) || keepsSecrets(write);
}

/**
 * The resource completed with stored secrets and fixed fields, and the version it was based on.
 *
 * @param found the stored resource; required if the write {@link restsOnStored}
 * @throws FhirError `forbidden` - it changes a setting of the operator
 */
export function withWhatStays(
  caller: SystemCaller | ServerCaller,
  write: Put,
  found: ReadResult | undefined,
): { readonly resource: AnyResource; readonly expect: Expectation | undefined } {
  const { resource, expect } = write;
  if (!restsOnStored(caller, write)) return { resource, expect };
  const before = found!;
  const stored = before.status === 'found' ? before : undefined;
  const isOwn = isOwnPut(caller, write);
  const settled = isOwn ? ownPut(write, before, stored?.resource) : resource;
  const kept = keepsSecrets(write) && stored !== undefined ? keepSecrets(stored.resource, settled) : settled;
  const version = stored?.versionId ?? (isOwn ? null : undefined);
  return { resource: kept, expect: expect ?? (version === undefined ? undefined : { version }) };
}

function isOwnPut(caller: SystemCaller | ServerCaller, { key: { type } }: Put): boolean {
  return caller.kind === 'system' && (type === 'Project' || type === 'Bot');
}

function keepsSecrets({ key, keepSecrets }: Put): boolean {
  return keepSecrets === true && secretFields(key.type).length > 0;
}

/** The result of a project's own code writing its Project or a Bot. */
function ownPut({ key, resource }: Put, before: ReadResult, stored: AnyResource | undefined): AnyResource {
  if (key.type === 'Bot') {
    if ([resource, stored].some((one) => one !== undefined && isSystemBot(one))) {
      throw outOfReach('A Bot with "system": true is');
    }
    return resource;
  }
  if (before.status === 'gone') throw outOfReach('Bringing back a deleted Project is');
  const settled = ownProjectWrite(stored, resource);
  if (settled instanceof FhirError) throw settled;
  return settled;
}
