import { referenceTo } from '../../fhir/reference.js';
import { localized } from '../../search/evaluate/localized.js';
import type { SearchSubject, SearchWorld } from '../../search/evaluate/search-subject.js';
import type { ReferenceTarget } from '../../store/resource-key.js';
import type { ProjectData } from './project-data.js';

/** A project as a service with that base sees it, or with none. */
export class LocalWorld implements SearchWorld {
  constructor(
    private readonly data: ProjectData,
    private readonly baseUrl: string | undefined,
  ) {}

  subjects(type: string): readonly SearchSubject[] {
    const subjects = this.data.subjects(type);
    return this.baseUrl === undefined ? subjects : subjects.map((subject) => localized(subject, this.baseUrl));
  }

  find(type: string, id: string): SearchSubject | undefined {
    const subject = this.data.find(type, id);
    return subject === undefined ? undefined : localized(subject, this.baseUrl);
  }

  /** As `ProjectData.withCode`. */
  withCode(type: string, parameter: string, codes: readonly string[]): Iterable<SearchSubject> | undefined {
    const found = this.data.withCode(type, parameter, codes);
    return found && [...found].map((subject) => localized(subject, this.baseUrl));
  }

  referencing(type: string, parameter: string, target: ReferenceTarget): Iterable<SearchSubject> {
    const relative = this.data.referencing(type, parameter, target);
    if (this.baseUrl === undefined) return relative;
    const url = `${this.baseUrl}/${referenceTo(target.type, target.id)}`;
    const both = new Set([...relative, ...this.data.referencingUrl(type, parameter, url)]);
    return [...both].map((subject) => localized(subject, this.baseUrl));
  }
}
