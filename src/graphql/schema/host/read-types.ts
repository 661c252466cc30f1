import { FhirError } from '../../../fhir/error.js';
import { quote } from '../../../fhir/messages.js';
import {
  GraphQLError,
  Kind,
  parse,
  parseType,
  valueFromASTUntyped,
  type ConstDirectiveNode,
  type FieldDefinitionNode,
  type InputValueDefinitionNode,
} from '../../graphql-js.js';
import type { HostFieldDefinition, HostInputField, HostTypeDefinition } from './host-schema.js';
import { typeReferenceOf, type TypeReference } from './type-reference.js';

/** The own types of a host, and the fields of its object types. */
export interface OwnTypes {
  readonly types: Map<string, HostTypeDefinition>;
  readonly fields: Map<string, HostFieldDefinition[]>;
}

/**
 * Reads the types of a host from SDL: object types, enums, inputs and scalars.
 *
 * @throws FhirError `invalid` - the text is malformed, defines a type twice or defines something else
 */
export function readTypes(text: string): OwnTypes {
  const own: OwnTypes = { types: new Map(), fields: new Map() };
  for (const node of parsed('types', () => parse(text, { noLocation: true })).definitions) {
    if (!('name' in node) || node.name === undefined) throw invalid('types', EXPECTED);
    const name = node.name.value;
    const description = 'description' in node ? node.description?.value : undefined;
    if (own.types.has(name)) throw invalid('types', `${name} is defined twice`);
    switch (node.kind) {
      case Kind.OBJECT_TYPE_DEFINITION:
        if ((node.interfaces ?? []).length > 0) throw invalid('types', `${name} may not implement interfaces`);
        refuseDirectives(name, node.directives);
        own.types.set(name, { kind: 'object', name, description });
        own.fields.set(
          name,
          (node.fields ?? []).map((field) => propertyField(name, field)),
        );
        break;
      case Kind.ENUM_TYPE_DEFINITION:
        refuseDirectives(name, node.directives);
        own.types.set(name, {
          kind: 'enum',
          name,
          description,
          values: (node.values ?? []).map((value) => ({
            name: value.name.value,
            description: value.description?.value,
            deprecationReason: deprecationOf(`${name}.${value.name.value}`, value.directives),
          })),
        });
        break;
      case Kind.INPUT_OBJECT_TYPE_DEFINITION:
        refuseDirectives(name, node.directives);
        own.types.set(name, {
          kind: 'input',
          name,
          description,
          fields: (node.fields ?? []).map((field) => inputField(`${name}.${field.name.value}`, field)),
        });
        break;
      case Kind.SCALAR_TYPE_DEFINITION:
        own.types.set(name, { kind: 'scalar', name, description, specifiedByURL: specifiedBy(name, node.directives) });
        break;
      default:
        throw invalid('types', `${EXPECTED}; ${quote(name)} is something else`);
    }
  }
  return own;
}

const EXPECTED = 'the text may define object types, enums, inputs and scalars';

/** @throws FhirError `invalid` - the text is not a type */
export function readTypeText(place: string, text: unknown): TypeReference {
  if (typeof text !== 'string') throw invalid(place, 'the type must be a string in SDL, such as "[Float!]"');
  return typeReferenceOf(parsed(place, () => parseType(text, { noLocation: true })));
}

/**
 * Reads an argument.
 *
 * @param text its type and default: `Int! = 10`
 * @throws FhirError `invalid` - the text is malformed
 */
export function readArgumentText(
  place: string,
  name: string,
  text: unknown,
  description: string | undefined,
  deprecationReason: string | undefined,
): HostInputField {
  if (typeof text !== 'string')
    throw invalid(place, 'the type of an argument must be a string in SDL, such as "Int! = 10"');
  const { definitions } = parsed(place, () => parse(`input I { ${name}: ${text}\n}`, { noLocation: true }));
  const [definition, more] = definitions;
  const fields = definition?.kind === Kind.INPUT_OBJECT_TYPE_DEFINITION ? (definition.fields ?? []) : [];
  if (more !== undefined || fields.length !== 1) throw invalid(place, 'the text must be one type, with its default');
  const field = inputField(place, fields[0]!);
  return { ...field, description, deprecationReason: deprecationReason ?? field.deprecationReason };
}

export function invalid(place: string, message: string): FhirError {
  return new FhirError('invalid', `${place}: ${message}`);
}

function propertyField(parent: string, node: FieldDefinitionNode): HostFieldDefinition {
  const name = node.name.value;
  const place = `types, ${parent}.${name}`;
  if ((node.arguments ?? []).length > 0) {
    throw invalid(place, `a field with arguments needs a resolver; declare it as fields.${parent}.${name}`);
  }
  return {
    parent,
    name,
    description: node.description?.value,
    deprecationReason: deprecationOf(place, node.directives),
    type: typeReferenceOf(node.type),
    args: [],
    source: 'property',
    needs: [],
    cost: 0,
    timeout: 0,
    on: 'own',
    keepsAbsent: false,
    call: undefined,
    result: undefined,
  };
}

function inputField(place: string, node: InputValueDefinitionNode): HostInputField {
  return {
    name: node.name.value,
    description: node.description?.value,
    deprecationReason: deprecationOf(place, node.directives),
    type: typeReferenceOf(node.type),
    defaultValue: node.defaultValue === undefined ? undefined : valueFromASTUntyped(node.defaultValue),
  };
}

function deprecationOf(place: string, directives: readonly ConstDirectiveNode[] | undefined): string | undefined {
  const deprecated = directives?.find(({ name }) => name.value === 'deprecated');
  refuseDirectives(
    place,
    directives?.filter((directive) => directive !== deprecated),
  );
  if (deprecated === undefined) return undefined;
  return textArgument(deprecated, 'reason') ?? 'No longer supported';
}

function specifiedBy(place: string, directives: readonly ConstDirectiveNode[] | undefined): string | undefined {
  const specified = directives?.find(({ name }) => name.value === 'specifiedBy');
  refuseDirectives(
    place,
    directives?.filter((directive) => directive !== specified),
  );
  return specified === undefined ? undefined : textArgument(specified, 'url');
}

function textArgument({ arguments: args }: ConstDirectiveNode, name: string): string | undefined {
  const value = args?.find((argument) => argument.name.value === name)?.value;
  return value?.kind === Kind.STRING ? value.value : undefined;
}

function refuseDirectives(place: string, directives: readonly ConstDirectiveNode[] | undefined): void {
  const [directive] = directives ?? [];
  if (directive !== undefined) throw invalid(place, `directive "@${directive.name.value}" means nothing here`);
}

function parsed<Node>(place: string, parse: () => Node): Node {
  try {
    return parse();
  } catch (error) {
    if (error instanceof GraphQLError) throw invalid(place, error.message);
    throw error;
  }
}
