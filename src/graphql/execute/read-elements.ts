import { oncePer } from '../../platform/collections.js';
import type { PlannedField, ReferenceEdge, SearchEdge, Selection } from '../plan/plan.js';
import type { Run } from './run.js';

/**
 * The elements of a resource that its selection needs; undefined: all elements, because more than the selected elements
 * is needed. See `SearchQuery.elements`.
 *
 * @returns the same list for each call with a selection
 */
const elementsRead = oncePer((selection: Selection) => findElements([selection]));

/** {@link elementsRead} for several selections of the same resources. */
export function elementsReadTogether(selections: readonly Selection[]): readonly string[] | undefined {
  return selections.length === 1 ? elementsRead(selections[0]!) : findElements(selections);
}

/** The elements that searches of one question need together. */
export function elementsOfSearches(edges: readonly SearchEdge[]): readonly string[] | undefined {
  const selections: Selection[] = [];
  for (const { shape, shaping, controls, cursors } of edges) {
    // FHIRPath and the sort values of cursors may use any element. A cursor may hold FHIRPath.
    if (shaping !== undefined || controls.fhirpath !== undefined || cursors.length > 0) return undefined;
    if (shape.kind === 'list') {
      selections.push(shape.selection);
      continue;
    }
    if (shape.cursors) return undefined;
    for (const field of shape.fields) {
      if (field.part !== 'edges') continue;
      for (const part of field.fields) if (part.part === 'resource') selections.push(part.selection);
    }
  }
  return elementsReadTogether(selections);
}

/** The elements that references of one question need together of a resource, by its type. */
export function elementsByType(
  edges: readonly ReferenceEdge[],
  { options }: Run,
): (type: string) => readonly string[] | undefined {
  const { trace, selections: typed } = options;
  if (trace !== undefined || edges.some(({ shaping }) => shaping !== undefined)) return () => undefined;
  const known = new Map<string, readonly string[] | undefined>();
  return (type) => {
    if (known.has(type)) return known.get(type);
    const selections = edges.map((edge) => typed.plannedFor(edge.selections, type));
    // Selections that are not planned yet may need any element.
    const elements = selections.every((one) => one !== undefined) ? elementsReadTogether(selections) : undefined;
    known.set(type, elements);
    return elements;
  };
}

function findElements(selections: readonly Selection[]): readonly string[] | undefined {
  const names = new Set<string>();
  for (const { fields } of selections) {
    for (const field of fields) {
      if (needsWhole(field)) return undefined;
      for (const name of namesIn(field)) names.add(name);
    }
  }
  return Object.freeze([...names]);
}

/** The elements that a field of a resource reads. */
function namesIn(field: PlannedField): readonly string[] {
  switch (field.kind) {
    case 'primitive':
      return [field.name];
    case 'object':
      // The value of a canonical is in the element next to its sibling.
      return field.canonical ? [field.name, field.name.slice(1)] : [field.name];
    case 'choice':
      return field.forms.flatMap(namesIn);
    case 'extension':
      return ['extension'];
    case 'cache-key':
      return ['meta'];
    default:
      return [];
  }
}

/**
 * Whether a field, or a field inside it, needs the whole resource: a reference may lead to a contained resource or to
 * the resource itself, FHIRPath may use `%resource`, and resolvers of the host may need any element.
 */
function needsWhole(field: PlannedField): boolean {
  if (field.shaping !== undefined) return true;
  switch (field.kind) {
    case 'typename':
    case 'resource-type':
    case 'absent':
    case 'cache-key':
    case 'primitive':
    case 'search':
      return false;
    case 'object':
      return field.filter?.controls.fhirpath !== undefined || field.selection.fields.some(needsWholeInside);
    case 'choice':
      return field.forms.some(needsWhole);
    case 'extension':
      return needsWhole(field.field);
    default:
      return true;
  }
}

/** The cache key of an object inside a resource names its place. */
function needsWholeInside(field: PlannedField): boolean {
  return field.kind === 'cache-key' || field.kind === 'search' || needsWhole(field);
}
