import { compartmentCriteria } from '../../access/policy/policy-criteria.js';
import { Container } from '../../fhir/container.js';
import { FhirError } from '../../fhir/error.js';
import type { FhirModel } from '../../fhir/model/fhir-model.js';
import { keyText, parseReference, referenceText, referenceTo } from '../../fhir/reference.js';
import { type AnyResource, elementsOf } from '../../fhir/resource.js';
import { addPatientsOf } from '../../search/index/patients-of.js';
import { walkPlaces } from '../../search/index/places.js';
import { everyHistoryPage, everyMatch } from '../../store/every-page.js';
import type { ResourceKey } from '../../store/resource-key.js';
import type { StoreReads } from '../../store/store.js';
import type { ErasureSession } from './erasure-session.js';

/**
 * Why a resource stays. `shared`: it also belongs to other patients. `history`: it belongs to another patient now, but
 * belonged to this one in an earlier version. `linked`: a Binary whose security context stays. `type`: its type is in
 * `keepTypes`.
 */
export type KeptBecause = 'shared' | 'history' | 'linked' | 'type';

/** A resource that stays. */
export interface KeptResource {
  /** `Group/1`. */
  readonly resource: string;
  readonly because: KeptBecause;
}

/** The input of the plan. */
export interface PatientScope {
  /** The id of the Patient. */
  readonly id: string;
  readonly shared: 'keep' | 'erase';
  readonly keepTypes: ReadonlySet<string>;
}

/** The resources that erasing a patient erases and keeps. */
export class PatientPlan {
  /** By `Type/id`, the Patient itself left out. */
  readonly erased = new Map<string, ResourceKey>();
  readonly kept = new Map<string, KeptBecause>();
  readonly #binaries = new Set<string>();

  constructor(
    private readonly session: ErasureSession,
    private readonly scope: PatientScope,
  ) {}

  /** Adds the current resources of the compartment. */
  async addCurrent(): Promise<void> {
    const { project, options, store } = this.session;
    for (const type of compartmentTypes(store)) {
      const criteria = compartmentCriteria(store.model, type, { type: 'Patient', id: this.scope.id });
      const query = { project, type, criteria };
      const matches = everyMatch(PAGE, (page, budget) => store.search({ ...query, ...page }, { ...options, budget }));
      for await (const { resource } of matches) this.#add(resource);
    }
  }

  /**
   * Adds resources from earlier versions: resources that were deleted or now belong to another patient, and Bundles
   * that contain resources of the patient. It reads every earlier version of these types once, and all Bundles.
   */
  async addPast(): Promise<void> {
    const { store } = this.session;
    if (store.typeHistory === undefined) {
      throw new FhirError(
        'unsupported',
        'This store does not list the history of a type, by which deleted resources are found',
      );
    }
    for (const type of compartmentTypes(store)) await this.#addPastOf(type, true);
    // No search finds current Bundles by the patients of their entries.
    await this.#addPastOf('Bundle', false);
  }

  /** Adds the Binaries that erased resources link to. */
  async addBinaries(): Promise<void> {
    const { project, store, options } = this.session;
    const keys = [...this.#binaries].map((id) => ({ project, type: 'Binary', id }));
    for (let start = 0; start < keys.length; start += PAGE) {
      const page = keys.slice(start, start + PAGE);
      const found = await store.read(page, options);
      for (const [index, key] of page.entries()) {
        const state = found[index]!;
        const name = referenceTo('Binary', key.id);
        if (state.status === 'missing' || this.scope.keepTypes.has('Binary')) continue;
        const owner = state.status === 'found' ? ownerOf(state.resource, store.model) : undefined;
        const isFree = owner === undefined || owner === this.#patient || this.erased.has(owner);
        if (isFree) this.erased.set(name, key);
        else this.kept.set(name, 'linked');
      }
    }
  }

  /** @param past only versions that are not current: {@link addCurrent} has found the others */
  async #addPastOf(type: string, past: boolean): Promise<void> {
    const { project, store, options } = this.session;
    /** Resources that some version ties to the patient, with the other patients of all their versions. */
    const tied = new Map<string, Set<string>>();
    const ofType = { project, type, past };
    for await (const entries of everyHistoryPage(PAGE, (page, budget) =>
      store.typeHistory!({ ...ofType, ...page }, { ...options, budget }),
    )) {
      for (const entry of entries) {
        if (entry.kind !== 'put' || this.kept.has(referenceTo(type, entry.id))) continue;
        const patients = this.#patientsOf(entry.resource);
        if (!patients.delete(this.scope.id)) continue;
        this.#noteBinaries(entry.resource);
        const others = tied.get(entry.id) ?? new Set();
        for (const other of patients) others.add(other);
        tied.set(entry.id, others);
      }
    }
    const names = [...tied.keys()].filter((id) => !this.erased.has(referenceTo(type, id)));
    for (let start = 0; start < names.length; start += PAGE) {
      const page = names.slice(start, start + PAGE);
      const states = await store.read(
        page.map((id) => ({ project, type, id })),
        options,
      );
      for (const [index, id] of page.entries()) {
        const state = states[index]!;
        if (state.status === 'found') {
          if (this.#patientsOf(state.resource).has(this.scope.id)) this.#add(state.resource);
          else this.kept.set(referenceTo(type, id), 'history');
        } else if (state.status === 'gone' && state.erased === undefined)
          this.#decide({ project, type, id }, tied.get(id)!);
      }
    }
  }

  #add(resource: AnyResource): void {
    const others = this.#patientsOf(resource);
    others.delete(this.scope.id);
    const key = { project: this.session.project, type: resource.resourceType, id: resource.id! };
    if (this.#decide(key, others)) this.#noteBinaries(resource);
  }

  #decide(key: ResourceKey, others: ReadonlySet<string>): boolean {
    const name = referenceTo(key.type, key.id);
    const { keepTypes, shared } = this.scope;
    if (keepTypes.has(key.type)) this.kept.set(name, 'type');
    else if (others.size > 0 && shared === 'keep') this.kept.set(name, 'shared');
    else this.erased.set(name, key);
    return this.erased.has(name);
  }

  get #patient(): string {
    return referenceTo('Patient', this.scope.id);
  }

  #patientsOf(resource: AnyResource): Set<string> {
    const ids = new Set<string>();
    addPatientsOf(this.session.store.model, resource, ids);
    return ids;
  }

  /** Attachments link Binaries by their URL. */
  #noteBinaries(resource: AnyResource): void {
    walkPlaces(elementsOf(resource), Container.of(this.session.store.model, resource), ({ url }, container) => {
      const target = typeof url === 'string' ? container.resolve(url) : undefined;
      if (target?.kind === 'local' && target.type === 'Binary') this.#binaries.add(target.id);
    });
  }
}

/** The security context of a Binary: `Type/id`, or as written if it leads elsewhere. */
function ownerOf(binary: AnyResource, { baseUrl }: FhirModel): string | undefined {
  const text = referenceText(elementsOf(binary)['securityContext']);
  const owner = text === undefined ? undefined : parseReference(text, baseUrl);
  return owner?.kind === 'local' ? keyText(owner) : text;
}

function compartmentTypes({ model }: StoreReads): readonly string[] {
  return model.resourceTypes.filter((type) => type !== 'Patient' && model.patientCompartment(type).length > 0);
}

const PAGE = 100;
