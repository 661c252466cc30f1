import { FhirError } from '../fhir/error.js';
import { isJsonObject, type JsonObject } from '../fhir/resource.js';
import { sameJson } from '../fhir/json/copy-json.js';
import { orList } from '../fhir/messages.js';
import type { BoundsRule, ElementRules, ProfileRules, SlicedItem, TypeRule } from './element-rules.js';
import { itemsOf, type ElementItem } from './element-items.js';
import { hasCodeOf, matchesPattern } from './slices.js';
import { compilingProfile, profileRules } from './compile-profile.js';
import type { ProfileWalk } from './profile-walk.js';
import { violatedBound } from './value-bounds.js';

/** Checks a value against a profile and its base profiles, in steps. */
export function* checkProfile(profile: ProfileRules, item: ElementItem, walk: ProfileWalk): Generator<void> {
  if (!walk.open(profile.url, item.value)) return;
  for (let rules: ProfileRules | undefined = profile; rules !== undefined; rules = rules.base) {
    walk.noteUnchecked(rules.unchecked);
    yield* checkItem(rules.root, item, walk, true);
  }
  walk.close(profile.url, item.value);
}

/** Checks one value of an element; `isRoot` where its type was checked before. */
function* checkItem(rules: ElementRules, item: ElementItem, walk: ProfileWalk, isRoot = false): Generator<void> {
  if (walk.isSpent()) return;
  const { findings } = walk;
  const { value } = item;
  if (rules.fixed !== undefined && !sameJson(value, rules.fixed.value))
    findings.error('value', `must have the value that the profile fixes`);
  if (rules.pattern !== undefined && !matchesPattern(value, rules.pattern.value))
    findings.error('value', `must have everything that the pattern of the profile has`);
  if (rules.maxLength !== undefined && typeof value === 'string' && value.length > rules.maxLength)
    findings.error('too-long', `must have at most ${rules.maxLength} characters`);
  if (rules.bounds !== undefined) checkBounds(rules.bounds, value, walk);
  if (rules.codes !== undefined && value !== undefined && value !== null && !hasCodeOf(rules.codes.codes, value))
    findings.error('code-invalid', `must have a code of the value set ${rules.codes.valueSet}`);
  if (!isRoot) {
    const demands = checkType(rules.types, item, walk);
    if (demands.length > 0) yield* checkOneProfile(demands, item, walk);
  }
  checkInvariants(rules, item, walk);
  for (const child of rules.children) {
    const items = itemsOf(walk.model, item, child.name);
    checkCount(child, items.length, walk);
    // Most elements of a profile are absent.
    if (items.length > 0 || child.slicing !== undefined) yield* checkItems(child, items, walk);
  }
}

function* checkItems(rules: ElementRules, items: readonly ElementItem[], walk: ProfileWalk): Generator<void> {
  for (const item of items) {
    if (walk.isStepOver()) yield;
    walk.enter(item.steps);
    yield* checkItem(rules, item, walk);
    walk.leave(item.steps);
  }
  if (rules.slicing === undefined) return;
  const { slices, closed } = rules.slicing;
  const counts = slices.map(() => 0);
  // Slices that may have items whose membership is not known.
  const open = new Set<number>();
  for (const item of items) {
    if (walk.isStepOver()) yield;
    if (walk.isSpent(slices.length)) return;
    const sliced = slicedItem(item, walk);
    const member = slices.map(({ holds }) => holds(sliced));
    const index = member.indexOf(true);
    const slice = slices[index];
    if (slice !== undefined) {
      counts[index]! += 1;
      walk.enter(item.steps);
      yield* checkItem(slice.rules, item, walk);
      walk.leave(item.steps);
      continue;
    }
    const unknown = slices.flatMap((_, at) => (member[at] === undefined ? [at] : []));
    for (const at of unknown) open.add(at);
    if (closed && unknown.length === 0) {
      walk.enter(item.steps);
      walk.findings.error('structure', 'must belong to one of the slices of the profile');
      walk.leave(item.steps);
    }
  }
  slices.forEach((slice, index) => {
    const count = counts[index]!;
    if (open.has(index)) walk.noteUnchecked([slice.elsewhere]);
    if (!open.has(index) || count > slice.rules.max) checkCount(slice.rules, count, walk, slice.name);
  });
}

function slicedItem({ value, type }: ElementItem, walk: ProfileWalk): SlicedItem {
  return {
    ...{ value, type, targets: walk.targets },
    conforms: (one, of, profiles) => conformsToOne(one, of, profiles, walk),
  };
}

/** Whether a value, or a resource inside, conforms to one of the profiles. Unknown profiles are listed elsewhere. */
function conformsToOne(value: JsonObject, type: string, profiles: readonly string[], walk: ProfileWalk): boolean {
  const item: ElementItem = { value, sibling: undefined, type, isChoice: false, steps: [] };
  const resource = typeof value['resourceType'] === 'string' ? value : walk.resource;
  return profiles.some((url) => {
    const rules = profileRules(walk.model, url);
    return rules === undefined || walk.tries((trial) => checkProfile(rules, item, trial), resource);
  });
}

function checkBounds(bounds: BoundsRule, value: unknown, walk: ProfileWalk): void {
  if (value === undefined || value === null) return;
  const violated = violatedBound(value, bounds);
  if (violated === 'unknown') walk.noteUnchecked([bounds.incomparable]);
  else if (violated !== undefined)
    walk.findings.error(
      'value',
      `must be ${violated === 'min' ? 'at least minValue' : 'at most maxValue'} of the profile`,
    );
}

function checkCount({ name, min, max }: ElementRules, count: number, { findings }: ProfileWalk, slice?: string): void {
  const of = slice === undefined ? '' : ` of the slice ${slice}`;
  const step = name.replace('[x]', '');
  if (count < min) {
    const need = min === 1 ? `${name}${of} is required` : `${name}${of} must occur at least ${min} times`;
    findings.error('required', `${need} by the profile`, step);
  }
  if (count > max) {
    const allowed = max === 0 ? 'must not be present' : `must occur at most ${max} times`;
    findings.error('structure', `${name}${of} ${allowed} by the profile`, step);
  }
}

/** @returns the profiles of which the value must conform to one */
function checkType(types: readonly TypeRule[], item: ElementItem, walk: ProfileWalk): readonly string[] {
  if (types.length === 0 || item.type === '') return [];
  const fitting = types.filter(({ type }) => walk.model.isA(item.type, type) || isBackbone(type));
  if (fitting.length === 0) {
    if (!item.isChoice) return [];
    const names = [...new Set(types.map(({ type }) => type))];
    walk.findings.error('structure', `must be of type ${orList(names)} by the profile`);
    return [];
  }
  checkTargets(fitting, item.value, walk);
  // Extensions are checked wherever they are.
  const demands = fitting.filter(({ type }) => type !== 'Extension').map(({ profiles }) => profiles);
  return demands.some((profiles) => profiles.length === 0) ? [] : demands.flat();
}

/** FHIR's names of the types of backbone elements. */
function isBackbone(type: string): boolean {
  return type === 'BackboneElement' || type === 'Element';
}

function checkTargets(types: readonly TypeRule[], value: unknown, walk: ProfileWalk): void {
  if (!isJsonObject(value) || types.some(({ targets }) => targets === undefined)) return;
  const found = walk.targets.type(value);
  if (found === undefined) return;
  const fitting = types.filter(({ targets }) => targets!.has(found));
  if (fitting.length > 0) return checkTarget(fitting, found, value, walk);
  const allowed = [...new Set(types.flatMap(({ targets }) => [...targets!.keys()]))];
  walk.findings.error('value', `must refer to ${orList(allowed)} by the profile`, 'reference');
}

/** The target of a reference must conform to one of the profiles that are allowed for its type. */
function checkTarget(types: readonly TypeRule[], type: string, reference: JsonObject, walk: ProfileWalk): void {
  const demands = types.map(({ targets }) => targets!.get(type)!);
  if (demands.some((profiles) => profiles.length === 0)) return;
  const target = walk.targets.resource(reference);
  if (target === undefined) return walk.noteUnchecked(types.map(({ elsewhere }) => elsewhere));
  if (conformsToOne(target, type, demands.flat(), walk)) return;
  // The finding is about another place of the resource, like an invariant.
  walk.findings.error('invariant', 'must refer to a resource that conforms to the profile of the target', 'reference');
}

/** A value must conform to one of the profiles. The findings are those of the only one, or a summary. */
function* checkOneProfile(urls: readonly string[], item: ElementItem, walk: ProfileWalk): Generator<void> {
  const profiles: ProfileRules[] = [];
  for (const url of urls) {
    const rules = yield* compilingProfile(walk.model, url);
    if (rules === undefined) return;
    profiles.push(rules);
  }
  const [only] = profiles;
  if (profiles.length === 1) return yield* checkProfile(only!, item, walk);
  const conforms = profiles.some((profile) => walk.tries((trial) => checkProfile(profile, item, trial)));
  if (!conforms)
    walk.findings.error('value', `must conform to one of the ${profiles.length} profiles that are allowed here`);
}

function checkInvariants({ invariants }: ElementRules, item: ElementItem, walk: ProfileWalk): void {
  for (const { key, human, isError, holds, elsewhere } of invariants) {
    if (walk.isSpent()) return;
    // A primitive without a value has nothing that an expression could see.
    if (item.value === undefined || item.value === null) return;
    try {
      const environment = { resource: walk.resource, rootResource: walk.rootResource, context: item.value };
      const result = holds(item.value, environment, walk.meter, walk.targets.place);
      const isTrue = result.length === 1 && typeof result[0] === 'boolean' ? result[0] : result.length > 0;
      if (isTrue) continue;
      if (isError) walk.findings.error('invariant', `${human} (${key})`);
      else walk.findings.warning('invariant', `${human} (${key})`);
    } catch (error) {
      if (!(error instanceof FhirError) || error.code === 'internal') throw error;
      if (error.code === 'unsupported') {
        walk.noteUnchecked([elsewhere]);
        continue;
      }
      const code = error.code === 'too-costly' ? 'too-costly' : 'invariant';
      walk.findings.error(
        code,
        `the invariant ${key} cannot be evaluated: ${code === 'too-costly' ? 'it takes too many steps' : 'it does not fit the value'}`,
      );
    }
  }
}
