import type { FhirModel } from '../../fhir/model/fhir-model.js';
import { CANONICAL, fieldsOf, type FieldDescriptor } from './fields.js';
import { fieldName } from './host/host-schema.js';

/** The fields that can be selected inside a field. */
export function fieldsInside(model: FhirModel, field: FieldDescriptor): readonly FieldDescriptor[] {
  switch (field.kind) {
    case 'element':
      return [...(fieldsOf(model, field.element.type)?.values() ?? [])];
    case 'extension':
      return [...(fieldsOf(model, field.shape.type)?.values() ?? [])];
    case 'sibling':
      return [...fieldsOf(model, field.element.type === 'canonical' ? CANONICAL : 'Element')!.values()];
    case 'choice':
      return field.elements.flatMap(({ type }) => [...(fieldsOf(model, type)?.values() ?? [])]);
    default:
      return [];
  }
}

/** Equal for fields of several types that accept the same selection. */
export function signatureOf(field: FieldDescriptor): string {
  if (field.kind === 'element' || field.kind === 'sibling') {
    return `${field.kind} ${field.element.type} ${field.element.array}`;
  }
  if (field.kind === 'extension') return `extension ${field.shape.url} ${field.shape.type} ${field.shape.array}`;
  if (field.kind === 'choice') return `choice ${field.elements.map(({ name }) => name).join()}`;
  if (field.kind === 'host') return `host ${fieldName(field.field)}`;
  return `${field.kind} ${'type' in field ? field.type : ''}`;
}
