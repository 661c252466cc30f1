import type { AnyResource } from '../fhir/resource.js';
import type { WriteResult } from './store.js';

type PutResult = Extract<WriteResult, { readonly kind: 'put' }>;

/** The result of a put; its resource is made on first access. PERF: most callers of a large commit never read it. */
export function putResultOf(
  { created, versionId, lastUpdated }: Pick<PutResult, 'created' | 'versionId' | 'lastUpdated'>,
  makeResource: () => AnyResource,
): PutResult {
  let resource: AnyResource | undefined;
  return {
    kind: 'put',
    created,
    versionId,
    lastUpdated,
    get resource() {
      return (resource ??= makeResource());
    },
  };
}
