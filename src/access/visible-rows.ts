import { createSubject } from '../search/search-subject.js';
import { and } from '../search/criteria.js';
import { matches } from '../search/match.js';
import type { CallOptions, ResourceStore, StoredResource } from '../store/store.js';
import { isUnrestricted } from './decide.js';
import { isLocal, NOTHING_ELSE } from './evaluate-criteria.js';
import { maskResource } from './mask-resource.js';
import type { AccessRule, AccessRules } from './policy/rule.js';

/**
 * Which of the rules grant each of some resources.
 *
 * Rules that can be decided from the resource alone are; for the others the store is asked once per rule.
 *
 * @param ids what to ask the store about. A caller that read them and found less gives all of them, so that neither the
 * number of calls nor their time tells what is there unseen. Default: those of the rows.
 */
export async function grantsOf(
  store: ResourceStore,
  project: string,
  type: string,
  rules: readonly AccessRule[],
  rows: readonly StoredResource[],
  options?: CallOptions,
  ids: readonly string[] = rows.map(({ resource }) => resource.id!),
): Promise<readonly (readonly AccessRule[])[]> {
  const grants = rows.map((): AccessRule[] => []);
  let subjects: ReturnType<typeof createSubject>[] | undefined;
  for (const rule of rules) {
    if (rule.criteria.kind === 'all') {
      for (const granted of grants) granted.push(rule);
    } else if (isLocal(rule.criteria)) {
      subjects ??= rows.map(({ resource, lastUpdated }) => createSubject(resource, lastUpdated));
      subjects.forEach((subject, index) => {
        if (matches(rule.criteria, subject, NOTHING_ELSE)) grants[index]!.push(rule);
      });
    } else if (ids.length > 0) {
      const criteria = and([{ kind: 'id', ids }, rule.criteria]);
      const page = await store.search({ project, type, criteria }, options);
      const granted = new Set(page.matches.map(({ resource }) => resource.id));
      rows.forEach(({ resource }, index) => {
        if (granted.has(resource.id)) grants[index]!.push(rule);
      });
    }
  }
  return grants;
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
    return resource === row.resource ? row : { ...row, resource };
  };
  // Everything found is granted by some rule; which one matters only where they hide different fields.
  const [first, ...others] = rules;
  const alike = others.every(({ hidden }) => hidden.join() === first!.hidden.join());
  if (alike || isUnrestricted(rules)) {
    const grants = isUnrestricted(rules) ? rules.filter(({ criteria }) => criteria.kind === 'all') : rules;
    return rows.map((row) => mask(row, grants));
  }
  const grants = await grantsOf(store, project, type, rules, rows, options);
  return rows.map((row, index) => mask(row, grants[index]!));
}
