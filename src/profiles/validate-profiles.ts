import type { FhirModel } from '../fhir/model/fhir-model.js';
import type { OutcomeIssue } from '../fhir/operation-outcome.js';
import { shorten } from '../fhir/messages/quote.js';
import { isJsonObject, type JsonObject } from '../fhir/resource.js';
import { Findings } from '../fhir/validation/findings.js';
import { containerScope } from '../fhir/validation/walk.js';
import { checkProfile } from './check-element.js';
import { checkExtensions } from './check-extensions.js';
import { profileRules } from './compile-profile.js';
import type { UncheckedRule } from './element-rules.js';
import { ProfileWalk } from './profile-walk.js';
import { textsOf } from './value-set-codes.js';

/** What a validation against profiles found. */
export interface ProfileFindings {
  readonly issues: readonly OutcomeIssue[];
  /** The rules of the profiles that were not checked. */
  readonly unchecked: readonly UncheckedRule[];
}

/** Profiles to check: those that `meta.profile` names, or those of a list. */
export type ProfileChoice = true | readonly string[];

/** Most profiles that one resource is checked against. */
const MAX_PROFILES = 100;

/**
 * Checks a resource against profiles, and its extensions against their definitions. `loadFhirPath` must have been
 * awaited. It never throws for a resource or a profile, however malformed.
 *
 * @param resource that can be stored: plain JSON of bounded depth, of a known type
 * @param urls unknown ones are an error, unless `isOptional`: `meta.profile` may name profiles of anybody
 */
export function validateProfiles(
  model: FhirModel,
  resource: JsonObject,
  urls: readonly string[],
  { maxIssues, isOptional = false }: { readonly maxIssues: number; readonly isOptional?: boolean | undefined },
): ProfileFindings {
  const type = String(resource['resourceType']);
  const findings = new Findings(Math.max(1, maxIssues));
  const walk = new ProfileWalk(model, findings, resource, resource, containerScope(resource).contained);
  findings.enter(type);
  for (const url of new Set(urls.slice(0, MAX_PROFILES))) {
    const rules = profileRules(model, url);
    if (rules === undefined) {
      const unknown = `the profile ${shorten(url, 200)} is not among the definitions`;
      if (isOptional) walk.noteUnchecked([{ profile: shorten(url, 200), element: type, reason: unknown }]);
      else findings.error('not-found', unknown);
    } else if (!model.isA(type, rules.type)) {
      findings.error('invalid', `the profile ${shorten(rules.url, 200)} is for ${rules.type}, not for ${type}`);
    } else {
      checkProfile(rules, { value: resource, sibling: undefined, type, isChoice: false, steps: [] }, walk);
    }
  }
  checkExtensions(resource, walk);
  walk.reportLimit();
  return { issues: withoutRepetitions(findings.issues), unchecked: walk.unchecked };
}

/** The profiles that a resource claims to conform to. */
export function claimedProfiles(resource: JsonObject): readonly string[] {
  const { meta } = resource;
  return isJsonObject(meta) ? textsOf(meta['profile']) : [];
}

/** The profiles of a list that are for the type of a resource. */
export function profilesFor(model: FhirModel, resource: JsonObject, urls: readonly string[]): readonly string[] {
  const type = String(resource['resourceType']);
  return urls.filter((url) => {
    const rules = profileRules(model, url);
    return rules === undefined || model.isA(type, rules.type);
  });
}

/** A profile and the one that it derives from may ask the same. */
function withoutRepetitions(issues: readonly OutcomeIssue[]): readonly OutcomeIssue[] {
  return [
    ...new Map(issues.map((issue) => [`${issue.code} ${issue.expression?.[0]} ${issue.diagnostics}`, issue])).values(),
  ];
}
