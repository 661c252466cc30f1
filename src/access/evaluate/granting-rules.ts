import { referenceTo } from '../../fhir/reference.js';
import { oncePer } from '../../platform/collections.js';
import { mapInTurns } from '../../platform/pace.js';
import { and, type Criteria, or, simplifyCriteria } from '../../search/criteria/criteria.js';
import { matches } from '../../search/evaluate/match.js';
import { createSubject, EMPTY_WORLD, type SearchSubject } from '../../search/evaluate/search-subject.js';
import { type CallOptions } from '../../store/call-options.js';
import { CallPace } from '../../store/guards.js';
import type { ResourceKey } from '../../store/resource-key.js';
import type { ResourceStore } from '../../store/store.js';
import type { StoredResource, ReadResult } from '../../store/stored-resource.js';
import { ATTEMPTS, Overtaken, withRetries } from '../../store/with-retries.js';
import type { MemberCaller } from '../caller.js';
import { isUnrestricted, decide } from '../decide.js';
import { hiddenByAll, maskResource, type Origins, withMasked } from '../fields/mask-resource.js';
import { unrestrictedRule, type AccessRule, type AccessRules } from '../rule.js';
import { isLocal } from './evaluate-criteria.js';
import { withMemberUsers } from './member-users.js';

/** A version of a resource with the rules that grant this version. */
interface GrantedRow<Row extends StoredResource = StoredResource> {
  /** The requested row, or a newer version found by a search for a rule. */
  readonly row: Row;
  readonly rules: readonly AccessRule[];
}

/**
 * Finds the rules that grant each of the resources.
 *
 * Rules without chains are decided from the resource alone; the others take one search each. Such a search may see a
 * newer version than the read before it. The rule then grants that version and not the older one, so the newer version
 * replaces it.
 *
 * @param ids the ids to query. A caller that found fewer resources passes all requested ids, so that the calls do not
 * depend on hidden resources. Default: those of the rows.
 */
export async function grantsOf<Row extends StoredResource>(
  store: ResourceStore,
  project: string,
  type: string,
  rules: readonly AccessRule[],
  rows: readonly Row[],
  options?: CallOptions,
  ids: readonly string[] = rows.map(({ resource }) => resource.id!),
): Promise<readonly GrantedRow<Row>[]> {
  const found = await searchAgreed(store, project, type, rules, rows, options, ids);
  const local = new Set(rules.filter(({ criteria }) => isLocal(criteria)));
  return mapInTurns(rows, new CallPace(options), (asked) => {
    const row = newestOf(asked, found);
    let subject: SearchSubject | undefined;
    const grants = (rule: AccessRule): boolean => {
      if (rule.criteria.kind === 'all') return true;
      const searched = found.get(rule);
      if (searched !== undefined) return searched.get(row.resource.id!)?.versionId === row.versionId;
      if (!local.has(rule)) return false;
      subject ??= createSubject(store.model, row.resource, row.lastUpdated);
      return matches(rule.criteria, subject, EMPTY_WORLD);
    };
    return { row, rules: rules.filter(grants) };
  });
}

/**
 * Joins rules that hide the same fields: they show the same elements, and the store is queried once. Not usable
 * for older versions, since a single rule must grant both them and the newest version.
 */
export const joinedByFields: (rules: readonly AccessRule[]) => readonly AccessRule[] = oncePer(joined);

function joined(rules: readonly AccessRule[]): readonly AccessRule[] {
  return [...Map.groupBy(rules, ({ hidden }) => hidden.join()).values()].map((alike) => {
    const [first] = alike as [AccessRule];
    if (alike.length === 1) return first;
    return { ...first, criteria: simplifyCriteria(or(alike.map(({ criteria }) => criteria))) };
  });
}

/** The results by id of each rule that needs a search. */
type Searched = ReadonlyMap<AccessRule, ReadonlyMap<string, StoredResource>>;

/** Searches again if writers came between the searches for two rules: all must evaluate one version. */
async function searchAgreed(
  store: ResourceStore,
  project: string,
  type: string,
  rules: readonly AccessRule[],
  rows: readonly StoredResource[],
  options: CallOptions | undefined,
  ids: readonly string[],
): Promise<Searched> {
  const chained = ids.length === 0 ? [] : rules.filter(({ criteria }) => !isLocal(criteria));
  if (chained.length === 0) return NOTHING_SEARCHED;
  return withRetries({ attempts: ATTEMPTS.read, signal: options?.signal }, async ({ isLast }) => {
    const searched = new Map<AccessRule, Map<string, StoredResource>>();
    for (const rule of chained) {
      const page = await store.search({ project, type, criteria: and([{ kind: 'id', ids }, rule.criteria]) }, options);
      searched.set(rule, new Map(page.matches.map((match) => [match.resource.id!, match])));
    }
    const agreed = rows.every(({ resource }) => {
      const versions = [...searched.values()].flatMap((found) => found.get(resource.id!)?.versionId ?? []);
      return versions.every((version) => version === versions[0]);
    });
    return agreed || isLast ? searched : new Overtaken();
  });
}

const NOTHING_SEARCHED: Searched = new Map();

/** The newest version found by the searches; the row itself if none found another. */
function newestOf<Row extends StoredResource>(row: Row, searched: Searched): Row {
  const seen = [...searched.values()].flatMap((found) => found.get(row.resource.id!) ?? []).at(-1);
  if (seen === undefined || seen.versionId === row.versionId) return row;
  const { versionId, lastUpdated, resource } = seen;
  return { ...row, versionId, lastUpdated, resource };
}

/**
 * True if results of a search are masked alike by every rule that may grant them: nothing is decided from the resource.
 */
export function areMaskedAlike(rules: readonly AccessRule[]): boolean {
  // Some rule grants each result; the particular rule matters only if they hide different fields.
  const [first, ...others] = rules;
  return isUnrestricted(rules) || others.every(({ hidden }) => hidden.join() === first!.hidden.join());
}

/**
 * Masks the results of a search under these rules.
 * @param all the caller's rules of other types, which also apply to contained resources
 */
export async function maskFound(
  store: ResourceStore,
  project: string,
  type: string,
  rules: readonly AccessRule[],
  all: AccessRules | undefined,
  rows: readonly StoredResource[],
  options?: CallOptions,
  origins?: Origins,
): Promise<readonly StoredResource[]> {
  const mask = (row: StoredResource, grants: readonly AccessRule[]): StoredResource => {
    const resource = maskResource(row.resource, grants, all);
    return withMasked(row, resource, origins);
  };
  if (areMaskedAlike(rules)) {
    // Nothing is copied for most callers.
    if (hiddenByAll(rules).length === 0) return rows.map((row) => mask(row, rules));
    return mapInTurns(rows, new CallPace(options), (row) => mask(row, rules));
  }
  const granted = await grantsOf(store, project, type, joinedByFields(rules), rows, options);
  const unknown = unrestrictedRule('any rule that granted it', [...new Set(rules.flatMap(({ hidden }) => hidden))]);
  return mapInTurns(rows, new CallPace(options), (found, index) => {
    const { row, rules } = granted[index]!;
    // Some rule granted the version found. If it has changed since, that rule is unknown, so fields hidden by any rule
    // are hidden.
    return mask(found, row === found && rules.length > 0 ? rules : [unknown]);
  });
}

/** A resource to be written, before the write, with the rules that grant that version. */
export interface GrantedBefore {
  readonly row: StoredResource;
  readonly rules: ReadonlySet<AccessRule>;
}

/**
 * Finds the rules that grant the existing resources to be written, before the write, by `Type/id`.
 *
 * The store is queried for every key, whether or not the resource exists. Otherwise timing would reveal the existence
 * of hidden resources.
 *
 * @param found the results of reading the keys, one per key
 * @param memberUsers see {@link withMemberUsers}; undefined if no rule needs them
 */
export async function grantedBefore(
  { store, caller }: { readonly store: ResourceStore; readonly caller: MemberCaller },
  keys: readonly ResourceKey[],
  found: readonly ReadResult[],
  memberUsers: Criteria | undefined,
  options: CallOptions | undefined,
): Promise<ReadonlyMap<string, GrantedBefore>> {
  const granted = new Map<string, GrantedBefore>();
  for (const [type, group] of Map.groupBy(keys.keys(), (index) => keys[index]!.type)) {
    const rules = rulesFor(type, caller);
    const resolved = rules.map((rule) =>
      memberUsers === undefined ? rule : { ...rule, criteria: withMemberUsers(rule.criteria, memberUsers) },
    );
    const rows = group.map((index) => found[index]!).filter((one) => one.status === 'found');
    const original = new Map(resolved.map((rule, index) => [rule, rules[index]!]));
    const ids = [...new Set(group.map((index) => keys[index]!.id))];
    const decided = await grantsOf(store, keys[group[0]!]!.project, type, resolved, rows, options, ids);
    for (const { row, rules: granting } of decided) {
      const own = granting.map((rule) => original.get(rule)!);
      granted.set(referenceTo(type, row.resource.id!), { row, rules: new Set(own) });
    }
  }
  return granted;
}

/** The rules that decide whether a resource exists for a writer. */
function rulesFor(type: string, caller: MemberCaller): readonly AccessRule[] {
  const rules = (['read', 'update', 'delete'] as const).flatMap(
    (interaction) => decide(caller, type, interaction) ?? [],
  );
  return [...new Set(rules)];
}
