import { createSubject, EMPTY_WORLD } from '../../search/evaluate/search-subject.js';
import { and, or } from '../../search/criteria/criteria.js';
import { simplifyCriteria } from '../../search/criteria/simplify-criteria.js';
import { localized } from '../../search/evaluate/localized.js';
import { matches } from '../../search/evaluate/match.js';
import type { CallOptions, ResourceStore, StoredResource } from '../../store/store.js';
import { baseUrlOf } from '../../store/with-base-url.js';
import { ATTEMPTS, Overtaken, withRetries } from '../../store/with-retries.js';
import { isUnrestricted } from '../decide.js';
import { isLocal } from './evaluate-criteria.js';
import { maskResource, withMasked } from '../fields/mask-resource.js';
import { unrestrictedRule, type AccessRule, type AccessRules } from '../rule.js';

/** A version of a resource, and the rules that grant that very version. */
export interface GrantedRow<Row extends StoredResource = StoredResource> {
  /** The row that was asked about, or a newer version of it that a search for a rule came upon. */
  readonly row: Row;
  readonly rules: readonly AccessRule[];
}

/**
 * Which of the rules grant each of some resources.
 *
 * Rules that can be decided from the resource alone are; for the others the store is asked once per rule. Such a search may
 * see a newer version than the one that was read before. The rule then grants that version and says nothing of the older
 * one, so the newer version takes its place.
 *
 * @param ids what to ask the store about. A caller that read them and found less gives all of them, so that
 * the calls do not depend on what exists unseen. Default: those of the rows.
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
  const subjects = new Map<Row, ReturnType<typeof createSubject>>();
  return rows.map((asked) => {
    const row = newestOf(asked, found);
    const grants = (rule: AccessRule): boolean => {
      if (rule.criteria.kind === 'all') return true;
      const searched = found.get(rule);
      if (searched !== undefined) return searched.get(row.resource.id!)?.versionId === row.versionId;
      if (!isLocal(rule.criteria)) return false;
      let subject = subjects.get(row);
      if (subject === undefined)
        subjects.set(
          row,
          (subject = localized(createSubject(store.model, row.resource, row.lastUpdated), baseUrlOf(store))),
        );
      return matches(rule.criteria, subject, EMPTY_WORLD);
    };
    return { row, rules: rules.filter(grants) };
  });
}

/**
 * The rules with those that hide the same fields as one: which of them grants a resource makes no difference to what is
 * seen of it, and the store is asked once for all. Not for older versions, which one rule must grant beside the newest.
 */
export function joinedByFields(rules: readonly AccessRule[]): readonly AccessRule[] {
  return [...Map.groupBy(rules, ({ hidden }) => hidden.join()).values()].map((alike) => {
    const [first] = alike as [AccessRule];
    if (alike.length === 1) return first;
    return { ...first, criteria: simplifyCriteria(or(alike.map(({ criteria }) => criteria))) };
  });
}

/** By rule that needs a search: what it found, by id. */
type Searched = ReadonlyMap<AccessRule, ReadonlyMap<string, StoredResource>>;

/** Searches again, a few times, while writers come between the searches for two rules: both are to judge one version. */
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

/** The version that the last search saw, which no later one is known of; the row itself where none saw another. */
function newestOf<Row extends StoredResource>(row: Row, searched: Searched): Row {
  const seen = [...searched.values()].flatMap((found) => found.get(row.resource.id!) ?? []).at(-1);
  if (seen === undefined || seen.versionId === row.versionId) return row;
  const { versionId, lastUpdated, resource } = seen;
  return { ...row, versionId, lastUpdated, resource };
}

/**
 * Resources that a search under these rules found, without what the rules hide.
 *
 * @param all the caller's rules of other types, which hold for contained resources too
 */
export async function maskFound(
  store: ResourceStore,
  project: string,
  type: string,
  rules: readonly AccessRule[],
  all: AccessRules | undefined,
  rows: readonly StoredResource[],
  options?: CallOptions,
): Promise<readonly StoredResource[]> {
  const mask = (row: StoredResource, grants: readonly AccessRule[]): StoredResource => {
    const resource = maskResource(row.resource, grants, all);
    return withMasked(row, resource);
  };
  // Everything found is granted by some rule; which one matters only where they hide different fields.
  const [first, ...others] = rules;
  const alike = others.every(({ hidden }) => hidden.join() === first!.hidden.join());
  if (alike || isUnrestricted(rules)) {
    return rows.map((row) => mask(row, rules));
  }
  const granted = await grantsOf(store, project, type, joinedByFields(rules), rows, options);
  const unknown = unrestrictedRule('whichever rule granted it', [...new Set(rules.flatMap(({ hidden }) => hidden))]);
  return rows.map((found, index) => {
    const { row, rules } = granted[index]!;
    // Some rule granted the version that was found. If it has changed since, nobody knows which rule, so whatever any of them hides is hidden.
    return mask(found, row === found && rules.length > 0 ? rules : [unknown]);
  });
}
