import { FhirError } from '../../fhir/error.js';
import type { FhirModel } from '../../fhir/model/fhir-model.js';
import { andMore } from '../../fhir/messages/quote.js';
import type { OutcomeIssue } from '../../fhir/operation-outcome.js';
import type { JsonObject } from '../../fhir/resource.js';
import {
  claimedProfiles,
  profilesFor,
  validatingProfiles,
  type ProfileChoice,
} from '../../profiles/validate-profiles.js';
import { objectsOf } from '../../profiles/value-set-codes.js';

/** The profiles that resources must conform to. */
export interface RequiredProfiles {
  /** The profiles in `meta.profile` that the definitions have. */
  readonly claimed: boolean;
  /** Canonical URLs; each holds for resources of its type. */
  readonly listed: readonly string[];
}

export const NO_PROFILES: RequiredProfiles = { claimed: false, listed: [] };

/** The name of the setting of a Project: `valueBoolean` for the profiles in `meta.profile`, `valueString` for one by URL. */
const PROFILES_SETTING = 'validateProfiles';

/** The profiles that a Project's settings and the host require together. */
export function requiredProfiles(project: JsonObject, asked: ProfileChoice | undefined): RequiredProfiles {
  const settings = [...objectsOf(project['systemSetting']), ...objectsOf(project['setting'])].filter(
    ({ name }) => name === PROFILES_SETTING,
  );
  const listed = settings.flatMap(({ valueString }) => (typeof valueString === 'string' ? [valueString] : []));
  const claimed = asked === true || settings.some(({ valueBoolean }) => valueBoolean === true);
  return { claimed, listed: [...new Set([...listed, ...(asked === undefined || asked === true ? [] : asked)])] };
}

/**
 * @param except findings that do not cause a rejection
 * @throws FhirError `unprocessable` - the resource does not conform; `issues` has every finding
 */
export function* assertingProfiles(
  model: FhirModel,
  resource: JsonObject,
  { claimed, listed }: RequiredProfiles,
  except: ((issue: OutcomeIssue) => boolean) | undefined,
): Generator<void> {
  if (!claimed && listed.length === 0) return;
  const options = { maxIssues: except === undefined ? 100 : 10_000, readsTargets: except === undefined };
  const required = yield* validatingProfiles(model, resource, profilesFor(model, resource, listed), options);
  const found = [...required.issues];
  if (claimed) {
    const asked = { ...options, isOptional: true };
    found.push(...(yield* validatingProfiles(model, resource, claimedProfiles(resource), asked)).issues);
  }
  const issues = [...new Map(found.map((issue) => [JSON.stringify(issue), issue])).values()].filter(
    (issue) => except?.(issue) !== true,
  );
  const errors = issues.filter(({ severity }) => severity === undefined);
  const [first] = errors;
  if (first === undefined) return;
  // Profiles are checked from the root of the resource, so each finding has a location.
  const [place] = first.expression!;
  throw new FhirError(
    'unprocessable',
    `The resource does not conform to its profiles: ${first.diagnostics} at ${place}${andMore(errors)}`,
    { issues },
  );
}
