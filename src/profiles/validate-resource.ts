import { FhirError, type OperationOutcome, type OutcomeIssue } from '../fhir/error.js';
import type { FhirModel } from '../fhir/model/fhir-model.js';
import { R4 } from '../fhir/r4.js';
import { type AnyResource, isJsonObject } from '../fhir/resource.js';
import { validateResource as findIssues, validateStorable } from '../fhir/validate-resource.js';
import { inTurns, Pace } from '../platform/pace.js';
import { loadFhirPath } from '../fhirpath/library.js';
import type { UncheckedRule } from './element-rules.js';
import { claimedProfiles, validatingProfiles } from './validate-profiles.js';

/** Options of `validateResource`; all have defaults. */
export interface ResourceValidationOptions {
  /** The definitions to validate against, with the profiles in them. Default: FHIR R4 with Medplum's types. */
  readonly definitions?: FhirModel | undefined;
  /**
   * Profiles to validate against, by canonical URL: of the resource, or of entries if it is a Bundle. `true` for those that
   * `meta.profile` names and the definitions have, also of contained resources and entries. Default: none.
   */
  readonly profiles?: true | readonly string[] | undefined;
  /** Validate against the definitions of FHIR, too. Default true. */
  readonly strict?: boolean | undefined;
  /** Maximum number of findings. Default 100. */
  readonly maxIssues?: number | undefined;
  /** Maximum length of the resource's JSON text, in bytes of UTF-8. Default 16 MiB. */
  readonly maxBytes?: number | undefined;
  /** Maximum number of the resource's values, in which long texts count as several. Default: any number. */
  readonly maxValues?: number | undefined;
}

/** What {@link validateResource} found. */
export interface ResourceValidation {
  /** True if there is no error; warnings do not count. */
  readonly valid: boolean;
  /**
   * Every finding with its location: errors, warnings, and as information the rules of profiles that were not checked.
   * Messages never contain values of the resource.
   */
  readonly outcome: OperationOutcome;
  /** The rules of the profiles that were not checked, each with the reason. */
  readonly unchecked: readonly UncheckedRule[];
}

/**
 * Validates a resource against FHIR's definitions and against profiles: cardinality, types, fixed values, patterns,
 * bounds, required bindings to listed codes, invariants in FHIRPath, targets of references, slices, and extensions with
 * their contexts, also in contained resources and entries of a Bundle. It writes nothing and needs no store.
 *
 * It never rejects for a resource or a profile, however malformed. Work is bounded: 500,000 checks of values and
 * 2,000,000 FHIRPath steps; a resource that needs more has an issue `too-costly`.
 *
 * @throws FhirError `invalid` - `profiles` is neither true nor a list of URLs
 *
 * @example
 * const definitions = await extendDefinitions(R4, await readFhirPackage('us-core'));
 * const { valid, outcome } = await validateResource(patient, { definitions, profiles: [`${US_CORE}/us-core-patient`] });
 */
export async function validateResource(
  resource: unknown,
  options: ResourceValidationOptions = {},
): Promise<ResourceValidation> {
  return validateInTurns(resource, options, new Pace());
}

/** {@link validateResource} at a pace that may end it. */
export async function validateInTurns(
  resource: unknown,
  options: ResourceValidationOptions,
  pace: Pace,
): Promise<ResourceValidation> {
  const { definitions = R4, profiles, strict = true, maxIssues = 100, maxBytes, maxValues = Infinity } = options;
  if (profiles !== undefined && profiles !== true && !isUrls(profiles)) {
    throw new FhirError('invalid', 'profiles must be true or a list of canonical URLs');
  }
  const storable = findIssues(definitions, resource, { maxIssues, maxBytes, maxValues });
  if (storable.length > 0 || !isJsonObject(resource)) return validation(storable, []);
  const sound = resource as unknown as AnyResource;
  const basic = strict ? validateStorable(definitions, sound, { maxIssues }) : [];
  if (profiles === undefined) return validation(basic, []);
  await loadFhirPath(definitions);
  if (pace.isSpent) await pace.next();
  const urls = profiles === true ? claimedProfiles(resource) : profiles;
  const checking = validatingProfiles(definitions, resource, urls, { maxIssues, isOptional: profiles === true });
  const found = await inTurns(checking, pace);
  return validation([...basic, ...found.issues].slice(0, Math.max(1, maxIssues)), found.unchecked);
}

function isUrls(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((url) => typeof url === 'string');
}

function validation(issues: readonly OutcomeIssue[], unchecked: readonly UncheckedRule[]): ResourceValidation {
  const valid = !issues.some(({ severity = 'error' }) => severity === 'error' || severity === 'fatal');
  const notes = unchecked.map(({ profile, element, reason }): OutcomeIssue => ({
    severity: 'information',
    code: 'not-supported',
    diagnostics: `Not checked of ${profile} at ${element}: ${reason}`,
  }));
  const all = [...issues, ...notes];
  const summary: OutcomeIssue = {
    severity: 'information',
    code: 'informational',
    diagnostics: 'The resource is valid',
  };
  // The findings are the result and no error.
  const { outcome } = new FhirError('unprocessable', 'The resource is not valid', {
    issues: valid ? [summary, ...all] : all,
  });
  return { valid, outcome, unchecked };
}
