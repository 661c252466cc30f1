import { deleteMatch, patchMatch, updateMatch } from '../interactions/carry-out-writes.js';
import type { CreateOptions, MatchOptions, UpdateOptions } from './repository.js';
import { type OpenRepository, typeOf, type WrittenResource } from './open-repository.js';
import { auditedParameters } from './search-query.js';

/** The writing interactions with how each ended: `create` may find a resource, `update` may create one. */

export function createResource(
  { withWrite, write }: OpenRepository,
  resource: { readonly resourceType?: unknown },
  { ifNoneExist, profiles }: CreateOptions = {},
): Promise<WrittenResource> {
  return withWrite(
    'create',
    { type: typeOf(resource) },
    (_, session) => write({ interaction: 'create', resource, ifNoneExist }, session),
    profiles,
  );
}

export function updateResource(
  { withWrite, write }: OpenRepository,
  resource: { readonly resourceType?: unknown; readonly id?: string | undefined },
  { ifMatch, ifNoneMatch, profiles }: UpdateOptions = {},
): Promise<WrittenResource> {
  return withWrite(
    'update',
    { type: typeOf(resource), id: resource?.id },
    (_, session) => write({ interaction: 'update', resource, ifMatch, ifNoneMatch }, session),
    profiles,
  );
}

export function patchResource(
  { withWrite, write }: OpenRepository,
  { type, id }: { readonly type: string; readonly id: string },
  operations: unknown,
  { ifMatch, profiles }: MatchOptions = {},
): Promise<WrittenResource> {
  return withWrite(
    'patch',
    { type, id },
    (_, session) => write({ interaction: 'patch', key: { type, id }, operations, ifMatch }, session),
    profiles,
  );
}

export function deleteResource(
  { interact, write }: OpenRepository,
  { type, id }: { readonly type: string; readonly id: string },
  { ifMatch }: MatchOptions = {},
): Promise<void> {
  return interact('delete', { type, id }, async (_, session) => {
    await write({ interaction: 'delete', key: { type, id }, ifMatch }, session);
  });
}

export function updateMatching(
  { withWrite }: OpenRepository,
  resource: { readonly resourceType?: unknown },
  condition: string,
  { ifMatch, profiles }: MatchOptions = {},
): Promise<WrittenResource> {
  const type = typeOf(resource);
  return withWrite(
    'update',
    { type },
    (facts, session) => {
      facts.parameters = auditedParameters(session.store.model, type, condition);
      return updateMatch(resource, { condition, ifMatch }, session);
    },
    profiles,
  );
}

export function patchMatching(
  { withWrite }: OpenRepository,
  type: string,
  condition: string,
  operations: unknown,
  { ifMatch, profiles }: MatchOptions = {},
): Promise<WrittenResource> {
  return withWrite(
    'patch',
    { type },
    (facts, session) => {
      facts.parameters = auditedParameters(session.store.model, type, condition);
      return patchMatch({ type, condition, ifMatch }, operations, session);
    },
    profiles,
  );
}

export function deleteMatching(
  { interact }: OpenRepository,
  type: string,
  condition: string,
  { ifMatch }: MatchOptions = {},
): Promise<void> {
  return interact('delete', { type }, async (facts, session) => {
    facts.parameters = auditedParameters(session.store.model, type, condition);
    const outcome = await deleteMatch({ type, condition, ifMatch }, session);
    if (outcome?.status !== 'deleted') return;
    const { id } = outcome.key;
    facts.targets = [{ type, id, ...(outcome.versionId === null ? {} : { versionId: outcome.versionId }) }];
  });
}
