import { addDecimalText, decimalTextsOf } from '../../fhir/json/decimal-texts.js';
import { isJsonObject, type JsonObject } from '../../fhir/resource.js';
import type { PlannedField, Selection } from '../plan/plan.js';

/**
 * The elements of an object from which a selection takes its answer, apart from what its store calls find: equal for two
 * versions of a resource if the selection cannot show that they differ. It has more where a part decides by the whole:
 * references, filters of lists, fields of the host.
 */
export function selectedElements({ fields }: Selection, source: JsonObject): JsonObject {
  if (fields.some(needsAll)) return source;
  const elements: { [name: string]: unknown } = {};
  for (const field of fields) addElements(field, source, elements);
  return elements;
}

/** Whether a field may use any element around it. */
function needsAll(field: PlannedField): boolean {
  return field.kind === 'reference' || field.kind === 'host' || field.shaping !== undefined;
}

function addElements(field: PlannedField, source: JsonObject, elements: { [name: string]: unknown }): void {
  switch (field.kind) {
    case 'primitive':
      return copyNamed(field.name, source, elements);
    case 'object': {
      // The value of a canonical is in the element next to its sibling.
      if (field.canonical) copyNamed(field.name.slice(1), source, elements);
      if (field.canonical || field.filter !== undefined) return copyNamed(field.name, source, elements);
      const value = source[field.name];
      const inside = (item: unknown): unknown => (isJsonObject(item) ? selectedElements(field.selection, item) : item);
      // Under its key: aliases select other parts of the same element.
      elements[`${field.name} ${field.key}`] = Array.isArray(value) ? value.map(inside) : inside(value);
      return;
    }
    case 'choice':
      for (const form of field.forms) addElements(form, source, elements);
      return;
    case 'extension':
      return copyNamed('extension', source, elements);
    case 'inline-resource':
      return copyNamed(field.name, source, elements);
    default:
  }
}

function copyNamed(name: string, source: JsonObject, elements: { [name: string]: unknown }): void {
  elements[name] = source[name];
  const text = decimalTextsOf(source)?.[name];
  if (text !== undefined) addDecimalText(elements, name, text);
}
