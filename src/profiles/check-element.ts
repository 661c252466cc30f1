import { FhirError } from '../fhir/error.js';
import { parseReference } from '../fhir/reference.js';
import { referenceStub } from '../fhir/reference-stub.js';
import { isJsonObject, type JsonObject } from '../fhir/resource.js';
import { sameJson } from '../fhir/json/same-json.js';
import { orList } from '../fhir/messages/quote.js';
import type { ElementRules, ProfileRules, TypeRule } from './element-rules.js';
import { itemsOf, type ElementItem } from './element-items.js';
import { hasCodeOf, matchesPattern } from './match-value.js';
import { profileRules } from './compile-profile.js';
import type { ProfileWalk } from './profile-walk.js';

/** Checks a value against a profile and what it derives from. */
export function checkProfile(profile: ProfileRules, item: ElementItem, walk: ProfileWalk): void {
  if (!walk.open(profile.url, item.value)) return;
  for (let rules: ProfileRules | undefined = profile; rules !== undefined; rules = rules.base) {
    walk.noteUnchecked(rules.unchecked);
    checkItem(rules.root, item, walk, true);
  }
  walk.close(profile.url, item.value);
}

/** Checks one value of an element; `isRoot` where its type was checked before. */
function checkItem(rules: ElementRules, item: ElementItem, walk: ProfileWalk, isRoot = false): void {
  if (walk.isSpent()) return;
  const { findings } = walk;
  const { value } = item;
  if (rules.fixed !== undefined && !sameJson(value, rules.fixed.value))
    findings.error('value', `must have the value that the profile fixes`);
  if (rules.pattern !== undefined && !matchesPattern(value, rules.pattern.value))
    findings.error('value', `must have everything that the pattern of the profile has`);
  if (rules.maxLength !== undefined && typeof value === 'string' && value.length > rules.maxLength)
    findings.error('too-long', `must have at most ${rules.maxLength} characters`);
  if (rules.codes !== undefined && value !== undefined && value !== null && !hasCodeOf(rules.codes.codes, value))
    findings.error('code-invalid', `must have a code of the value set ${rules.codes.valueSet}`);
  if (!isRoot) checkType(rules.types, item, walk);
  checkInvariants(rules, item, walk);
  for (const child of rules.children) checkChild(child, item, walk);
}

function checkChild(rules: ElementRules, parent: ElementItem, walk: ProfileWalk): void {
  const items = itemsOf(walk.model, parent, rules.name);
  checkCount(rules, items.length, walk);
  for (const item of items) walk.at(item.steps, () => checkItem(rules, item, walk));
  if (rules.slicing === undefined) return;
  const { slices, closed } = rules.slicing;
  const counts = slices.map(() => 0);
  for (const item of items) {
    if (walk.isSpent(slices.length)) return;
    const index = slices.findIndex(({ holds }) => holds({ value: item.value, type: item.type }));
    const slice = slices[index];
    if (slice !== undefined) {
      counts[index]! += 1;
      walk.at(item.steps, () => checkItem(slice.rules, item, walk));
    } else if (closed) {
      walk.at(item.steps, () => walk.findings.error('structure', 'must belong to one of the slices of the profile'));
    }
  }
  slices.forEach((slice, index) => checkCount(slice.rules, counts[index]!, walk, slice.name));
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

function checkType(types: readonly TypeRule[], item: ElementItem, walk: ProfileWalk): void {
  if (types.length === 0 || item.type === '') return;
  const fitting = types.filter(({ type }) => walk.model.isA(item.type, type) || isBackbone(type));
  if (fitting.length === 0) {
    if (!item.isChoice) return;
    const names = [...new Set(types.map(({ type }) => type))];
    return walk.findings.error('structure', `must be of type ${orList(names)} by the profile`);
  }
  checkTargets(fitting, item.value, walk);
  // Extensions are checked wherever they are.
  const demands = fitting.filter(({ type }) => type !== 'Extension').map(({ profiles }) => profiles);
  if (demands.length === 0 || demands.some((profiles) => profiles.length === 0)) return;
  checkOneProfile(demands.flat(), item, walk);
}

/** FHIR's names of the types of backbone elements. */
function isBackbone(type: string): boolean {
  return type === 'BackboneElement' || type === 'Element';
}

function checkTargets(types: readonly TypeRule[], value: unknown, walk: ProfileWalk): void {
  if (!isJsonObject(value) || types.some(({ targets }) => targets === undefined)) return;
  const found = targetType(value, walk);
  if (found === undefined || types.some(({ targets }) => targets!.has(found))) return;
  const allowed = [...new Set(types.flatMap(({ targets }) => [...targets!]))];
  walk.findings.error('value', `must refer to ${orList(allowed)} by the profile`, 'reference');
}

function targetType(reference: JsonObject, { contained }: ProfileWalk): string | undefined {
  const text = reference['reference'];
  const parsed = typeof text === 'string' ? parseReference(text) : undefined;
  if (parsed?.kind === 'contained') return contained.get(parsed.id);
  return referenceStub(reference)?.resourceType;
}

/** A value must conform to one of the profiles. The findings are those of the only one, or a summary. */
function checkOneProfile(urls: readonly string[], item: ElementItem, walk: ProfileWalk): void {
  const profiles = urls.flatMap((url) => profileRules(walk.model, url) ?? []);
  if (profiles.length < urls.length) return;
  const [only] = profiles;
  if (profiles.length === 1) return checkProfile(only!, item, walk);
  const conforms = profiles.some((profile) => walk.tries((trial) => checkProfile(profile, item, trial)));
  if (!conforms)
    walk.findings.error('value', `must conform to one of the ${profiles.length} profiles that are allowed here`);
}

function checkInvariants({ invariants }: ElementRules, item: ElementItem, walk: ProfileWalk): void {
  for (const { key, human, isError, holds } of invariants) {
    if (walk.isSpent()) return;
    // A primitive without a value has nothing that an expression could see.
    if (item.value === undefined || item.value === null) return;
    try {
      const environment = { resource: walk.resource, rootResource: walk.rootResource, context: item.value };
      const result = holds(item.value, environment, walk.meter);
      const isTrue = result.length === 1 && typeof result[0] === 'boolean' ? result[0] : result.length > 0;
      if (isTrue) continue;
      if (isError) walk.findings.error('invariant', `${human} (${key})`);
      else walk.findings.warning('invariant', `${human} (${key})`);
    } catch (error) {
      if (!(error instanceof FhirError) || error.code === 'internal') throw error;
      const code = error.code === 'too-costly' ? 'too-costly' : 'invariant';
      walk.findings.error(
        code,
        `the invariant ${key} cannot be evaluated: ${code === 'too-costly' ? 'it takes too many steps' : 'it does not fit the value'}`,
      );
    }
  }
}
