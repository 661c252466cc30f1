import type { FhirModel } from '../../fhir/model/fhir-model.js';
import type { AnyResource } from '../../fhir/resource.js';
import { getOrCreate } from '../../platform/collections.js';
import { createSubject, type SearchSubject } from '../../search/evaluate/search-subject.js';
import type { Overlay } from './evaluate-criteria.js';

/**
 * The resources as left by the writes of a commit so far. Immutable: {@link WrittenResources.with} returns a new value.
 *
 * All values of a commit share one log and each sees the part of it up to its own length, so that a write costs
 * the same in a long transaction as in a short one.
 */
export class WrittenResources implements Overlay {
  private constructor(
    private readonly log: Log,
    private readonly length: number,
  ) {}

  /** @param now the time at which the commit counts as written, in milliseconds since 1970 */
  static none(model: FhirModel, now: number): WrittenResources {
    return new WrittenResources(new Log(model, now), 0);
  }

  get isEmpty(): boolean {
    return this.length === 0;
  }

  /** @returns undefined if the commit has not written it, null if it has deleted it */
  get(type: string, id: string): AnyResource | null | undefined {
    return this.#latest(type, id)?.resource;
  }

  /**
   * @param resource null for a deletion
   * @param replaces whether this version replaces a stored one; default false
   */
  with(type: string, id: string, resource: AnyResource | null, replaces = false): WrittenResources {
    const log = this.log.length === this.length ? this.log : this.log.upTo(this.length);
    log.add({ type, id, resource, replaces });
    return new WrittenResources(log, log.length);
  }

  find(type: string, id: string): SearchSubject | null | undefined {
    return this.#latest(type, id)?.subject;
  }

  *subjects(type: string): Iterable<SearchSubject> {
    for (const id of this.log.idsOf(type)) {
      const subject = this.find(type, id);
      if (subject) yield subject;
    }
  }

  replaced(type: string): readonly string[] {
    return this.log.replacedBefore(this.length, type);
  }

  #latest(type: string, id: string): Written | undefined {
    return this.log.versionsOf(type, id).findLast(({ at }) => at < this.length);
  }
}

interface Entry {
  readonly type: string;
  readonly id: string;
  readonly resource: AnyResource | null;
  readonly replaces: boolean;
}

class Written {
  #subject: SearchSubject | undefined;

  constructor(
    readonly entry: Entry,
    /** Position in the log. */
    readonly at: number,
    private readonly model: FhirModel,
    private readonly now: number,
  ) {}

  get resource(): AnyResource | null {
    return this.entry.resource;
  }

  /** Indexed on first use: most writes need no index. */
  get subject(): SearchSubject | null {
    if (this.resource === null) return null;
    return (this.#subject ??= createSubject(this.model, this.resource, this.now));
  }
}

/** Everything written, in order; only ever added to. */
class Log {
  readonly #entries: Written[] = [];
  readonly #byType = new Map<string, Map<string, Written[]>>();
  /** By type, the first writes of resources that the store holds. */
  readonly #replaced = new Map<string, { readonly ids: string[]; readonly positions: number[] }>();

  constructor(
    private readonly model: FhirModel,
    private readonly now: number,
  ) {}

  get length(): number {
    return this.#entries.length;
  }

  add(entry: Entry): void {
    const written = new Written(entry, this.length, this.model, this.now);
    this.#entries.push(written);
    const byId = getOrCreate(this.#byType, entry.type, () => new Map<string, Written[]>());
    const versions = byId.get(entry.id);
    if (versions !== undefined) return void versions.push(written);
    byId.set(entry.id, [written]);
    if (entry.replaces) this.#addReplaced(written);
  }

  upTo(length: number): Log {
    const copy = new Log(this.model, this.now);
    for (const { entry } of this.#entries.slice(0, length)) copy.add(entry);
    return copy;
  }

  replacedBefore(length: number, type: string): readonly string[] {
    const { ids, positions } = this.#replaced.get(type) ?? NONE_REPLACED;
    return ids.slice(0, positions.findLastIndex((at) => at < length) + 1);
  }

  idsOf(type: string): Iterable<string> {
    return this.#byType.get(type)?.keys() ?? [];
  }

  versionsOf(type: string, id: string): readonly Written[] {
    return this.#byType.get(type)?.get(id) ?? [];
  }

  #addReplaced({ entry: { type, id }, at }: Written): void {
    const replaced = getOrCreate(this.#replaced, type, () => ({ ids: [], positions: [] }));
    replaced.ids.push(id);
    replaced.positions.push(at);
  }
}

const NONE_REPLACED = { ids: [], positions: [] } as const;
