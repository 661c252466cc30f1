import type { AnyResource } from '../../fhir/resource.js';
import { createSubject, type SearchSubject } from '../../search/evaluate/search-subject.js';

/** What a commit writes, laid over what is stored: for the writes after it, it counts as stored already. */
export interface Overlay {
  /** Undefined where the commit does not write it, null where it deletes it. */
  find(type: string, id: string): SearchSubject | null | undefined;
  /** The resources of a type that the commit writes. */
  subjects(type: string): Iterable<SearchSubject>;
  /** Ids of resources of a type whose stored version no longer counts. */
  replaced(type: string): readonly string[];
}

/** No commit: only what is stored counts. */
export const NO_OVERLAY: Overlay = { find: () => undefined, subjects: () => [], replaced: () => [] };

/** The overlay of a commit that is being decided. */
export class WrittenResources implements Overlay {
  readonly #byType = new Map<string, Map<string, Written>>();
  /** PERF: known at any time, as each write of a long transaction asks. */
  readonly #replaced = new Map<string, string[]>();

  get isEmpty(): boolean {
    return this.#byType.size === 0;
  }

  /** @returns undefined where the commit has not written it, null where it has deleted it */
  get(type: string, id: string): AnyResource | null | undefined {
    return this.#byType.get(type)?.get(id)?.resource;
  }

  /** @param stored whether the store holds a version that this one takes the place of */
  set(type: string, id: string, resource: AnyResource | null, stored: boolean): void {
    let written = this.#byType.get(type);
    if (written === undefined) this.#byType.set(type, (written = new Map<string, Written>()));
    if (stored && !written.has(id)) this.#noteReplaced(type, id);
    written.set(id, new Written(resource));
  }

  find(type: string, id: string): SearchSubject | null | undefined {
    return this.#byType.get(type)?.get(id)?.subject;
  }

  *subjects(type: string): Iterable<SearchSubject> {
    for (const { subject } of this.#byType.get(type)?.values() ?? []) if (subject !== null) yield subject;
  }

  replaced(type: string): readonly string[] {
    return this.#replaced.get(type) ?? [];
  }

  #noteReplaced(type: string, id: string): void {
    const ids = this.#replaced.get(type);
    if (ids === undefined) this.#replaced.set(type, [id]);
    else ids.push(id);
  }
}

/** The overlay with one resource more, which counts as it is given, whatever the commit or the store say of it. */
export function overlaidWith(overlay: Overlay, resource: AnyResource): Overlay {
  const { resourceType: type, id = '' } = resource;
  const written = new Written(resource);
  return {
    find: (otherType, otherId) =>
      otherType === type && otherId === id ? written.subject : overlay.find(otherType, otherId),
    *subjects(otherType) {
      for (const subject of overlay.subjects(otherType)) if (otherType !== type || subject.id !== id) yield subject;
      if (otherType === type) yield written.subject!;
    },
    replaced: (otherType) => (otherType === type ? [...overlay.replaced(type), id] : overlay.replaced(otherType)),
  };
}

class Written {
  #subject: SearchSubject | undefined;

  constructor(readonly resource: AnyResource | null) {}

  /** Indexed at first use: most writes are judged by themselves. */
  get subject(): SearchSubject | null {
    if (this.resource === null) return null;
    return (this.#subject ??= createSubject(this.resource, Date.now()));
  }
}
