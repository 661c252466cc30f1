import { sameJson } from '../fhir/json/copy-json.js';
import type { FhirModel } from '../fhir/model/fhir-model.js';
import { isJsonObject } from '../fhir/resource.js';
import { withoutVersion } from './definitions-by-url.js';
import type { ElementRules, SliceTest } from './element-rules.js';
import { type CodeSet, objectsOf } from './value-set-codes.js';

/** What distinguishes the slices of an element. See https://hl7.org/fhir/R4/profiling.html#discriminator. */
export interface Discriminator {
  readonly type: string;
  readonly path: string;
}

/**
 * Compiles the membership in a slice: discriminators `value`, `pattern` and `exists` with paths of names, `type` and
 * `profile` also behind `resolve()`.
 *
 * @returns undefined if a discriminator is of another kind, or the slice gives no value for it
 */
export function compileSlice(
  model: FhirModel,
  slice: ElementRules,
  discriminators: readonly Discriminator[],
): SliceTest | undefined {
  const tests = discriminators.map((discriminator) => compileTest(model, slice, discriminator));
  if (tests.length === 0 || tests.includes(undefined)) return undefined;
  return (item) => allOf(tests.map((test) => () => test!(item)));
}

/** False if any test is false; otherwise undefined if any is undefined. */
function allOf(tests: readonly (() => boolean | undefined)[]): boolean | undefined {
  let all: boolean | undefined = true;
  for (const test of tests) {
    const holds = test();
    if (holds === false) return false;
    all &&= holds;
  }
  return all;
}

/** True if any result is true; otherwise undefined if any is undefined. */
function anyOf(results: readonly (boolean | undefined)[]): boolean | undefined {
  return results.includes(true) ? true : results.includes(undefined) ? undefined : false;
}

function compileTest(model: FhirModel, slice: ElementRules, { type, path }: Discriminator): SliceTest | undefined {
  if (path === 'resolve()' || path.endsWith('.resolve()')) {
    return compileTargetTest(slice, type, path.split('.').slice(0, -1));
  }
  const names = path === '$this' ? [] : path.split('.');
  if (!names.every((name) => /^[A-Za-z]\w*$/.test(name))) return undefined;
  switch (type) {
    case 'value':
    case 'pattern': {
      const matches = expectedAt(slice, names);
      return matches === undefined ? undefined : ({ value }) => valuesAt(value, names).some(matches);
    }
    case 'type': {
      if (names.length > 0) return compileConformance(model, slice, names, false);
      const types = new Set(slice.types.map((rule) => rule.type));
      return types.size === 0 ? undefined : (item) => [...types].some((name) => model.isA(item.type, name));
    }
    case 'profile':
      return compileConformance(model, slice, names, true);
    case 'exists': {
      const rules = rulesAt(slice, names);
      if (rules === undefined) return undefined;
      const wanted = rules.max === 0 ? false : rules.min > 0 ? true : undefined;
      return wanted === undefined ? undefined : ({ value }) => valuesAt(value, names).length > 0 === wanted;
    }
    default:
      return undefined;
  }
}

/** Tests the type, or the profile, of a value: of an item, or of a resource inside it. */
function compileConformance(
  model: FhirModel,
  slice: ElementRules,
  names: readonly string[],
  withProfile: boolean,
): SliceTest | undefined {
  const types = rulesAt(slice, names)?.types ?? [];
  const isResource = (type: string): boolean => model.typeDefinition(type)?.kind === 'resource';
  // The type of other values cannot be determined.
  if (types.length === 0 || (names.length > 0 && !types.every(({ type }) => isResource(type)))) return undefined;
  if (withProfile && types.every(({ type, profiles }) => profiles.length === 0 && !isResource(type))) return undefined;
  return (item) =>
    valuesAt(item.value, names).some((value) => {
      if (!isJsonObject(value)) return false;
      const type = typeof value['resourceType'] === 'string' ? value['resourceType'] : item.type;
      const fitting = types.filter((rule) => model.isA(type, rule.type));
      if (!withProfile || fitting.some(({ profiles }) => profiles.length === 0)) return fitting.length > 0;
      return (
        fitting.length > 0 &&
        item.conforms(
          value,
          type,
          fitting.flatMap(({ profiles }) => profiles),
        )
      );
    });
}

/** Tests the type, or the profile, of the target of a reference. */
function compileTargetTest(slice: ElementRules, kind: string, names: readonly string[]): SliceTest | undefined {
  if ((kind !== 'type' && kind !== 'profile') || !names.every((name) => /^[A-Za-z]\w*$/.test(name))) return undefined;
  const rules = rulesAt(slice, names)?.types.flatMap(({ targets }) => targets ?? []) ?? [];
  if (rules.length === 0) return undefined;
  return ({ value, targets, conforms }) =>
    anyOf(
      valuesAt(value, names).map((reference) => {
        if (!isJsonObject(reference)) return false;
        const type = targets.type(reference);
        if (type === undefined) return undefined;
        const demands = rules.flatMap((rule) => rule.get(type) ?? []);
        if (!rules.some((rule) => rule.has(type))) return false;
        if (kind === 'type' || rules.some((rule) => rule.get(type)?.length === 0)) return true;
        const target = targets.resource(reference);
        return target === undefined ? undefined : conforms(target, type, demands);
      }),
    );
}

/** The test of a slice for the value at a path: a fixed value, a pattern or a required binding. */
function expectedAt(slice: ElementRules, names: readonly string[]): ((value: unknown) => boolean) | undefined {
  // The url of an extension is that of its definition.
  const [extension] = slice.types.filter(({ type }) => type === 'Extension');
  const [profile] = extension?.profiles ?? [];
  if (names.join() === 'url' && profile !== undefined) return (value) => value === withoutVersion(profile);
  let rules: ElementRules | undefined = slice;
  for (const [index, name] of [...names, undefined].entries()) {
    const rest = names.slice(index);
    const test = rules === undefined ? undefined : testOf(rules, rest);
    if (test !== undefined) return test;
    if (name !== undefined) rules = childOf(rules, name);
  }
  return undefined;
}

function testOf(
  { fixed, pattern, codes }: ElementRules,
  rest: readonly string[],
): ((value: unknown) => boolean) | undefined {
  if (rest.length > 0) {
    const expected = valuesAt((fixed ?? pattern)?.value, rest);
    return expected.length === 0 ? undefined : (value) => expected.some((one) => matchesPattern(value, one));
  }
  if (fixed !== undefined) return (value) => sameJson(value, fixed.value);
  if (pattern !== undefined) return (value) => matchesPattern(value, pattern.value);
  return codes === undefined ? undefined : (value) => hasCodeOf(codes.codes, value);
}

function rulesAt(slice: ElementRules, names: readonly string[]): ElementRules | undefined {
  return names.reduce<ElementRules | undefined>(childOf, slice);
}

function childOf(rules: ElementRules | undefined, name: string): ElementRules | undefined {
  return rules?.children.find((child) => child.name === name || child.name === `${name}[x]`);
}

/** The values at a path of names, lists opened; a choice by its base name. */
function valuesAt(value: unknown, names: readonly string[]): readonly unknown[] {
  let values: readonly unknown[] = value === undefined || value === null ? [] : [value];
  for (const name of names) {
    values = values.flatMap((one) => {
      if (!isJsonObject(one)) return [];
      const keys = Object.hasOwn(one, name)
        ? [name]
        : Object.keys(one).filter((key) => key.startsWith(name) && /^[A-Z]/.test(key.slice(name.length)));
      return keys.flatMap((key) => one[key] ?? []);
    });
  }
  return values;
}

/** True if a value has everything in a pattern. See https://hl7.org/fhir/R4/elementdefinition-definitions.html#ElementDefinition.pattern_x_. */
export function matchesPattern(value: unknown, pattern: unknown): boolean {
  if (Array.isArray(pattern)) {
    return Array.isArray(value) && pattern.every((one) => value.some((item) => matchesPattern(item, one)));
  }
  if (!isJsonObject(pattern)) return sameJson(value, pattern);
  return isJsonObject(value) && Object.keys(pattern).every((name) => matchesPattern(value[name], pattern[name]));
}

/** True if a code, Coding, CodeableConcept or Quantity has a code of the set. */
export function hasCodeOf(codes: CodeSet, value: unknown): boolean {
  if (typeof value === 'string') return codes.has(value, undefined);
  if (!isJsonObject(value)) return false;
  const { code, system } = value;
  if (typeof code === 'string') return codes.has(code, typeof system === 'string' ? system : '');
  return objectsOf(value['coding']).some((coding) => hasCodeOf(codes, coding));
}
