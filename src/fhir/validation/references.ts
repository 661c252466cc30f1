import type { ElementDefinition } from '../model/definition-types.js';
import { parseReference, referenceStub } from '../reference.js';
import { isJsonObject, type JsonObject } from '../resource.js';
import type { ElementRule, ObjectRule, Walk } from './walk.js';

/**
 * Checks the content and the target type of a Reference. See https://hl7.org/fhir/R4/references.html.
 *
 * The target type is checked wherever the reference gives one: in a relative or RESTful URL, in the contained resource
 * it names, in `Reference.type`. The existence of external targets is not checked.
 */
export function referenceRule({ targets }: ElementDefinition): ObjectRule {
  const allowed = targets === undefined ? undefined : new Set(targets);
  const isAllowed = (type: string): boolean => allowed === undefined || allowed.has(type);
  const notAllowed = `a reference to one of ${targets?.join(', ')} is expected here`;

  return (reference, walk) => {
    const { reference: text, type } = reference;
    if (!CONTENT.some((name) => reference[name] !== undefined)) {
      walk.findings.error('invariant', 'a Reference must have a reference, an identifier or a display');
    }
    const found = typeof text === 'string' ? targetType(text, walk) : undefined;
    if (found !== undefined && !isAllowed(found)) walk.findings.error('value', notAllowed, 'reference');
    if (typeof type !== 'string' || !walk.model.isResourceType(type)) return;
    if (!isAllowed(type)) walk.findings.error('value', notAllowed, 'type');
    else if (found !== undefined && found !== type) {
      walk.findings.error('value', 'type and reference must name the same type', 'type');
    }
  };
}

const CONTENT = ['reference', 'identifier', 'display', 'extension', '_reference', '_display'] as const;

/** A canonical or other URI may name a contained resource too; only a canonical that starts with `#` must. */
export function canonicalRule(type: 'canonical' | 'uri' | 'url'): ElementRule {
  return (text: string, walk: Walk) => {
    if (!text.startsWith('#')) return;
    const { scope } = walk;
    if (text.length > 1 && scope.contained.has(text.slice(1))) scope.linked.add(text.slice(1));
    else if (type === 'canonical') containedType(text.slice(1), walk);
  };
}

/** Returns the target type, if the reference gives one; reports malformed references. */
function targetType(text: string, walk: Walk): string | undefined {
  const parsed = parseReference(text);
  switch (parsed?.kind) {
    case 'local':
      if (walk.model.isResourceType(parsed.type)) return parsed.type;
      walk.findings.error('value', 'the reference names a resource type that does not exist', 'reference');
      return undefined;
    case 'contained':
      return containedType(parsed.id, walk, 'reference');
    case 'container':
      return containedType('', walk, 'reference');
    case 'foreign': {
      const type = referenceStub({ reference: text })?.resourceType;
      return type !== undefined && walk.model.isResourceType(type) ? type : undefined;
    }
    case 'urn':
      return undefined;
    case undefined:
      return conditionalType(text, walk);
  }
}

/** @param id empty for the container itself */
function containedType(id: string, { scope, findings }: Walk, below?: string): string | undefined {
  if (id === '' && scope.inside !== undefined) {
    if (typeof scope.inside.id === 'string') scope.linked.add(scope.inside.id);
    return scope.type;
  }
  const type = scope.contained.get(id);
  if (type === undefined)
    findings.error('not-found', 'the contained resource referred to does not exist (ref-1)', below);
  else scope.linked.add(id);
  return type;
}

/**
 * `Patient?identifier=…` is resolved when the transaction is processed; `%patient` in an AccessPolicy is replaced by
 * each member's own value.
 */
function conditionalType(text: string, walk: Walk): string | undefined {
  if (walk.scope.type === 'AccessPolicy' && POLICY_PARAMETER.test(text)) return undefined;
  const type = text.slice(0, Math.max(0, text.indexOf('?')));
  if (walk.conditionalReferences && walk.model.isResourceType(type)) return type;
  walk.findings.error('value', 'reference must be Type/id, #id, or an absolute URL or URN', 'reference');
  return undefined;
}

/** The forms of policy parameters in `compartment`: `%name`, `%name.id`, `Type/%name.id`. */
const POLICY_PARAMETER = /^(?:[A-Z][A-Za-z]*\/)?%[A-Za-z_][A-Za-z0-9_-]*(?:\.id)?$/;

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
