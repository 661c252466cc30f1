import type { AuditFacts, AuditHook, ShownFacts } from '../audit/audit.js';
import type { AuditedCount, AuditedResource } from '../audit/audit-record.js';
import type { FhirModel } from '../fhir/model/fhir-model.js';
import type { AnyResource } from '../fhir/resource.js';
import { inOneGo, inTurns, Pace } from '../platform/pace.js';
import { addPatientsOf, addPatientsOfStored } from '../search/index/patients-of.js';

/** The most resources, and the most patients, that a record names. */
const MAX_NAMED = 1000;

/** Only tests change it. */
const TRACED = {
  /** The most shown resources that are gathered without a pause: about 0.5 ms. */
  atOnce: 256,
};

/** The trace of an interaction: its facts join the record. Undefined if it is not audited. */
export function tracedBy(
  { store, audit }: { readonly store: { readonly model: FhirModel }; readonly audit?: AuditHook | undefined },
  facts: AuditFacts,
): AccessTrace | undefined {
  if (audit === undefined) return undefined;
  const trace = new AccessTrace(store.model);
  facts.shown = (isAnswered) => {
    if (!isAnswered) trace.withhold();
    return trace.facts();
  };
  return trace;
}

/**
 * What one interaction showed and changed, for its audit record.
 *
 * The guarded store keeps the resources behind masked ones here, so that the patients of a resource are known even if a
 * policy hides its references.
 */
export class AccessTrace {
  /** The stored resource of each masked one. */
  readonly origins = new WeakMap<AnyResource, AnyResource>();
  /** The calls of the guarded store. */
  calls = 0;
  /** The resource types that they asked for. */
  readonly types = new Set<string>();
  readonly #shown = new Set<AnyResource>();
  readonly #patients = new Set<string>();
  readonly #counts = new Map<string, number>();

  constructor(private readonly model: FhirModel) {}

  /** The guarded store is called for resources of these types. */
  called(types: readonly string[]): void {
    this.calls += 1;
    for (const type of types) this.types.add(type);
  }

  /** The answer shows this version. */
  show(resource: AnyResource): void {
    this.#shown.add(resource);
  }

  /** The answer shows a number of matches. */
  count(type: string, count: number): void {
    this.#counts.set(type, (this.#counts.get(type) ?? 0) + count);
  }

  /** Registers a copy of a resource that this trace has seen. */
  copied(copy: AnyResource, resource: AnyResource): void {
    this.origins.set(copy, this.origins.get(resource) ?? resource);
  }

  /** The resource was written, or is the version before a replacement or deletion. */
  touch(resource: AnyResource): void {
    addPatientsOf(this.model, this.origins.get(resource) ?? resource, this.#patients);
  }

  /** It was deleted, or the answer says that it is. */
  deleted(type: string, id: string): void {
    if (type === 'Patient') this.#patients.add(id);
  }

  /** Drops everything that the answer would have shown, because the answer is not released. */
  withhold(): void {
    this.#shown.clear();
    this.#counts.clear();
  }

  /** The facts for the record. A promise if so much was shown that other work should run between its parts. */
  facts(): ShownFacts | Promise<ShownFacts> {
    const gathering = this.#gathering();
    return this.#shown.size > TRACED.atOnce ? inTurns(gathering, new Pace()) : inOneGo(gathering);
  }

  *#gathering(): Generator<void, ShownFacts> {
    const versions = new Set<string>();
    const resources: AuditedResource[] = [];
    for (const one of this.#shown) {
      yield;
      const resource = this.origins.get(one) ?? one;
      const { resourceType, id, meta } = resource;
      const key = `${resourceType}/${id}/${meta?.versionId}`;
      if (versions.has(key)) continue;
      versions.add(key);
      if (resources.length < MAX_NAMED) resources.push(named(resource));
      addPatientsOfStored(this.model, resource, this.#patients);
    }
    const patients = this.#patients;
    const ids = [...patients].slice(0, MAX_NAMED);
    return {
      ...(versions.size === 0 ? {} : { returned: { total: versions.size, resources } }),
      ...(patients.size === 0 ? {} : { patients: { total: patients.size, ids } }),
      ...(this.#counts.size === 0 ? {} : { counts: Array.from(this.#counts, toCount) }),
    };
  }
}

function named({ resourceType: type, id, meta }: AnyResource): AuditedResource {
  return { type, id: id!, versionId: meta?.versionId };
}

function toCount([type, count]: readonly [string, number]): AuditedCount {
  return { type, count };
}
