import { referenceTo } from '../../fhir/reference.js';
import type { CallOptions } from '../../store/call-options.js';
import type { HistoryEntry, HistoryPage, VersionRange } from '../../store/history.js';
import { READ_TUNING, readInParts } from '../../store/every-page.js';
import type { ResourceKey } from '../../store/resource-key.js';
import type { ResourceStore } from '../../store/store.js';
import type { ReadResult, StoredResource } from '../../store/stored-resource.js';
import { ShortPage, TextBudget } from '../../store/text-budget.js';
import { ATTEMPTS, Overtaken, withRetries } from '../../store/with-retries.js';
import { type Caller, homeOf } from '../caller.js';
import type { GuardedKey } from '../contract.js';
import { decide, isUnrestricted } from '../decide.js';
import { answeredBy, evaluateCriteria, NO_OVERLAY, subjectOnUse } from '../evaluate/evaluate-criteria.js';
import { grantsOf, joinedByFields } from '../evaluate/granting-rules.js';
import { loadMemberUsers, mentionsMemberUsers, withMemberUsers } from '../evaluate/member-users.js';
import { maskInside, maskResource, type Origins, withMasked } from '../fields/mask-resource.js';
import type { AccessRule } from '../rule.js';

/** The context of a read. */
export interface Reading {
  readonly store: ResourceStore;
  readonly caller: Caller;
  readonly options: CallOptions | undefined;
  /** Filled with the stored resources behind masked ones, if given. */
  readonly origins?: Origins | undefined;
}

/**
 * Behind `GuardedStore.read`: hidden resources are missing, and visible ones lack their hidden fields.
 *
 * A deletion is visible if a rule grants the whole type; other rules cannot decide whether they granted the resource.
 */
export async function readVisible(reading: Reading, keys: readonly GuardedKey[]): Promise<readonly ReadResult[]> {
  if (keys.length > READ_TUNING.keysAtOnce) {
    return readInParts(keys, reading.options, (part) => readVisible(reading, part));
  }
  const { store, caller, options, origins } = reading;
  const decided = keys.map(({ type, version }) => decide(caller, type, version === undefined ? 'read' : 'vread'));
  const allowed = [...keys.keys()].filter((index) => decided[index] !== null);
  const asked = allowed.map((index) => fullKey(keys[index]!, caller, decided[index]!));
  if (asked.length === 0) return keys.map(() => MISSING);
  if (caller.kind === 'member' || !decided.every((rules) => rules !== null && isUnrestricted(rules))) {
    return readGranted(reading, keys.length, decided, allowed, asked);
  }
  const results = await store.read(asked, options);
  return results.map((one) =>
    one.status === 'found' ? withMasked(one, maskInside(one.resource, undefined), origins) : one,
  );
}

/**
 * @param decided the rules for each key; null: it may not be read
 * @param allowed the positions of the readable keys
 * @param asked their keys in the store
 */
async function readGranted(
  reading: Reading,
  length: number,
  decided: readonly (readonly AccessRule[] | null)[],
  allowed: readonly number[],
  asked: readonly ResourceKey[],
): Promise<readonly ReadResult[]> {
  const { store, options } = reading;
  const current = asked.flatMap(({ version, ...key }): ResourceKey[] => (version === undefined ? [] : [key]));
  const found = await store.read([...asked, ...current], options);
  const nows = new Map(current.map(({ type, id }, index) => [referenceTo(type, id), found[asked.length + index]!]));
  const answers = Array.from({ length }, (): ReadResult => MISSING);
  // Keys of one type are decided together, so that rules with chains cost one query per type.
  for (const group of Map.groupBy(
    asked.keys(),
    (at) => `${asked[at]!.type} ${asked[at]!.version === undefined}`,
  ).values()) {
    const [first] = group as [number];
    const { type, version } = asked[first]!;
    const each = await resolved(reading, decided[allowed[first]!]!);
    // An older version is visible if a single rule grants both it and the current resource.
    const rules = version === undefined ? joinedByFields(each) : each;
    const now = group.map((at) => (version === undefined ? found[at]! : nows.get(referenceTo(type, asked[at]!.id))!));
    const ids = group.map((at) => asked[at]!.id);
    const granted = await grantsNow(reading, type, rules, now, ids);
    for (const [index, at] of group.entries()) {
      const { row, rules: granting } = granted[index]!;
      const result = version === undefined ? row : found[at]!;
      answers[allowed[at]!] = await visibleVersion(reading, result, granting, version === undefined);
    }
  }
  return answers;
}

/**
 * Behind `GuardedStore.history`: the versions granted by rules that also grant the current resource. An Observation
 * moved to the right patient must not reveal the previous patient.
 */
export async function historyVisible(reading: Reading, key: GuardedKey, page: VersionRange): Promise<HistoryPage> {
  const { store, caller, options } = reading;
  const decided = decide(caller, key.type, 'history');
  if (decided === null) return NO_VERSIONS;
  const rules = await resolved(reading, decided);
  const { type, id } = key;
  const project = homeOf(type, caller);
  return withRetries({ attempts: ATTEMPTS.read, signal: options?.signal }, async ({ isLast }) => {
    const now = await store.read([{ project, type, id }], options);
    const [decided] = (await grantsNow(reading, type, rules, now, [id])) as [DecidedRow];
    if (decided.rules.length === 0) return NO_VERSIONS;
    if (openRules(decided.rules).length > 0) {
      const versions = await store.history({ project, type, id }, page, options);
      return { entries: await visibleEntries(reading, versions.entries, decided.rules), total: versions.total };
    }
    const versions = await readHistory(reading, { project, type, id }, decided, page, isLast);
    return versions ?? new Overtaken();
  });
}

function isVersion({ versionId }: HistoryEntry, row: ReadResult): boolean {
  return row.status !== 'missing' && row.versionId === versionId;
}

async function visibleEntries(
  reading: Reading,
  entries: readonly HistoryEntry[],
  rules: readonly AccessRule[],
): Promise<readonly HistoryEntry[]> {
  const visible: HistoryEntry[] = [];
  for (const entry of entries) {
    const seen = await visibleEntry(reading, entry, rules);
    if (seen !== undefined) visible.push(seen);
  }
  return visible;
}

const MISSING: ReadResult = Object.freeze({ status: 'missing' });
const NO_VERSIONS: HistoryPage = Object.freeze({ entries: Object.freeze([]), total: 0 });

/** The key in the store, without `elements` if the rules need the whole resource to decide. */
function fullKey(key: GuardedKey, caller: Caller, rules: readonly AccessRule[]): ResourceKey {
  const { type, id, version } = key;
  const elements = rules.every(isOpen) ? key.elements : undefined;
  return { project: homeOf(type, caller), type, id, version, elements };
}

export async function resolved(
  { store, caller, options }: Reading,
  rules: readonly AccessRule[],
): Promise<readonly AccessRule[]> {
  if (!rules.some(({ criteria }) => mentionsMemberUsers(criteria))) return rules;
  const users = await loadMemberUsers(store, caller, options);
  return rules.map((rule) => ({ ...rule, criteria: withMemberUsers(rule.criteria, users) }));
}

/** The current resource, and the rules that grant it. */
interface DecidedRow {
  readonly row: ReadResult;
  readonly rules: readonly AccessRule[];
}

/** For each current resource, the rules that grant it; for a deleted one, the rules that grant the whole type. */
export async function grantsNow(
  { store, caller, options }: Reading,
  type: string,
  rules: readonly AccessRule[],
  nows: readonly ReadResult[],
  ids: readonly string[],
): Promise<readonly DecidedRow[]> {
  const found = nows.filter((now) => now.status === 'found');
  const granted = (await grantsOf(store, homeOf(type, caller), type, rules, found, options, ids)).values();
  return nows.map((now) => (now.status === 'found' ? granted.next().value! : { row: now, rules: openRules(rules) }));
}

export function openRules(rules: readonly AccessRule[]): readonly AccessRule[] {
  return rules.filter(isOpen);
}

function isOpen({ criteria }: AccessRule): boolean {
  return criteria.kind === 'all';
}

async function visibleVersion(
  reading: Reading,
  result: ReadResult,
  grants: readonly AccessRule[],
  isCurrent: boolean,
): Promise<ReadResult> {
  if (result.status !== 'found') return openRules(grants).length > 0 ? result : MISSING;
  const granting = isCurrent ? grants : await grantsOfVersion(reading, result, grants);
  return granting.length === 0 ? MISSING : masked(reading, result, granting);
}

export async function visibleEntry<Entry extends HistoryEntry>(
  reading: Reading,
  entry: Entry,
  grants: readonly AccessRule[],
): Promise<Entry | undefined> {
  if (entry.kind === 'delete') return openRules(grants).length > 0 ? entry : undefined;
  const granting = await grantsOfVersion(reading, entry, grants);
  return granting.length === 0 ? undefined : masked(reading, entry as Entry & StoredResource, granting);
}

async function grantsOfVersion(
  { store, caller, options }: Reading,
  { resource }: StoredResource,
  grants: readonly AccessRule[],
): Promise<readonly AccessRule[]> {
  const scope = {
    model: store.model,
    project: homeOf(resource.resourceType, caller),
    overlay: NO_OVERLAY,
    now: Date.now(),
  };
  const granting: AccessRule[] = [];
  const subject = subjectOnUse(resource, scope);
  for (const rule of grants) {
    const holds = evaluateCriteria(rule.criteria, subject, scope);
    if (await answeredBy(store, holds, options)) granting.push(rule);
  }
  return granting;
}

function masked<Row extends StoredResource>(
  { caller, origins }: Reading,
  row: Row,
  grants: readonly AccessRule[],
): Row {
  const all = caller.kind === 'member' ? caller.rules : undefined;
  const resource = maskResource(row.resource, grants, all);
  return withMasked(row, resource, origins);
}

/**
 * One page of the granted versions, and their number. All versions are read in batches, and only the page is kept.
 *
 * @returns undefined if the newest version is not the decided one; the last attempt skips newer versions instead
 */
async function readHistory(
  reading: Reading,
  key: ResourceKey,
  decided: DecidedRow,
  { offset, limit, shortens }: VersionRange,
  isLastAttempt: boolean,
): Promise<HistoryPage | undefined> {
  const entries: HistoryEntry[] = [];
  // A version written between two batches shifts the others by one, so that the next batch repeats one.
  const seen = new Set<string>();
  let total = 0;
  let isReached = false;
  const whole = reading.options?.budget;
  const floor = (whole?.left ?? 0) / 2;
  for (let read = 0; ;) {
    // Only what is kept counts: the versions of a batch are dropped before the next one.
    const budget = new TextBudget(whole?.left);
    const range = { offset: read, limit: VERSIONS_AT_ONCE, shortens: new ShortPage() };
    const batch = await reading.store.history(key, range, { ...reading.options, budget });
    const before = entries.length;
    for (const entry of batch.entries) {
      // Newer versions may have revoked this caller's access, also to the older ones.
      isReached ||= isVersion(entry, decided.row);
      if (!isReached && !isLastAttempt) return undefined;
      if (!isReached || seen.has(entry.versionId)) continue;
      seen.add(entry.versionId);
      const visible = await visibleEntry(reading, entry, decided.rules);
      if (visible === undefined) continue;
      if (total >= offset && entries.length < limit) {
        if (shortens !== undefined && entries.length > 0 && (whole?.left ?? 0) < floor) shortens.isCut = true;
        if (shortens?.isCut !== true) entries.push(visible);
      }
      total += 1;
    }
    if (entries.length > before) whole?.spend(budget.max - budget.left);
    read += batch.entries.length;
    if (batch.entries.length < VERSIONS_AT_ONCE && !range.shortens.isCut)
      return isReached || isLastAttempt ? { entries, total } : undefined;
  }
}

/** Bounds the memory for a long history. */
const VERSIONS_AT_ONCE = 50;
