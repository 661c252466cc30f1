import type { FhirModel } from '../fhir/model/fhir-model.js';
import type { AnyResource } from '../fhir/resource.js';
import { matches } from '../search/evaluate/match.js';
import { createSubject, type SearchSubject, type SearchWorld } from '../search/evaluate/search-subject.js';
import { compareSubjects, compareToPosition } from '../search/evaluate/sort.js';
import type { ReferenceTarget } from '../store/resource-key.js';
import type { SearchQuery } from '../store/search-query.js';

/** The answer that every store must give: ids in order, and the number of all matches. */
export interface ReferenceAnswer {
  readonly ids: readonly string[];
  readonly total: number;
}

/** Searches by the definition of criteria: tests every resource and sorts the matches, without an index. */
export class ReferenceSearch implements SearchWorld {
  readonly #byType = new Map<string, Map<string, SearchSubject>>();

  /** @param resources as a store returned them, with `meta.lastUpdated`; one per key. */
  constructor(model: FhirModel, resources: readonly AnyResource[]) {
    for (const resource of resources) {
      const subject = createSubject(model, resource, resource.meta?.lastUpdated ?? '');
      const ofType = this.#byType.get(subject.type) ?? new Map<string, SearchSubject>();
      this.#byType.set(subject.type, ofType.set(subject.id, subject));
    }
  }

  get types(): readonly string[] {
    return [...this.#byType.keys()];
  }

  subjects(type: string): readonly SearchSubject[] {
    return [...(this.#byType.get(type)?.values() ?? [])];
  }

  find(type: string, id: string): SearchSubject | undefined {
    return this.#byType.get(type)?.get(id);
  }

  referencing(type: string, parameter: string, target: ReferenceTarget): readonly SearchSubject[] {
    return this.subjects(type).filter(({ entries }) =>
      entries
        .get(parameter)
        ?.some(
          ({ value }) =>
            value.kind === 'reference' && 'id' in value && value.type === target.type && value.id === target.id,
        ),
    );
  }

  search(query: SearchQuery): ReferenceAnswer {
    return this.#answer(this.subjects(query.type), query);
  }

  searchByReference(query: SearchQuery, parameter: string, target: ReferenceTarget): ReferenceAnswer {
    return this.#answer(this.referencing(query.type, parameter, target), query);
  }

  #answer(from: readonly SearchSubject[], query: SearchQuery): ReferenceAnswer {
    const { criteria, sort, offset = 0, limit, after, before } = query;
    const found = from.filter((subject) => matches(criteria, subject, this)).sort(compareSubjects(sort));
    const beyond =
      after !== undefined
        ? found.filter((subject) => compareToPosition(sort, after)(subject) > 0)
        : before !== undefined
          ? found.filter((subject) => compareToPosition(sort, before)(subject) < 0)
          : found;
    const start = before !== undefined && limit !== undefined ? Math.max(0, beyond.length - limit) : offset;
    const page = beyond.slice(start, limit === undefined ? undefined : start + limit);
    return { ids: page.map(({ id }) => id), total: found.length };
  }
}
