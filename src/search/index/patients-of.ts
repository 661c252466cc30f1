import type { FhirModel } from '../../fhir/model/fhir-model.js';
import { perModel } from '../../fhir/model/per-model.js';
import { parseReference } from '../../fhir/reference.js';
import { elementsOf, isJsonObject, isResourceId, type AnyResource } from '../../fhir/resource.js';
import { compilePath, type Visitor } from './element-path.js';

/**
 * Adds the ids of the patients with this resource in their compartments: HL7's compartment
 * (https://hl7.org/fhir/R4/compartmentdefinition-patient.html), the Patient itself, and for a Bundle the patients of
 * its entries.
 *
 * @param baseUrl the service's own base, without a trailing slash: absolute references below it are local
 */
export function addPatientsOf(
  model: FhirModel,
  resource: AnyResource,
  baseUrl: string | undefined,
  ids: Set<string>,
): void {
  const { resourceType: type, id } = resource;
  if (type === 'Patient') {
    if (isResourceId(id)) ids.add(id);
    return;
  }
  const elements = elementsOf(resource);
  walkerOf(model, type)?.(elements, { baseUrl, ids });
  if (type !== 'Bundle' || !Array.isArray(elements['entry'])) return;
  for (const entry of elements['entry'] as readonly unknown[]) {
    const inner = isJsonObject(entry) ? entry['resource'] : undefined;
    if (isJsonObject(inner)) addPatientsOf(model, inner as unknown as AnyResource, baseUrl, ids);
  }
}

/**
 * {@link addPatientsOf} for a resource that a store returned. PERF: a version that the store keeps in memory is walked
 * once, not with each answer that shows it.
 */
export function addPatientsOfStored(
  model: FhirModel,
  resource: AnyResource,
  baseUrl: string | undefined,
  ids: Set<string>,
): void {
  if (!Object.isFrozen(resource)) return addPatientsOf(model, resource, baseUrl, ids);
  const known = KNOWN(model);
  let versions = known.get(baseUrl);
  if (versions === undefined) known.set(baseUrl, (versions = new WeakMap()));
  let patients = versions.get(resource);
  if (patients === undefined) {
    const found = new Set<string>();
    addPatientsOf(model, resource, baseUrl, found);
    versions.set(resource, (patients = [...found]));
  }
  for (const id of patients) ids.add(id);
}

/** By the base of the service, of which a process has few. */
const KNOWN = perModel(() => new Map<string | undefined, WeakMap<AnyResource, readonly string[]>>());

interface Found {
  readonly baseUrl: string | undefined;
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

function addReference(value: unknown, { baseUrl, ids }: Found): void {
  const text = isJsonObject(value) ? value['reference'] : undefined;
  if (typeof text !== 'string') return;
  // PERF: what almost all references to patients look like.
  const id = text.startsWith('Patient/') ? text.slice('Patient/'.length) : '';
  if (isResourceId(id)) {
    ids.add(id);
    return;
  }
  const reference = parseReference(text, baseUrl);
  if (reference?.kind === 'local' && reference.type === 'Patient') ids.add(reference.id);
}
