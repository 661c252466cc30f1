import type { FhirModel } from '../../fhir/model/fhir-model.js';

/**
 * The fields of a resource type: its own, then the lists and connections of all types that point to it.
 *
 * PERF: these are created when a name is looked up, or when all are listed. Listing them needs the search parameters of
 * every type, which take 5 ms to parse.
 */
export class ResourceFields<Field extends { readonly name: string }> extends Map<string, Field> {
  readonly #model: FhirModel;
  readonly #pointing: (type: string) => readonly Field[];
  /** The fields that were looked up. */
  readonly #found = new Map<string, Field>();
  #isComplete = false;

  /** @param pointing the fields of one type */
  constructor(model: FhirModel, own: readonly Field[], pointing: (type: string) => readonly Field[]) {
    super();
    this.#model = model;
    this.#pointing = pointing;
    for (const field of own) this.set(field.name, field);
  }

  override get(name: string): Field | undefined {
    return super.get(name) ?? (this.#isComplete ? undefined : this.#find(name));
  }

  override has(name: string): boolean {
    return this.get(name) !== undefined;
  }

  override get size(): number {
    this.#complete();
    return super.size;
  }

  override keys(): MapIterator<string> {
    this.#complete();
    return super.keys();
  }

  override values(): MapIterator<Field> {
    this.#complete();
    return super.values();
  }

  override entries(): MapIterator<[string, Field]> {
    this.#complete();
    return super.entries();
  }

  override [Symbol.iterator](): MapIterator<[string, Field]> {
    return this.entries();
  }

  override forEach(work: (field: Field, name: string, fields: Map<string, Field>) => void): void {
    for (const [name, field] of this) work(field, name, this);
  }

  #find(name: string): Field | undefined {
    let field = this.#found.get(name);
    if (field === undefined) {
      const type = /^(.+)(?:List|Connection)$/.exec(name)?.[1];
      if (type === undefined || !this.#model.isResourceType(type)) return undefined;
      field = this.#pointing(type).find((one) => one.name === name);
      if (field !== undefined) this.#found.set(name, field);
    }
    return field;
  }

  #complete(): void {
    if (this.#isComplete) return;
    this.#isComplete = true;
    for (const type of this.#model.resourceTypes) {
      for (const field of this.#pointing(type)) this.set(field.name, this.#found.get(field.name) ?? field);
    }
  }
}
