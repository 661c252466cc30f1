import { LRUCache } from 'lru-cache';
import type { FhirModel } from '../../fhir/model/fhir-model.js';
import { fingerprintsOfType } from '../../search/index/parameter-fingerprints.js';
import { pageEdgeOf, pageOf } from '../../store/guards.js';
import type { SearchQuery } from '../../store/search-query.js';
import type { Ask } from '../ask.js';
import type { SegmentPort } from '../segments/port.js';
import { DamagedSegment, SegmentCache } from '../segments/segment-rows.js';
import { SegmentIndex, type SegmentPage, type SegmentQuery, typesOf } from '../segments/segment-search.js';
import { SegmentUpkeep } from '../segments/upkeep.js';
import type { SegmentNeeds } from './segment-refresh.js';

/** The segments of a database, as a connection or a process sees them. */
export class StoreSegments<Kept> {
  readonly #projects = new LRUCache<string, { readonly index: SegmentIndex; readonly kept: Kept }>({
    max: MAX_PROJECTS,
  });
  #cache = new SegmentCache();

  /** @param keptOf makes what the store keeps of a project until it forgets */
  constructor(
    readonly model: FhirModel,
    private readonly keptOf: (project: string) => Kept,
  ) {}

  /** The steps that change segments. */
  get upkeep(): SegmentUpkeep {
    return new SegmentUpkeep((type) => fingerprintsOfType(this.model, type), this.#cache);
  }

  /** Drops what was read, because it may be removed from the database. */
  forget(): void {
    this.#projects.clear();
    this.#cache = new SegmentCache();
  }

  protected of(project: string): { readonly index: SegmentIndex; readonly kept: Kept } {
    let known = this.#projects.get(project);
    if (known === undefined) {
      const { fingerprints } = this.upkeep;
      known = { index: new SegmentIndex(fingerprints, this.#cache), kept: this.keptOf(project) };
      this.#projects.set(project, known);
    }
    return known;
  }

  protected askedOf(query: SearchQuery): SegmentQuery {
    const { type, criteria, sort, total } = query;
    return { type, criteria, sort, total, ...pageOf(query), edge: pageEdgeOf(this.model, query) };
  }

  /**
   * Answers a search from one snapshot.
   *
   * @param isWhole whether all types that the search leads to must have a complete list
   * @returns undefined if segments do not answer it
   */
  protected *answer(
    project: string,
    asked: SegmentQuery,
    needs: SegmentNeeds,
    isWhole: boolean,
  ): Ask<SegmentPort, SegmentPage | undefined> {
    const { type, criteria } = asked;
    const stale = (types: readonly string[]): void => needs.stale(project, types, type);
    try {
      return yield* this.of(project).index.search(asked, { isWhole, stale });
    } catch (error) {
      if (!(error instanceof DamagedSegment)) throw error;
      this.forget();
      needs.damaged(project, typesOf(type, criteria));
      return undefined;
    }
  }
}

/** Undefined if a row is missing or cannot be read. */
export function* unlessDamaged<Result>(steps: Ask<SegmentPort, Result>): Ask<SegmentPort, Result | undefined> {
  try {
    return yield* steps;
  } catch (error) {
    if (!(error instanceof DamagedSegment)) throw error;
    return undefined;
  }
}

/** Projects of which the latest state is kept. */
const MAX_PROJECTS = 256;
