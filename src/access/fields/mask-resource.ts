import type { FhirModel } from '../../fhir/model/fhir-model.js';
import {
  type AnyResource,
  elementsOf,
  INLINE_HEADS,
  INLINE_INSIDE,
  isJsonObject,
  type JsonObject,
  secretFields,
} from '../../fhir/resource.js';
import { oncePer } from '../../platform/collections.js';
import { READ_INTERACTIONS, type AccessRule, type AccessRules } from '../rule.js';
import { covers, type HiddenInside, withoutFields } from './hidden-fields.js';

/**
 * A resource as a caller sees it through the rules that grant it: without the fields that all of them hide.
 *
 * Resources inside it (contained ones, entries of a Bundle) are visible with it, except for fields hidden by every rule
 * for their own type.
 *
 * @param all the caller's rules; undefined for trusted code
 */
export function maskResource(
  resource: AnyResource,
  grants: readonly AccessRule[],
  all: AccessRules | undefined,
): AnyResource {
  return maskInside(withoutFields(resource, hiddenByAll(grants)), all);
}

/** Removes the secrets of a resource and of the resources inside it, for use in expressions. */
export function withoutSecrets(resource: AnyResource): AnyResource {
  return maskInside(withoutFields(resource, secretFields(resource.resourceType)), undefined);
}

/** The stored resource of each masked one, for audit records. */
export type Origins = WeakMap<AnyResource, AnyResource>;

/** The row with the resource as it was masked; the same row where nothing was hidden. */
export function withMasked<Row extends { readonly resource: AnyResource }>(
  row: Row,
  resource: AnyResource,
  origins?: Origins,
): Row {
  if (resource === row.resource) return row;
  origins?.set(resource, row.resource);
  return { ...row, resource };
}

/**
 * Fields that every rule hides. A field that some rule shows is visible.
 *
 * Cached for each list of rules, which may be hundreds.
 */
export function hiddenByAll(rules: readonly AccessRule[]): readonly string[] {
  return rules.length === 1 ? rules[0]!.hidden : hiddenBySeveral(rules);
}

const hiddenBySeveral: (rules: readonly AccessRule[]) => readonly string[] = oncePer(coveredByAll);

function coveredByAll(rules: readonly AccessRule[]): readonly string[] {
  const lists = new Map(rules.map(({ hidden }) => [hidden.join(), hidden]));
  const fields = new Set([...lists.values()].flat());
  return [...fields].filter((field) => [...lists.values()].every((hidden) => coversField(hidden, field)));
}

/** True if a field is one of the named ones, or inside one. */
function coversField(named: readonly string[], field: string): boolean {
  return named.some((other) => covers(other, field));
}

/**
 * Masks the resources inside a resource: contained ones, those of a Bundle's entries, those of Parameters, the output of an
 * AsyncJob.
 *
 * @param all the caller's rules; undefined for trusted code, from which only secrets are kept
 */
export function maskInside(resource: AnyResource, all: AccessRules | undefined): AnyResource {
  return maskHeads(elementsOf(resource), all) as unknown as AnyResource;
}

function maskHeads(resource: JsonObject, all: AccessRules | undefined): JsonObject {
  const { contained, entry, parameter, output } = resource;
  // Almost no resource contains others.
  if (contained === undefined && entry === undefined && parameter === undefined && output === undefined)
    return resource;
  return withChanged(resource, INLINE_HEADS, (value) => maskInline(value, all));
}

function maskInline(value: JsonObject, all: AccessRules | undefined): JsonObject {
  const type = value['resourceType'];
  if (typeof type !== 'string') return withChanged(value, INLINE_INSIDE, (inner) => maskInline(inner, all));
  return maskHeads(elementsOf(withoutFields(value as unknown as AnyResource, hiddenOf(type, all))), all);
}

/** The fields hidden in a resource of the type inside another. */
function hiddenOf(type: string, all: AccessRules | undefined): readonly string[] {
  const rules = all?.rulesFor(type) ?? [];
  return rules.length === 0 ? secretFields(type) : hiddenInsideBy(rules);
}

/**
 * What {@link maskInside} removes, for search parameters that read into resources inside others.
 *
 * @param all the caller's rules; undefined for trusted code
 */
export function hiddenInResources(model: FhirModel, all: AccessRules | undefined): HiddenInside {
  return all === undefined ? hiddenFromAll(model) : hiddenByRules(all);
}

const hiddenFromAll = oncePer((model: FhirModel) => hiddenInsideOf(model, undefined));
const hiddenByRules = oncePer((all: AccessRules) => hiddenInsideOf(all.model, all));

function hiddenInsideOf(model: FhirModel, all: AccessRules | undefined): HiddenInside {
  let ofAny: readonly string[] | undefined;
  return {
    of: (type) => hiddenOf(type, all),
    get ofAny() {
      return (ofAny ??= [
        ...new Set(model.resourceTypes.flatMap((type) => withoutSecretsOf(type, hiddenOf(type, all)))),
      ]);
    },
  };
}

/** Expressions that do not name a type are indexed without the resources inside that can have secrets. */
function withoutSecretsOf(type: string, hidden: readonly string[]): readonly string[] {
  const secrets = secretFields(type);
  return hidden.filter((field) => !secrets.includes(field));
}

const hiddenInsideBy: (rules: readonly AccessRule[]) => readonly string[] = oncePer(hiddenInside);

function hiddenInside(rules: readonly AccessRule[]): readonly string[] {
  // Decided by the rules from before narrowing: a rule that no longer reads still hides, and a rule that only writes
  // shows nothing.
  const reading = rules.filter(({ interactions, narrowed }) => {
    const granted = narrowed?.from ?? interactions;
    return READ_INTERACTIONS.some((one) => granted.has(one));
  });
  // Write-only rules hide too: without a rule that reads, their hidden fields are never shown.
  return hiddenByAll(reading.length > 0 ? reading : rules);
}

/** A copy with some elements replaced; the object itself if nothing changes. */
function withChanged(
  source: JsonObject,
  names: readonly string[],
  change: (value: JsonObject) => JsonObject,
): JsonObject {
  let copy: { [name: string]: unknown } | undefined;
  for (const name of names) {
    const value = Object.hasOwn(source, name) ? source[name] : undefined;
    const changed = Array.isArray(value)
      ? value.map((item: unknown) => (isJsonObject(item) ? change(item) : item))
      : isJsonObject(value)
        ? change(value)
        : value;
    const same = Array.isArray(changed)
      ? changed.every((item, index) => item === (value as readonly unknown[])[index])
      : changed === value;
    if (!same) copy = { ...(copy ?? source), [name]: changed };
  }
  return copy ?? source;
}
