import type { ElementDefinition, SearchParameterDefinition, TypeDefinition } from './definition-types.js';
import { definitionsFile, parseOwn, type ElementRow, type ParameterRow } from './definitions-file.js';
import { OWN_PARAMETERS } from './own-parameters.js';

const REPEATS = 1;
const REQUIRED = 2;

const types = new Map<string, TypeDefinition>();
const parameters = new Map<string, ReadonlyMap<string, SearchParameterDefinition>>();
const NO_PARAMETERS: ReadonlyMap<string, SearchParameterDefinition> = new Map();
let concreteTypes: ReadonlySet<string> | undefined;

/** @returns the definition of a resource type, data type or backbone element; undefined for an unknown name. */
export function typeDefinition(name: string): TypeDefinition | undefined {
  let definition = types.get(name);
  if (definition === undefined) {
    definition = materialiseType(name);
    if (definition !== undefined) types.set(name, definition);
  }
  return definition;
}

/** Names of all concrete resource types, sorted: R4's and Medplum's. */
export function resourceTypes(): readonly string[] {
  return definitionsFile().resources;
}

/** True for a concrete resource type; false for `Resource`, `DomainResource` and data types. */
export function isResourceType(name: string): boolean {
  concreteTypes ??= new Set(resourceTypes());
  return concreteTypes.has(name);
}

/**
 * Parameters of a type by code, those of every resource included (`_id`, `_lastUpdated`, `_tag` …).
 *
 * @returns an empty map for what is no resource type.
 */
export function searchParameters(resourceType: string): ReadonlyMap<string, SearchParameterDefinition> {
  const known = parameters.get(resourceType);
  if (known !== undefined) return known;
  if (!isResourceType(resourceType)) return NO_PARAMETERS;
  const all = definitionsFile().parameters;
  const rows = [...(parseOwn(all, 'Resource') ?? []), ...(parseOwn(all, resourceType) ?? [])];
  const own = Object.hasOwn(OWN_PARAMETERS, resourceType) ? OWN_PARAMETERS[resourceType]! : [];
  const definitions = new Map([...rows.map(materialiseParameter), ...own].map((one) => [one.code, one]));
  parameters.set(resourceType, definitions);
  return definitions;
}

export function searchParameter(resourceType: string, code: string): SearchParameterDefinition | undefined {
  return searchParameters(resourceType).get(code);
}

/**
 * Codes of the reference parameters by which a resource belongs to the patient compartment; empty if it never does.
 *
 * A Patient is in its own compartment besides. See https://hl7.org/fhir/R4/compartmentdefinition-patient.html.
 */
export function patientCompartment(resourceType: string): readonly string[] {
  const compartment = definitionsFile().patientCompartment;
  return (Object.hasOwn(compartment, resourceType) ? compartment[resourceType] : undefined) ?? [];
}

function materialiseType(name: string): TypeDefinition | undefined {
  const row = parseOwn(definitionsFile().types, name);
  if (row === undefined) return undefined;
  const inherited = row.base === undefined ? undefined : typeDefinition(row.base)?.elements;
  const elements = new Map<string, ElementDefinition>(inherited);
  for (const element of row.elements) {
    for (const member of materialiseElement(element)) elements.set(member.name, member);
  }
  return { name, kind: row.kind, elements, short: row.short, ...(row.path === undefined ? {} : { path: row.path }) };
}

/** One element, or every typed form of a choice. */
function materialiseElement([name, alternatives, flags, short, codes]: ElementRow): ElementDefinition[] {
  const base = name.endsWith('[x]') ? name.slice(0, -3) : undefined;
  return alternatives.split(' ').map((alternative) => {
    const [, type, list] = /^(\w+)(?:\((\d+)\))?$/.exec(alternative) as unknown as [string, string, string | undefined];
    return {
      name: base === undefined ? name : base + type[0]!.toUpperCase() + type.slice(1),
      type,
      array: (flags & REPEATS) !== 0,
      required: (flags & REQUIRED) !== 0,
      ...(base === undefined ? {} : { choiceOf: base }),
      ...(list === undefined ? {} : { targets: definitionsFile().targets[Number(list)]! }),
      ...(codes === undefined || !CODED.has(type) ? {} : bindingOf(codes)),
      short,
    };
  });
}

/** What a binding can apply to; a choice may have other members (`medicationReference`). */
const CODED: ReadonlySet<string> = new Set(['code', 'Coding', 'CodeableConcept', 'string', 'uri']);

function bindingOf(number: number): Pick<ElementDefinition, 'codes' | 'codeSystem'> {
  const { codes, system } = definitionsFile().codes[number]!;
  return system === undefined ? { codes } : { codes, codeSystem: system };
}

function materialiseParameter({ targets, ...row }: ParameterRow): SearchParameterDefinition {
  return targets === undefined ? row : { ...row, targets: definitionsFile().targets[targets]! };
}
