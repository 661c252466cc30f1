import { FhirError } from '../../fhir/error.js';
import { ALL, and, changedSince } from '../../search/criteria/criteria.js';
import type { SearchPosition } from '../../search/evaluate/sort.js';
import type { TypeHistoryEntry, TypeHistoryQuery, VersionPosition } from '../../store/history.js';
import type { SearchQuery } from '../../store/search-query.js';
import type { ReadResult } from '../../store/stored-resource.js';
import { ShortPage, TextBudget } from '../../store/text-budget.js';
import { homeOf } from '../caller.js';
import type { GuardedQuery, GuardedTypeHistory } from '../contract.js';
import { decide } from '../decide.js';
import type { AccessRule } from '../rule.js';
import { grantsNow, openRules, type Reading, resolved, visibleEntry } from './visible-reads.js';

/** Restricts a search by these rules; null if nothing can match. */
type RestrictSearch = (query: GuardedQuery, rules: readonly AccessRule[]) => Promise<SearchQuery | null>;

/**
 * Implements `GuardedStore.typeHistory`: each resource contributes the versions that its own history shows.
 *
 * Callers who see the whole type get the store's pages unchanged. For others, a page comes only from the resources that
 * they see, last changed first, so neither its length nor its cost depends on hidden resources.
 *
 * @throws FhirError `unsupported`, `too-costly`
 */
export async function typeHistoryVisible(
  reading: Reading,
  query: GuardedTypeHistory,
  restrict: RestrictSearch,
): Promise<readonly TypeHistoryEntry[]> {
  const { store, caller } = reading;
  if (store.typeHistory === undefined) {
    throw new FhirError('unsupported', 'The store of this service does not list the history of a type');
  }
  const decided = decide(caller, query.type, 'history');
  if (decided === null) return [];
  const pages = new TypeHistory(reading, { ...query, project: homeOf(query.type, caller) }, decided, restrict);
  return pages.read();
}

class TypeHistory {
  constructor(
    private readonly reading: Reading,
    private readonly query: TypeHistoryQuery,
    private readonly decided: readonly AccessRule[],
    private readonly restrict: RestrictSearch,
  ) {}

  async read(): Promise<readonly TypeHistoryEntry[]> {
    const { store, options } = this.reading;
    const rules = await resolved(this.reading, this.decided);
    if (openRules(rules).length === 0) return this.#ofSome(rules);
    return this.#visible(await store.typeHistory!(this.query, options), rules);
  }

  /** The newest versions belong to the resources that changed last, so usually a few of these are enough. */
  async #ofSome(rules: readonly AccessRule[]): Promise<readonly TypeHistoryEntry[]> {
    const { limit, after } = this.query;
    const first = after === undefined ? Math.min(limit, MAX_RESOURCES) : MAX_RESOURCES;
    for (const most of new Set([first, MAX_RESOURCES])) {
      const { ids, from } = await this.#lastChanged(rules, most);
      const page = await this.#ofResources(ids, from, rules);
      if (page.length === limit || from === undefined || this.query.shortens?.isCut === true) return page;
    }
    throw new FhirError(
      'too-costly',
      `More than ${MAX_RESOURCES} resources changed since then; read the histories of single resources, or name a later "_since"`,
    );
  }

  /** The visible resources that changed last. @returns also the instant from which these are all; undefined: always */
  async #lastChanged(
    rules: readonly AccessRule[],
    most: number,
  ): Promise<{ readonly ids: readonly string[]; readonly from: string | undefined }> {
    const { type, since } = this.query;
    const { store, options } = this.reading;
    const restricted = await this.restrict({ type, criteria: ALL }, rules);
    if (restricted === null) return { ids: [], from: undefined };
    // Versions show their instants even where fields are hidden.
    const criteria = since === undefined ? restricted.criteria : and([restricted.criteria, changedSince(since)]);
    const sort = [{ parameter: '_lastUpdated', descending: true }];
    const changed: { readonly id: string; readonly lastUpdated: string }[] = [];
    for (let after: SearchPosition | undefined; changed.length <= most;) {
      const shortens = new ShortPage();
      const page = { ...restricted, criteria, sort, after, limit: most + 1 - changed.length, shortens };
      // The resources are dropped, so their texts count for this page alone.
      const { matches } = await store.search(page, { ...options, budget: new TextBudget(options?.budget?.max) });
      for (const { resource, lastUpdated } of matches) changed.push({ id: resource.id!, lastUpdated });
      const last = changed.at(-1);
      if (!shortens.isCut || last === undefined) break;
      after = { values: [Date.parse(last.lastUpdated)], id: last.id };
    }
    const ids = changed.slice(0, most).map(({ id }) => id);
    const next = changed[most];
    const from = next && new Date(Date.parse(next.lastUpdated) + 1).toISOString();
    return { ids, from };
  }

  async #ofResources(
    ids: readonly string[],
    from: string | undefined,
    rules: readonly AccessRule[],
  ): Promise<readonly TypeHistoryEntry[]> {
    const { since, limit } = this.query;
    const { store, options } = this.reading;
    const page: TypeHistoryEntry[] = [];
    const size = Math.max(limit, MIN_BATCH);
    const begin = from ?? since;
    let after: VersionPosition | undefined = this.query.after;
    while (page.length < limit) {
      const batch = await store.typeHistory!({ ...this.query, ids, since: begin, after, limit: size }, options);
      page.push(...(await this.#visible(batch, rules)));
      const isCut = this.query.shortens?.isCut === true;
      // A page that ended early has an entry, from which the next one continues.
      if (batch.length < size && !(isCut && page.length === 0)) break;
      after = batch.at(-1);
    }
    return page.slice(0, limit);
  }

  /** Each version as the history of its resource shows it. */
  async #visible(
    entries: readonly TypeHistoryEntry[],
    rules: readonly AccessRule[],
  ): Promise<readonly TypeHistoryEntry[]> {
    const granting = await this.#rulesById([...new Set(entries.map(({ id }) => id))], rules);
    const visible: TypeHistoryEntry[] = [];
    for (const entry of entries) {
      const seen = await visibleEntry(this.reading, entry, granting.get(entry.id)!);
      if (seen !== undefined) visible.push(seen);
    }
    return visible;
  }

  /** The rules that grant each resource as it is now: later than all versions that are decided. */
  async #rulesById(
    ids: readonly string[],
    rules: readonly AccessRule[],
  ): Promise<ReadonlyMap<string, readonly AccessRule[]>> {
    const { store, options } = this.reading;
    const { project, type } = this.query;
    // Rules for the whole type grant everything, whether or not the resource still exists.
    if (openRules(rules).length === rules.length) return new Map(ids.map((id) => [id, rules]));
    const nows: readonly ReadResult[] = await store.read(
      ids.map((id) => ({ project, type, id })),
      options,
    );
    const rows = await grantsNow(this.reading, type, rules, nows, ids);
    return new Map(ids.map((id, index) => [id, rows[index]!.rules]));
  }
}

/** Maximum number of resources that a page draws on, for callers who do not see the whole type. */
const MAX_RESOURCES = 1000;

/** Minimum number of versions that are decided together. */
const MIN_BATCH = 50;
