import { loadFhirPath } from '../../src/fhirpath/library.js';
import type { AnyResource } from '../../src/index.js';
import { R4 } from '../../src/store.js';
import { isDeepStrictEqual } from 'node:util';
import { compileFhirPath } from '../../src/fhirpath/compile.js';
import type { Oracle, OracleRule } from './oracle.js';
import type { Json } from './world.js';

await loadFhirPath();

/** The resource that must be stored, and the rule that grants it. */
export interface Written {
  readonly after: AnyResource;
  readonly rule: OracleRule;
}

/** The member who writes. It is not an administrator. */
export interface Writer {
  readonly profile: string;
  /** The resources that were deleted, as `Patient/1`. */
  readonly deleted: ReadonlySet<string>;
}

/**
 * The result of a write of a resource by a caller. Fields that any rule hides are as the caller sees them, or absent from a
 * new resource. Then the rules are tried one after the other, each with separate copies.
 *
 * @param before the stored resource; undefined for a creation
 * @returns undefined if the write must be refused
 */
export function outcomeOfPut(
  oracle: Oracle,
  writer: Writer,
  before: AnyResource | undefined,
  asked: AnyResource,
): Written | undefined {
  const type = asked.resourceType;
  const rules = before === undefined ? oracle.rulesFor(type, 'create') : oracle.granting('update', before);
  const readers = before === undefined ? [] : oracle.granting('read', before);
  const shown = before === undefined ? undefined : readers.length > 0 ? oracle.mask(before, readers) : NOTHING_SHOWN;
  const kept = keptNames(oracle, asked, shown);
  if (kept === undefined) return undefined;
  const unread = readers.length === 0;
  const link = linkFixed(oracle, writer, asked);
  for (const rule of rules) {
    const readonly = unread && before !== undefined ? [...rule.readonlyFields, ...link] : rule.readonlyFields;
    const after = throughRule(readonly, { before, shown, unread }, asked, kept);
    if (after === undefined || !oracle.wouldGrant(rule, after)) continue;
    const holds = rule.constraints.every((expression) =>
      isDeepStrictEqual(compileFhirPath(R4, expression, type)(after, { before: before ?? [], after }), [true]),
    );
    if (holds) return keepsLink(writer, link, before, after) ? { after, rule } : undefined;
  }
  return undefined;
}

/** The elements of a RelatedPerson that decide about its access, and that this writer cannot change. */
function linkFixed(oracle: Oracle, { profile }: Writer, { resourceType, id }: AnyResource): readonly string[] {
  if (resourceType !== 'RelatedPerson') return [];
  if (`RelatedPerson/${id!}` === profile) return ['patient', 'active', 'period'];
  // Callers who are not administrators can set it only if they can read everything that it leads to.
  return oracle.opens('read', 'Patient') ? [] : ['patient'];
}

/** Deleted links cannot be restored, and no caller creates its own; links of other new resources are free. */
function keepsLink(
  { profile, deleted }: Writer,
  link: readonly string[],
  before: AnyResource | undefined,
  after: AnyResource,
): boolean {
  const name = `${after.resourceType}/${after.id!}`;
  if (before === undefined) return link.length === 0 || (name !== profile && !deleted.has(name));
  const [was, is] = [before, after] as unknown as [Json, Json];
  return link.every((element) => isDeepStrictEqual(was[element], is[element]));
}

const NOTHING_SHOWN = {} as AnyResource;

/** The part of a written resource that its writer sees: the elements that it can read, or else those that it sent. */
export function resultOfPut(oracle: Oracle, asked: AnyResource, { after }: Written): AnyResource {
  const readers = oracle.granting('read', after);
  return readers.length > 0 ? oracle.mask(after, readers) : asked;
}

/** The elements that keep their stored value; undefined if the caller would change an element that some rule hides. */
function keptNames(oracle: Oracle, asked: AnyResource, shown: AnyResource | undefined): Set<string> | undefined {
  const [wanted, seen] = [asked, shown ?? NOTHING_SHOWN] as unknown as [Json, Json];
  const guarded = guardedNames(oracle, asked.resourceType);
  const inside = guardedNames(oracle, 'Patient');
  const isPatient = (one: Json): boolean => one['resourceType'] === 'Patient';
  const [inner, shownInner] = [wanted, seen].map(({ contained = [] }) => (contained as Json[]).filter(isPatient));
  if (!guarded.has('contained')) {
    if (inside.size > 0 && shownInner!.length > 0) guarded.add('contained');
    else if (inner!.some((one) => Object.keys(one).some((name) => inside.has(name)))) return undefined;
  }
  const changed = [...guarded].some((name) => !isDeepStrictEqual(wanted[name], seen[name]));
  return changed ? undefined : guarded;
}

/** The elements of a type with a part that some rule hides, with all forms of a choice. */
function guardedNames(oracle: Oracle, type: string): Set<string> {
  const heads = oracle.allRules(type).flatMap(({ hidden }) => hidden.map((path) => path.split('.')[0]!));
  return new Set(heads.flatMap((head) => (head.startsWith('value') ? ['valueQuantity', 'valueString'] : [head])));
}

/** The requested resource, with hidden and unchangeable elements as stored; undefined if these would change. */
function throughRule(
  readonly: readonly string[],
  { before, shown, unread }: { before: AnyResource | undefined; shown: AnyResource | undefined; unread: boolean },
  asked: AnyResource,
  kept: ReadonlySet<string>,
): AnyResource | undefined {
  const fixed = readonly.flatMap(typedForms);
  const wanted = asked as unknown as Json;
  if (before === undefined) return fixed.some((path) => !isNothing(at(wanted, path))) ? undefined : asked;
  const [stored, seen] = [before, shown] as unknown as [Json, Json];
  const restored = new Set(kept);
  for (const path of fixed) {
    const head = path.split('.')[0]!;
    if (kept.has(head)) continue;
    if (unread && wanted[head] !== undefined) return undefined;
    if (wanted[head] === undefined) {
      if (unread || !isNothing(at(stored, path))) restored.add(head);
    } else if (!sameAt(wanted, seen, path)) return undefined;
  }
  const rest = Object.entries(wanted).filter(([name]) => !restored.has(name));
  const old = Object.entries(stored).filter(([name]) => restored.has(name));
  return Object.fromEntries([...rest, ...old]) as unknown as AnyResource;
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
