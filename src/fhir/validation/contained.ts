import { isJsonObject, type JsonObject } from '../resource.js';
import type { Walk } from './walk.js';

/**
 * The rules of contained resources that need the whole container: unique ids, no nested contained resources (dom-2), no
 * version, lastUpdated or security labels (dom-4, dom-5), and a reference between container and contained resource
 * (dom-3). See https://hl7.org/fhir/R4/references.html#contained.
 *
 * @param walk has visited the container and its contained resources
 */
export function checkContainedResources(container: JsonObject, walk: Walk): void {
  if (!Array.isArray(container.contained)) return;
  const { findings } = walk;
  const ids = new Set<unknown>();
  findings.enter('contained');
  container.contained.forEach((resource: unknown, index) => {
    if (!isJsonObject(resource)) return;
    findings.enter(index);
    checkId(resource.id, ids, walk);
    checkOwnRules(resource, walk);
    findings.leave();
  });
  findings.leave();
}

/** @param ids of the contained resources checked so far; this one's id is added */
function checkId(id: unknown, ids: Set<unknown>, { scope, findings }: Walk): void {
  if (id === undefined) return findings.error('required', 'a contained resource must have an id', 'id');
  if (typeof id !== 'string') return;
  if (ids.has(id)) findings.error('duplicate', 'the ids of contained resources must differ', 'id');
  else if (!scope.linked.has(id)) {
    findings.warning(
      'invariant',
      'a contained resource should be referred to by its container, or refer to it as # (dom-3)',
    );
  }
  ids.add(id);
}

function checkOwnRules({ contained, meta }: JsonObject, { findings }: Walk): void {
  if (contained !== undefined) {
    findings.error('invariant', 'a contained resource must not contain others (dom-2)', 'contained');
  }
  if (!isJsonObject(meta)) return;
  findings.enter('meta');
  for (const [name, rule] of FORBIDDEN_META) {
    if (meta[name] !== undefined)
      findings.error('invariant', `a contained resource must not have meta.${name} (${rule})`, name);
  }
  findings.leave();
}

const FORBIDDEN_META = [
  ['versionId', 'dom-4'],
  ['lastUpdated', 'dom-4'],
  ['security', 'dom-5'],
] as const;
