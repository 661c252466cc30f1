import { Container } from '../../../fhir/container.js';
import { parseReference } from '../../../fhir/reference.js';
import { isJsonObject, isResourceId, type JsonObject } from '../../../fhir/resource.js';
import { inOneGo } from '../../../platform/pace.js';
import type { ReferenceTarget } from '../../../store/resource-key.js';
import { LimitError } from '../../limits.js';
import { responseKey } from '../../plan/collect-fields.js';
import type { HostEdge, HostPropertyField, HostWriteField, Selection } from '../../plan/plan.js';
import { fieldName } from '../../schema/host/host-schema.js';
import { isList, type TypeReference } from '../../schema/host/type-reference.js';
import { shapeItems } from '../item-list.js';
import type { Output, Run } from '../run.js';
import { completeHostLeaf, hostError, hostFault } from './host-leaf.js';

/**
 * A placeholder container for values outside of any resource, so that references inside them find no contained
 * resources.
 */
export function noContainer({ options }: Run): Container {
  return Container.of(options.store.model, NO_RESOURCE);
}

const NO_RESOURCE = Object.freeze({ resourceType: '' });

/** Copies the selected fields of an object. */
type ProjectSelection = (selection: Selection, source: JsonObject, container: Container, run: Run) => Output;

/**
 * Writes a value of the host into the response according to its type, leaving holes for resources. A value that does
 * not fit fails in its place; see https://spec.graphql.org/October2021/#sec-Value-Completion.
 *
 * @param container decides what references in the value mean
 */
export function completeHostValue(
  field: HostEdge | HostPropertyField | HostWriteField,
  value: unknown,
  out: Output,
  container: Container,
  run: Run,
  project: ProjectSelection,
): void {
  const completion = new Completion(field, container, run, project);
  try {
    completion.put(out, field.key, field.field.type, value);
  } catch (error) {
    // Getters and proxies of the host may throw.
    if (error instanceof LimitError) throw error;
    run.fail(out, field, hostError(error));
  }
}

class Completion {
  constructor(
    private readonly field: HostEdge | HostPropertyField | HostWriteField,
    private readonly container: Container,
    private readonly run: Run,
    private readonly project: ProjectSelection,
  ) {}

  /** @param key of a field, or the position in a list */
  put(out: Output, key: string, type: TypeReference, value: unknown): void {
    if (type.kind === 'required') {
      this.run.require(out, key);
      if (value === null || value === undefined) return this.#fail(out, key, 'has no value, and may not be null');
      return this.put(out, key, type.of, value);
    }
    if (value === null || value === undefined) out[key] = null;
    else if (value instanceof Error) this.run.fail(out, { key, location: this.field.location }, hostError(value));
    else if (type.kind === 'list') this.#putList(out, key, type.of, value);
    else this.#putNamed(out, key, value);
  }

  #putList(out: Output, key: string, type: TypeReference, value: unknown): void {
    if (!Array.isArray(value)) return this.#fail(out, key, `must be a list, and is ${kindOf(value)}`);
    this.#assertListSize(value.length);
    const { field, run } = this;
    const items = field.shaping === undefined || key !== field.key ? value : this.#shaped(out, value);
    const list: unknown[] = [];
    out[key] = list;
    run.spendObject(items.length);
    const target = list as unknown as Output;
    if (field.value.kind === 'resource' && !isList(type)) {
      if (type.kind === 'required') run.requireItems(list);
      for (const item of items) this.#deferItem(target, item);
      return;
    }
    items.forEach((item, index) => this.put(target, String(index), type, item));
  }

  #shaped(out: Output, items: readonly unknown[]): readonly unknown[] {
    const { field, container, run } = this;
    const type = field.value.kind === 'object' ? field.value.selection.type : 'Element';
    return inOneGo(shapeItems(field, type, items, out, container.resource, run));
  }

  #putNamed(out: Output, key: string, value: unknown): void {
    const { value: plan } = this.field;
    switch (plan.kind) {
      case 'leaf': {
        const leaf = completeHostLeaf(plan.type, plan.codes, value, this.run);
        if (leaf === undefined) this.#fail(out, key, `must be ${plan.type}, and is ${kindOf(value)}`);
        else out[key] = leaf;
        return;
      }
      case 'object':
        if (!isJsonObject(value)) this.#fail(out, key, `must be an object, and is ${kindOf(value)}`);
        else out[key] = this.project(plan.selection, value, this.container, this.run);
        return;
      case 'resource': {
        const link = resourceLink(value, this.run);
        if (link === undefined) return this.#fail(out, key, NO_LINK);
        if (plan.edge.type !== undefined && plan.edge.type !== link.type) {
          return this.#fail(out, key, `must name a ${plan.edge.type}, and names a ${link.type}`);
        }
        out[key] = null;
        this.run.defer(plan.edge, { out, key, link, keepsAbsent: true });
      }
    }
  }

  /** Items of lists are appended when they are read, so that missing and hidden resources leave no gap. */
  #deferItem(list: Output, value: unknown): void {
    const { field, run } = this;
    if (field.value.kind !== 'resource') return;
    const { edge } = field.value;
    const { keepsAbsent } = field.field;
    const link = value === null || value === undefined ? undefined : resourceLink(value, run);
    if (link === undefined && value !== null && value !== undefined) {
      run.defer(edge, { out: list, key: undefined, link: hostFault(`${this.#name}: an item ${NO_LINK}`), keepsAbsent });
    } else if (link !== undefined && edge.type !== undefined && edge.type !== link.type) {
      const fault = hostFault(`${this.#name}: an item must name a ${edge.type}, and names a ${link.type}`);
      run.defer(edge, { out: list, key: undefined, link: fault, keepsAbsent });
    } else run.defer(edge, { out: list, key: undefined, link, keepsAbsent });
  }

  #assertListSize(length: number): void {
    const { listSize } = this.run.options.limits;
    if (length <= listSize) return;
    const key = responseKey(this.field.key);
    throw new LimitError('listSize', listSize, `${key} has more than ${listSize} items`, length);
  }

  #fail(out: Output, key: string, fault: string): void {
    this.run.fail(out, { key, location: this.field.location }, hostFault(`${this.#name} ${fault}`));
  }

  get #name(): string {
    return fieldName(this.field.field);
  }
}

const NO_LINK = 'must name a resource: "Type/id", a Reference, or a resource with an id';

/** Values may be clinical, so faults name their kind only. */
function kindOf(value: unknown): string {
  if (value instanceof Promise) return 'a promise';
  if (Array.isArray(value)) return 'a list';
  return typeof value === 'object' ? 'an object' : `a ${typeof value}`;
}

/**
 * The resource that a value of a resolver names: `Observation/1`, a Reference, or a resource. Of a resource only type
 * and id count: it is read again as the caller sees it.
 *
 * @returns undefined for anything else
 */
function resourceLink(value: unknown, { options }: Run): ReferenceTarget | undefined {
  if (isJsonObject(value) && value['resourceType'] !== undefined) {
    const { resourceType: type, id } = value;
    return typeof type === 'string' && options.store.model.isResourceType(type) && isResourceId(id)
      ? { type, id }
      : undefined;
  }
  const text = isJsonObject(value) ? value['reference'] : value;
  const parsed = typeof text === 'string' ? parseReference(text, options.store.model.baseUrl) : undefined;
  if (parsed?.kind !== 'local' || !options.store.model.isResourceType(parsed.type)) return undefined;
  return { type: parsed.type, id: parsed.id };
}
