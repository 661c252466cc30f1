import { FhirError, type OutcomeIssue } from './error.js';
import { andMore } from './messages.js';
import type { FhirModel } from './model/fhir-model.js';
import {
  type AnyResource,
  DEFAULT_RESOURCE_BYTES,
  DEFAULT_RESOURCE_VALUES,
  elementsOf,
  isJsonObject,
  isResourceId,
  type JsonObject,
  MAX_RESOURCE_DEPTH,
} from './resource.js';
import { checkResource } from './validation/check-resource.js';
import { Findings, kindOf } from './validation/findings.js';
import { checkJsonSafety } from './validation/json-safety.js';

export interface ValidationOptions {
  /** Validate against the R4 definitions too. Default false: only what would break storage or search. */
  readonly strict?: boolean | undefined;
  /** Maximum number of issues returned, at least one. Default 100. */
  readonly maxIssues?: number | undefined;
  /** Longest JSON text of the resource, in bytes of UTF-8. Default {@link DEFAULT_RESOURCE_BYTES}. */
  readonly maxBytes?: number | undefined;
  /** Most values of the resource, in which long texts count as several. Default {@link DEFAULT_RESOURCE_VALUES}. */
  readonly maxValues?: number | undefined;
}

const MAX_ISSUES = 100;

/**
 * Finds what is wrong with a resource. It never throws; no issues mean a good resource.
 *
 * Always refused: a value that is not a JSON object, an unknown or abstract `resourceType`, values that JSON cannot
 * carry, and the names `__proto__`, `constructor` and `prototype`. Also refused: more than 100 levels of nesting, more than `maxBytes` or `maxValues`, a bad `id`, and a
 * `meta` or `contained` whose shape storage and search rely on.
 *
 * With `strict`, everything in it is checked against the R4 definitions (and Medplum's, for its types): unknown
 * elements, JSON types, cardinality, choices, primitive formats and their siblings, required bindings whose codes can
 * be listed, reference targets, contained resources, narratives; resources in Bundles and Parameters likewise. Of the
 * invariants it knows ele-1, ext-1, ref-1, dom-2 to dom-5, txt-1, txt-2 and those of `invariants.ts`; it knows no others,
 * no profiles, no terminology beyond those lists, and does not look whether references to other resources resolve. An unreferenced
 * contained resource (dom-3) is a warning; every other finding is an error.
 *
 * Each issue has a code of https://hl7.org/fhir/R4/valueset-issue-type.html, a text without values of the resource,
 * and the FHIRPath of its place; errors come before warnings: `Patient.name[0].given[1]`, `Observation.value.ofType(Quantity).code`.
 *
 * @example
 * validateResource({ resourceType: 'Patient', gender: 'x' }, { strict: true });
 * // [{ code: 'code-invalid', diagnostics: 'gender must be one of male, …', expression: ['Patient.gender'] }]
 */
export function validateResource(model: FhirModel, resource: unknown, options: ValidationOptions = {}): OutcomeIssue[] {
  const { strict = false, maxIssues = MAX_ISSUES } = options;
  const { maxBytes = DEFAULT_RESOURCE_BYTES, maxValues = DEFAULT_RESOURCE_VALUES } = options;
  const findings = new Findings(Math.max(1, maxIssues));
  if (!hasKnownType(model, resource, findings)) return findings.issues;
  findings.enter(resource.resourceType);
  checkJsonSafety(resource, { maxBytes, maxValues, maxDepth: MAX_RESOURCE_DEPTH }, findings);
  // Values other than plain JSON cannot be inspected safely.
  if (findings.any) return findings.issues;
  if (strict) checkResource(model, resource, findings);
  else checkStorableShape(resource, findings);
  return findings.issues;
}

/**
 * {@link validateResource} with `strict` for a resource that can be stored. Checks that ran without `strict` are
 * not repeated.
 */
export function validateStorable(
  model: FhirModel,
  resource: AnyResource,
  { maxIssues = MAX_ISSUES }: Pick<ValidationOptions, 'maxIssues'> = {},
): OutcomeIssue[] {
  const findings = new Findings(Math.max(1, maxIssues));
  findings.enter(resource.resourceType);
  checkResource(model, elementsOf(resource), findings);
  return findings.issues;
}

function hasKnownType(
  model: FhirModel,
  resource: unknown,
  findings: Findings,
): resource is JsonObject & { readonly resourceType: string } {
  if (!isJsonObject(resource)) {
    findings.error('structure', `a resource must be a JSON object, not ${kindOf(resource)}`);
    return false;
  }
  const { resourceType } = resource;
  if (typeof resourceType === 'string' && model.isResourceType(resourceType)) return true;
  findings.error('structure', 'resourceType must be the name of a concrete FHIR R4 resource type');
  return false;
}

interface AssertOptions extends ValidationOptions {
  /** Findings against the definitions that do not cause a rejection. Default: none. */
  readonly except?: ((issue: OutcomeIssue) => boolean) | undefined;
}

/**
 * Lets a resource through only if it can be stored and, with `strict`, agrees with the R4 definitions.
 * `validateResource` lists the checks. Warnings do not refuse a resource.
 *
 * @throws FhirError `too-costly` - it is larger than `maxBytes` or has more than `maxValues`.
 * @throws FhirError `invalid` - no project could store it; `issues` has every reason.
 * @throws FhirError `unprocessable` - with `strict`: it breaks the definitions; `issues` has every finding, warnings too.
 */
export function assertValidResource(
  model: FhirModel,
  resource: unknown,
  { except, strict = false, ...options }: AssertOptions,
): void {
  refuse('invalid', 'The resource cannot be stored', validateResource(model, resource, options));
  if (!strict) return;
  // Ignored findings must not count against the limit.
  const all = except === undefined ? options : { maxIssues: 10_000, ...options };
  const issues = validateStorable(model, resource as AnyResource, all);
  const counted = except === undefined ? issues : issues.filter((issue) => !except(issue));
  refuse('unprocessable', 'The resource breaks the R4 definitions', counted);
}

function refuse(code: 'invalid' | 'unprocessable', summary: string, issues: readonly OutcomeIssue[]): void {
  const errors = issues.filter((issue) => issue.severity === undefined || issue.severity === 'error');
  const [first] = errors;
  if (first === undefined) return;
  if (first.code === 'too-costly') throw new FhirError('too-costly', `${summary}: ${first.diagnostics}`, { issues });
  const place = first.expression === undefined ? '' : ` at ${first.expression[0]}`;
  throw new FhirError(code, `${summary}: ${first.diagnostics}${place}${andMore(errors)}`, { issues });
}

/**
 * Finds faults that would break storage or search, independently of the definitions: a bad id, a `meta` or `contained`
 * of the wrong shape.
 */
function checkStorableShape(resource: JsonObject, findings: Findings): void {
  if (resource.id !== undefined && !isResourceId(resource.id)) {
    findings.error('value', 'id must be 1 to 64 letters, digits, hyphens and full stops', 'id');
  }
  checkMeta(resource.meta, findings);
  checkContained(resource.contained, findings);
}

/** The parts of `meta` that stores and search read. */
const META_SHAPES: readonly (readonly [name: string, shape: (value: unknown) => string | undefined])[] = [
  ['versionId', text],
  ['lastUpdated', text],
  ['source', text],
  ['profile', listOf((item) => item === null || typeof item === 'string', 'strings')],
  ['security', listOf(isJsonObject, 'Codings')],
  ['tag', listOf(isJsonObject, 'Codings')],
];

function checkMeta(meta: unknown, findings: Findings): void {
  if (meta === undefined) return;
  if (!isJsonObject(meta)) return findings.error('structure', `meta must be an object, not ${kindOf(meta)}`, 'meta');
  findings.enter('meta');
  for (const [name, shape] of META_SHAPES) {
    const expectation = meta[name] === undefined ? undefined : shape(meta[name]);
    if (expectation !== undefined) findings.error('structure', `meta.${name} must be ${expectation}`, name);
  }
  findings.leave();
}

function checkContained(contained: unknown, findings: Findings): void {
  if (contained === undefined) return;
  findings.enter('contained');
  if (!Array.isArray(contained)) {
    findings.error('structure', `contained must be an array of resources, not ${kindOf(contained)}`);
  } else {
    contained.forEach((item: unknown, index) => {
      if (isJsonObject(item) && typeof item.resourceType === 'string') return;
      findings.error('structure', 'a contained resource must be an object with a resourceType', index);
    });
  }
  findings.leave();
}

function text(value: unknown): string | undefined {
  return typeof value === 'string' ? undefined : `a string, not ${kindOf(value)}`;
}

function listOf(isItem: (item: unknown) => boolean, items: string): (value: unknown) => string | undefined {
  return (value) => (Array.isArray(value) && value.every(isItem) ? undefined : `an array of ${items}`);
}
