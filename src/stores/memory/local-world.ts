import { referenceTo } from '../../fhir/reference.js';
import type { StringTest } from '../../search/criteria/value-test.js';
import { localized } from '../../search/evaluate/localized.js';
import type { SearchSubject, SearchWorld } from '../../search/evaluate/search-subject.js';
import type { ReferenceTarget } from '../../store/resource-key.js';
import { firstPlace } from '../first-place.js';
import type { ProjectData } from './project-data.js';

/** A project as a service with that base sees it, or with none. */
export class LocalWorld implements SearchWorld {
  constructor(
    private readonly data: ProjectData,
    private readonly baseUrl: string | undefined,
  ) {}

  /** The resources of a type by ascending id, from those on that come after an id. */
  *subjects(type: string, after: string | undefined): Generator<void, Iterable<SearchSubject>> {
    const subjects = yield* this.data.subjects(type);
    const start = after === undefined ? 0 : firstPlace(subjects.length, (place) => subjects[place]!.id <= after);
    return this.#from(subjects, start);
  }

  find(type: string, id: string): SearchSubject | undefined {
    const subject = this.data.find(type, id);
    return subject === undefined ? undefined : localized(subject, this.baseUrl);
  }

  /** As `ProjectData.withCode`. */
  *withCode(
    type: string,
    parameter: string,
    codes: readonly string[],
  ): Generator<void, Iterable<SearchSubject> | undefined> {
    const found = yield* this.data.withCode(type, parameter, codes);
    return found && this.#from(found, 0);
  }

  /** As `ProjectData.withText`. */
  *withText(type: string, parameter: string, test: StringTest): Generator<void, Iterable<SearchSubject> | undefined> {
    const found = yield* this.data.withText(type, parameter, test);
    return found && this.#from(found, 0);
  }

  referencing(type: string, parameter: string, target: ReferenceTarget): Iterable<SearchSubject> {
    const relative = this.data.referencing(type, parameter, target);
    if (this.baseUrl === undefined) return relative;
    const url = `${this.baseUrl}/${referenceTo(target.type, target.id)}`;
    const both = new Set([...relative, ...this.data.referencingUrl(type, parameter, url)]);
    return [...both].map((subject) => localized(subject, this.baseUrl));
  }

  *#from(subjects: readonly SearchSubject[], start: number): Iterable<SearchSubject> {
    for (let place = start; place < subjects.length; place++) yield localized(subjects[place]!, this.baseUrl);
  }
}
