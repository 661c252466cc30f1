import { Container } from '../../fhir/container.js';
import { type FhirModel, perModel } from '../../fhir/model/fhir-model.js';
import { parseReference } from '../../fhir/reference.js';
import { elementsOf, isJsonObject, isResourceId, type AnyResource, type JsonObject } from '../../fhir/resource.js';
import { compilePath, type Visitor } from './element-path.js';

/**
 * Adds the ids of the patients with this resource in their compartments: HL7's compartment
 * (https://hl7.org/fhir/R4/compartmentdefinition-patient.html), the Patient itself, and for a Bundle the patients of
 * its entries, if they belong to this service. Where nobody states the base of an entry, or none is known here,
 * it may belong to this service, and counts.
 */
export function addPatientsOf(model: FhirModel, resource: AnyResource, ids: Set<string>): void {
  addPatientsIn(model, elementsOf(resource), { container: Container.of(model, resource), ids });
}

function addPatientsIn(model: FhirModel, resource: JsonObject, found: Found): void {
  const { resourceType: type, id, entry: entries } = resource;
  const { container, ids } = found;
  const { baseUrl } = model;
  if (type === 'Patient') {
    const url =
      container.url === undefined || baseUrl === undefined ? undefined : parseReference(container.url, baseUrl);
    if (isResourceId(id) && url?.kind !== 'foreign') ids.add(id);
    return;
  }
  if (typeof type !== 'string') return;
  walkerOf(model, type)?.(resource, found);
  if (type !== 'Bundle' || !Array.isArray(entries)) return;
  for (const entry of entries as readonly unknown[]) {
    const inner = isJsonObject(entry) ? entry['resource'] : undefined;
    if (isJsonObject(inner)) addPatientsIn(model, inner, { ...found, container: container.within(inner) });
  }
}

/**
 * {@link addPatientsOf} for a resource that a store returned. A version that the store keeps in memory is walked
 * once, not with each answer that shows it.
 */
export function addPatientsOfStored(model: FhirModel, resource: AnyResource, ids: Set<string>): void {
  if (!Object.isFrozen(resource)) return addPatientsOf(model, resource, ids);
  const known = KNOWN(model);
  let patients = known.get(resource);
  if (patients === undefined) {
    const found = new Set<string>();
    addPatientsOf(model, resource, found);
    known.set(resource, (patients = [...found]));
  }
  for (const id of patients) ids.add(id);
}

const KNOWN = perModel(() => new WeakMap<AnyResource, readonly string[]>());

interface Found {
  readonly container: Container;
  readonly ids: Set<string>;
}

/** Compiled once per type. */
const WALKERS = perModel(() => new Map<string, Visitor<Found> | null>());

function walkerOf(model: FhirModel, type: string): Visitor<Found> | null {
  const known = WALKERS(model);
  let walker = known.get(type);
  if (walker === undefined) {
    if (!model.isResourceType(type)) return null;
    known.set(type, (walker = compile(model, type)));
  }
  return walker;
}

function compile(model: FhirModel, type: string): Visitor<Found> | null {
  const path = model.patientCompartment(type).flatMap((code) => model.searchParameter(type, code)?.path ?? []);
  return compilePath<Found>(model, type, path, () => addReference) ?? null;
}

/** Where almost all of these references lead. */
const PATIENT = ['Patient'] as const;

function addReference(value: unknown, { container, ids }: Found): void {
  const text = isJsonObject(value) ? value['reference'] : undefined;
  if (typeof text !== 'string') return;
  const target = container.resolve(text, PATIENT);
  const isUnstated =
    (target?.kind === 'nowhere' && target.reason === 'base') ||
    (target?.kind === 'foreign' && container.baseUrl === undefined);
  const reference = isUnstated ? parseReference(text) : target;
  if (reference?.kind === 'local' && reference.type === 'Patient') ids.add(reference.id);
}
