import type { FhirModel } from '../../fhir/model/fhir-model.js';
import { Kind, parse, print, type FieldDefinitionNode } from '../graphql-js.js';
import { fieldsOf, type FieldDescriptor } from './fields.js';

/**
 * Adds `@semanticNonNull` to the fields of a schema that are null only together with an error. Elements are not among
 * them: a resource may lack them, and access may hide them. See https://specs.apollo.dev/nullability/v0.4/.
 */
export function withSemanticNonNull(model: FhirModel, sdl: string): string {
  const document = parse(sdl, { noLocation: true });
  const definitions = document.definitions.map((definition) => {
    if (definition.kind !== Kind.OBJECT_TYPE_DEFINITION && definition.kind !== Kind.INTERFACE_TYPE_DEFINITION)
      return definition;
    const known = fieldsOf(model, definition.name.value);
    const fields = definition.fields?.map((field) => {
      const levels = levelsOf(model, known?.get(field.name.value));
      return levels === undefined ? field : { ...field, directives: [...(field.directives ?? []), directive(levels)] };
    });
    return { ...definition, ...(fields === undefined ? {} : { fields }) };
  });
  return `${print({ ...document, definitions })}\n\n${DIRECTIVE}\n`;
}

const DIRECTIVE =
  '"""The field is null only together with an error"""\ndirective @semanticNonNull("""0 for the field, 1 for the items of its list""" levels: [Int!]! = [0]) on FIELD_DEFINITION';

/** The levels at which a field is null only with an error; undefined for none. */
function levelsOf(model: FhirModel, field: FieldDescriptor | undefined): readonly number[] | undefined {
  switch (field?.kind) {
    case 'resource-type':
    case 'read':
      return [0];
    case 'write':
      return field.interaction === 'delete' ? undefined : [0];
    case 'list':
      // Contained resources have no reverse lists.
      return field.reverse ? [1] : [0, 1];
    case 'connection':
      return field.reverse ? undefined : [0];
    case 'connection-part':
      return field.name === 'edges' ? [0, 1] : undefined;
    case 'edge-part':
      return field.name === 'score' ? undefined : [0];
    case 'element':
      // Lists of primitives have placeholders.
      return field.element.array && model.typeDefinition(field.element.type)?.kind === 'complex' ? [1] : undefined;
    default:
      return undefined;
  }
}

type Directive = NonNullable<FieldDefinitionNode['directives']>[number];

function directive(levels: readonly number[]): Directive {
  const isDefault = levels.length === 1 && levels[0] === 0;
  const values = levels.map((level) => ({ kind: Kind.INT, value: String(level) }) as const);
  return {
    kind: Kind.DIRECTIVE,
    name: { kind: Kind.NAME, value: 'semanticNonNull' },
    arguments: isDefault
      ? []
      : [{ kind: Kind.ARGUMENT, name: { kind: Kind.NAME, value: 'levels' }, value: { kind: Kind.LIST, values } }],
  };
}
