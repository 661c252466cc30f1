import { Container } from '../fhir/container.js';
import type { FhirModel } from '../fhir/model/fhir-model.js';
import type { OutcomeIssue } from '../fhir/error.js';
import { shorten } from '../fhir/messages.js';
import { type AnyResource, isJsonObject, type JsonObject } from '../fhir/resource.js';
import { Findings, type Step } from '../fhir/validation/findings.js';
import { checkProfile } from './check-element.js';
import { checkExtensions } from './check-extensions.js';
import { compilingProfile, profileType } from './compile-profile.js';
import type { UncheckedRule } from './element-rules.js';
import { ProfileWalk } from './profile-walk.js';
import { referenceTargetsOf, type ReferenceTargets } from './reference-targets.js';
import { textsOf } from './value-set-codes.js';

/** The findings of a validation against profiles. */
interface ProfileFindings {
  readonly issues: readonly OutcomeIssue[];
  /** The rules of the profiles that were not checked. */
  readonly unchecked: readonly UncheckedRule[];
}

/** Profiles to check: those that `meta.profile` names, or those of a list. */
export type ProfileChoice = true | readonly string[];

/** Maximum number of profiles that one resource is checked against. */
const MAX_PROFILES = 100;

/**
 * Checks a resource against profiles, in steps, and its extensions against their definitions. `loadFhirPath` must have been
 * awaited. It never throws for a resource or a profile, however malformed.
 *
 * @param resource that can be stored: plain JSON of bounded depth, of a known type
 * @param urls unknown ones are an error, unless `isOptional`: `meta.profile` may name profiles of anybody
 */
export function* validatingProfiles(
  model: FhirModel,
  resource: JsonObject,
  urls: readonly string[],
  { maxIssues, isOptional = false, readsTargets = true }: ProfileValidation,
): Generator<void, ProfileFindings> {
  const findings = new Findings(Math.max(1, maxIssues));
  const targets = referenceTargetsOf(Container.of(model, resource as unknown as AnyResource));
  const walk = new ProfileWalk(model, findings, resource, resource, readsTargets ? targets : typesOnly(targets));
  findings.enter(String(resource['resourceType']));
  yield* checkResource(resource, urls.slice(0, MAX_PROFILES), walk, { isOptional, readsTargets });
  walk.reportLimit();
  return { issues: withoutRepetitions(findings.issues), unchecked: walk.unchecked };
}

interface ProfileValidation {
  readonly maxIssues: number;
  readonly isOptional?: boolean | undefined;
  /** Look at the content of targets in the same resource or Bundle. Default true. */
  readonly readsTargets?: boolean | undefined;
}

type Choices = Required<Pick<ProfileValidation, 'isOptional' | 'readsTargets'>>;

/** Checks a resource and those inside it: the entries of a Bundle, and contained ones by the profiles that they claim. */
function* checkResource(
  resource: JsonObject,
  urls: readonly string[],
  walk: ProfileWalk,
  choices: Choices,
): Generator<void> {
  const { model, findings } = walk;
  const type = String(resource['resourceType']);
  const inner = [...containedIn(resource, walk), ...entriesIn(resource, walk, choices)];
  for (const url of new Set(urls)) {
    const rules = yield* compilingProfile(model, url);
    if (rules === undefined) {
      const unknown = `the profile ${shorten(url, 200)} is not among the definitions`;
      if (choices.isOptional) walk.noteUnchecked([{ profile: shorten(url, 200), element: type, reason: unknown }]);
      else findings.error('not-found', unknown);
    } else if (model.isA(type, rules.type)) {
      yield* checkProfile(rules, { value: resource, sibling: undefined, type, isChoice: false, steps: [] }, walk);
    } else if (choices.isOptional || !inner.some((one) => one.isEntry && isFor(model, one.resource, rules.type))) {
      findings.error('invalid', `the profile ${shorten(rules.url, 200)} is for ${rules.type}, not for ${type}`);
    }
  }
  if (walk.resource === walk.rootResource) yield* checkExtensions(resource, walk);
  for (const { resource: one, steps, isEntry, open } of inner) {
    if (walk.isSpent()) return;
    yield;
    const asked = choices.isOptional ? claimedProfiles(one) : isEntry ? knownProfilesFor(model, one, urls) : [];
    walk.enter(steps);
    yield* checkResource(one, asked.slice(0, MAX_PROFILES), open(), choices);
    walk.leave(steps);
  }
}

interface InnerResource {
  readonly resource: JsonObject;
  readonly steps: readonly Step[];
  readonly isEntry: boolean;
  /** The walk through it. */
  open(): ProfileWalk;
}

function containedIn(resource: JsonObject, walk: ProfileWalk): readonly InnerResource[] {
  return itemsIn(resource['contained']).map(([one, index]) => ({
    ...{ resource: one, steps: ['contained', index], isEntry: false },
    open: () => walk.inside(one, resource, walk.targets),
  }));
}

/** References of an entry are resolved in its Bundle. */
function entriesIn(bundle: JsonObject, walk: ProfileWalk, { readsTargets }: Choices): readonly InnerResource[] {
  if (bundle['resourceType'] !== 'Bundle') return [];
  return itemsIn(bundle['entry']).flatMap(([{ resource }, index]) => {
    if (!isJsonObject(resource)) return [];
    const inside = walk.targets.within(resource);
    const targets = readsTargets ? inside : typesOnly(inside);
    const open = (): ProfileWalk => walk.inside(resource, resource, targets);
    return [{ resource, steps: ['entry', index, 'resource'], isEntry: true, open }];
  });
}

function itemsIn(value: unknown): readonly (readonly [item: JsonObject, index: number])[] {
  const items: readonly unknown[] = Array.isArray(value) ? value : [];
  return items.flatMap((one, index) => (isJsonObject(one) ? [[one, index] as const] : []));
}

/** Only the types of targets: rules about their content depend on elements that may be hidden. */
function typesOnly(all: ReferenceTargets): ReferenceTargets {
  const targets: ReferenceTargets = {
    ...all,
    place: undefined,
    resource: () => undefined,
    of: () => targets,
  };
  return targets;
}

function knownProfilesFor(model: FhirModel, resource: JsonObject, urls: readonly string[]): readonly string[] {
  return urls.filter((url) => {
    const type = profileType(model, url);
    return type !== undefined && isFor(model, resource, type);
  });
}

function isFor(model: FhirModel, { resourceType }: JsonObject, type: string): boolean {
  return typeof resourceType === 'string' && model.isA(resourceType, type);
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
    const of = profileType(model, url);
    return of === undefined || model.isA(type, of);
  });
}

/** A profile and its base may have the same rule. */
function withoutRepetitions(issues: readonly OutcomeIssue[]): readonly OutcomeIssue[] {
  return [
    ...new Map(issues.map((issue) => [`${issue.code} ${issue.expression?.[0]} ${issue.diagnostics}`, issue])).values(),
  ];
}
