import type { LRUCache } from 'lru-cache';
import type { FhirModel } from '../../fhir/model/fhir-model.js';
import { tooManyFields, type Limits } from '../limits.js';
import type { DocumentParts } from './collect-fields.js';
import { planLateSelection, type LateSelection } from './plan-operation.js';
import type { AnyTypeSelection, OperationPlan, Selection } from './plan.js';

/** Late selections by plan, place and type. */
export type LateSelectionCache = LRUCache<string, LateSelection>;

/**
 * The selections of one execution on resources of unknown type, by type.
 *
 * Types named in fragments come from the plan. Other types are planned when first found, cached for other executions of
 * the plan, and counted against this execution's limit `fields`.
 */
export class TypedSelections {
  readonly #late = new Map<AnyTypeSelection, Map<string, Selection>>();
  #opened: number;

  /**
   * @param planKey the key of the plan in the cache
   * @param cache undefined: no caching across executions
   */
  constructor(
    { size }: OperationPlan,
    private readonly parts: DocumentParts,
    private readonly limits: Limits,
    private readonly planKey: string,
    private readonly cache?: LateSelectionCache,
  ) {
    this.#opened = size;
  }

  /** The definitions that the plan was made with. */
  get model(): FhirModel {
    return this.parts.model;
  }

  /**
   * The selection on resources of this type, cached.
   *
   * @throws LimitError `fields`, `depth`
   */
  forType(place: AnyTypeSelection, type: string): Selection {
    if (Object.hasOwn(place.named, type)) return place.named[type]!;
    let byType = this.#late.get(place);
    if (byType === undefined) this.#late.set(place, (byType = new Map<string, Selection>()));
    let selection = byType.get(type);
    if (selection === undefined) byType.set(type, (selection = this.#planLate(place, type)));
    return selection;
  }

  /** {@link forType} if it was planned before, by this execution or another. */
  plannedFor(place: AnyTypeSelection, type: string): Selection | undefined {
    if (Object.hasOwn(place.named, type)) return place.named[type];
    return this.#late.get(place)?.get(type) ?? this.cache?.peek(this.#lateKey(place, type))?.selection;
  }

  #lateKey({ path }: AnyTypeSelection, type: string): string {
    return `${this.planKey}\n${path}\n${type}`;
  }

  #planLate(place: AnyTypeSelection, type: string): Selection {
    const key = this.#lateKey(place, type);
    let late = this.cache?.get(key);
    if (late === undefined) {
      late = planLateSelection(place, type, this.parts, this.limits, this.#opened);
      this.cache?.set(key, late);
    }
    this.#opened += late.size;
    if (this.#opened > this.limits.fields) throw tooManyFields(this.limits);
    return late.selection;
  }
}
