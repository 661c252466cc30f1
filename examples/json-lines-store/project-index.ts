import type { SearchQuery } from 'fhirgraph/store';
import {
  compareSubjects,
  createSubject,
  R4,
  deepFreeze,
  matches,
  type SearchSubject,
  type SearchWorld,
} from 'fhirgraph/store';
import type { LoggedVersion } from './log-file.js';

/** One resource with all of its versions, oldest first. */
export interface Held {
  readonly versions: LoggedVersion[];
  /** What searches see of the current version; undefined once it is deleted. */
  subject: SearchSubject | undefined;
}

/** What one project holds, in memory. Searches look at every resource of a type: right, and slow. */
export class ProjectIndex implements SearchWorld {
  readonly #held = new Map<string, Held>();

  get(type: string, id: string): Held | undefined {
    return this.#held.get(`${type}/${id}`);
  }

  /** @returns a function that takes the version back */
  add(version: LoggedVersion): () => void {
    const { type, id, resource, updated } = version;
    const key = `${type}/${id}`;
    const held = this.#held.get(key) ?? { versions: [], subject: undefined };
    const before = held.subject;
    this.#held.set(key, held);
    held.versions.push(deepFreeze(version));
    held.subject = resource && createSubject(R4, resource, updated);
    return () => {
      held.versions.pop();
      held.subject = before;
      if (held.versions.length === 0) this.#held.delete(key);
    };
  }

  /** All matches in order, whatever the page. */
  search({ type, criteria, sort }: SearchQuery, among = this.#subjects(type)): SearchSubject[] {
    return [...among].filter((subject) => matches(criteria, subject, this)).sort(compareSubjects(sort));
  }

  find(type: string, id: string): SearchSubject | undefined {
    return this.get(type, id)?.subject;
  }

  /** Who holds a unique text, as `Type/id`. */
  holderOf(text: string): string | undefined {
    for (const [key, { versions }] of this.#held) if (versions.at(-1)?.unique?.includes(text)) return key;
    return undefined;
  }

  *referencing(
    type: string,
    parameter: string,
    target: { readonly type: string; readonly id: string },
  ): Iterable<SearchSubject> {
    for (const subject of this.#subjects(type)) {
      const pointing = subject.entries
        .get(parameter)
        ?.some(({ value }) => 'id' in value && value.type === target.type && value.id === target.id);
      if (pointing === true) yield subject;
    }
  }

  *#subjects(type: string): Iterable<SearchSubject> {
    for (const { subject } of this.#held.values()) if (subject?.type === type) yield subject;
  }
}
