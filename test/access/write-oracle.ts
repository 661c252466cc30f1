import { isDeepStrictEqual } from 'node:util';
import type { AnyResource } from '../../src/fhir/resource.js';
import { compileFhirPath } from '../../src/fhirpath/compile.js';
import { union, without, type Oracle, type OracleRule } from './oracle.js';
import type { Json } from './world.js';

/** What must be stored, and the rule that lets it be. */
export interface Written {
  readonly after: AnyResource;
  readonly rule: OracleRule;
}

/**
 * What becomes of a resource when a caller writes it: the rules are tried one after the other, each with plain copies.
 *
 * @param before what is stored; undefined: something new is created
 * @returns undefined where the write must be refused
 */
export function outcomeOfPut(oracle: Oracle, before: AnyResource | undefined, asked: AnyResource): Written | undefined {
  const rules =
    before === undefined ? oracle.rulesFor(asked.resourceType, 'create') : oracle.granting('update', before);
  const readers = before === undefined ? [] : oracle.granting('read', before);
  for (const rule of rules) {
    const after = throughRule(oracle, rule, readers, before, asked);
    if (after !== undefined) return { after, rule };
  }
  return undefined;
}

/** What a writer is shown of what it wrote: what it may read, or else what it wrote but for fields it cannot change. */
export function resultOfPut(oracle: Oracle, asked: AnyResource, { after, rule }: Written): AnyResource {
  const readers = oracle.granting('read', after);
  if (readers.length > 0) return oracle.mask(after, readers);
  return oracle.mask(asked, [{ hidden: [...rule.hidden, ...rule.readonlyFields] }]);
}

function throughRule(
  oracle: Oracle,
  rule: OracleRule,
  readers: readonly OracleRule[],
  before: AnyResource | undefined,
  asked: AnyResource,
): AnyResource | undefined {
  const own = [...rule.hidden, ...rule.readonlyFields];
  const eyes = readers.length > 0 ? readers : [{ ...rule, hidden: own }];
  // Naming a field that cannot be seen is refused, whatever its value.
  const nameable = union(
    asked,
    eyes.map(({ hidden }) => without(asked, hidden)),
  );
  if (!isDeepStrictEqual(nameable, asked)) return undefined;
  const visible = own.flatMap(typedForms).filter((field) => !eyes.every((one) => hides(one, field)));
  const after = before === undefined ? asked : withKept(before, oracle.mask(before, eyes), asked, visible);
  if (after === undefined || !oracle.wouldGrant(rule, after)) return undefined;
  const holds = rule.constraints.every((expression) =>
    isDeepStrictEqual(compileFhirPath(expression, after.resourceType)(after, { before: before ?? [], after }), [true]),
  );
  return holds ? after : undefined;
}

/** What is asked, with what is hidden or must not change as it was; undefined where it would change. */
function withKept(
  before: AnyResource,
  seen: AnyResource,
  asked: AnyResource,
  fixed: readonly string[],
): AnyResource | undefined {
  const [stored, shown, wanted] = [before, seen, asked] as unknown as [Json, Json, Json];
  const after: { [name: string]: unknown } = { ...wanted };
  for (const [name, value] of Object.entries(stored)) {
    if (isDeepStrictEqual(value, shown[name])) continue;
    // Something in it is hidden: it can be left as it is seen, not changed.
    if (!isDeepStrictEqual(wanted[name], shown[name])) return undefined;
    after[name] = value;
  }
  for (const path of fixed) {
    const head = path.split('.')[0]!;
    if (wanted[head] === undefined) {
      if (!isNothing(at(stored, path))) after[head] = stored[head];
    } else if (!sameAt(wanted, shown, path) && !isDeepStrictEqual(after[head], stored[head])) {
      return undefined;
    }
  }
  return after as unknown as AnyResource;
}

function hides({ hidden }: Pick<OracleRule, 'hidden'>, field: string): boolean {
  return hidden.flatMap(typedForms).some((one) => field === one || field.startsWith(`${one}.`));
}

/** The typed forms of a choice that the sample uses. */
function typedForms(path: string): string[] {
  return /^(component\.)?value$/.test(path) ? [`${path}Quantity`, `${path}String`] : [path];
}

function sameAt(one: Json, other: Json, path: string): boolean {
  const [here, there] = [at(one, path), at(other, path)];
  return isDeepStrictEqual(here, there) || (isNothing(here) && isNothing(there));
}

function isNothing(value: unknown): boolean {
  return Array.isArray(value) ? value.every(isNothing) : value === undefined;
}

function at(value: unknown, path: string): unknown {
  const [name, ...rest] = path.split('.');
  if (Array.isArray(value)) return value.map((item) => at(item, path));
  const inner = typeof value === 'object' && value !== null ? (value as Json)[name!] : undefined;
  return rest.length === 0 || inner === undefined ? inner : at(inner, rest.join('.'));
}
