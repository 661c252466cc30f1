import { getOrCreate } from '../../platform/collections.js';
import type { SearchSubject } from '../../search/evaluate/search-subject.js';
import type { ValueIndex } from './value-index.js';

/** The current resources of a type by the codes that a token parameter has in them. */
export class CodeIndex implements ValueIndex {
  readonly #byCode = new Map<string, Set<SearchSubject>>();

  constructor(readonly parameter: string) {}

  /** @returns undefined if they are more than `most` */
  find(codes: readonly string[], most: number): readonly SearchSubject[] | undefined {
    const sets = [...new Set(codes)].flatMap((code) => this.#byCode.get(code) ?? []);
    if (sets.reduce((sum, { size }) => sum + size, 0) > most) return undefined;
    return [...new Set(sets.flatMap((one) => [...one]))];
  }

  add(subject: SearchSubject): void {
    for (const code of this.#codesOf(subject)) getOrCreate(this.#byCode, code, () => new Set()).add(subject);
  }

  remove(subject: SearchSubject): void {
    for (const code of this.#codesOf(subject)) {
      const having = this.#byCode.get(code);
      having?.delete(subject);
      if (having?.size === 0) this.#byCode.delete(code);
    }
  }

  *#codesOf({ entries }: SearchSubject): Iterable<string> {
    for (const { value } of entries.get(this.parameter) ?? []) {
      if (value.kind === 'token' && value.code !== undefined) yield value.code;
    }
  }
}
