import type { FhirModel } from '../../fhir/model/fhir-model.js';
import { hostOf } from './host/service-model.js';
import { extensionFieldsOf } from '../../profiles/extension-fields.js';
import {
  CANONICAL,
  changeOf,
  connectionOf,
  MUTATION,
  QUERY,
  SUBSCRIPTIONS,
  type ChangePart,
  type FieldDescriptor,
  type WriteInteraction,
} from './fields.js';

/** The description of an object type. */
export function descriptionOf(model: FhirModel, name: string): string | undefined {
  if (name === QUERY) return 'Reads and searches. See https://hl7.org/fhir/R4/graphql.html';
  if (name === MUTATION)
    return 'Writes, in their order and all or none. See https://hl7.org/fhir/R4/graphql.html#mutations';
  if (name === SUBSCRIPTIONS) return 'What happens to the matches of a search, as the caller sees them';
  const changed = changeOf(model, name);
  if (changed !== undefined) return `A change of the matches of a search for ${changed}`;
  if (name === CANONICAL) return 'The id and extensions of a canonical URL, and the resource it names';
  const connection = connectionOf(model, name);
  if (connection === undefined) {
    const definition = model.typeDefinition(name) ?? extensionFieldsOf(model).type(name);
    return definition?.short ?? hostOf(model)?.types.get(name)?.description;
  }
  return connection.edge ? `One match of a search for ${connection.type}` : `A page of ${connection.type} resources`;
}

/** The description of a field. */
export function fieldDescription(field: FieldDescriptor): string | undefined {
  switch (field.kind) {
    case 'element':
      return field.element.short;
    case 'extension':
      return field.shape.short;
    case 'sibling':
      return `Id and extensions of ${field.element.name}`;
    case 'resource-type':
      return 'The type of the resource';
    case 'cache-key':
      return 'A key unique to this resource, among contained ones too; null if it has no identity of its own';
    case 'resolve':
      return 'The resource that is referred to';
    case 'read':
      return `One ${field.type} by its id`;
    case 'write':
      return WRITE_DESCRIPTIONS[field.interaction](field.type);
    case 'list':
      return field.reverse ? `${field.type} resources that point here` : `${field.type} resources that match`;
    case 'connection':
      return `The same as ${field.type}List, page by page`;
    case 'changes':
      return `The ${field.type} resources that begin to match, change visibly, or match no more`;
    case 'change-part':
      return CHANGE_DESCRIPTIONS[field.name];
    case 'connection-part':
    case 'edge-part':
      return PART_DESCRIPTIONS[field.name];
    case 'host':
      return field.field.description;
    case 'choice':
      return undefined;
  }
}

const WRITE_DESCRIPTIONS: { readonly [Interaction in WriteInteraction]: (type: string) => string } = {
  create: (type) => `Stores a new ${type}`,
  update: (type) => `Stores a ${type} as a whole under its id`,
  patch: (type) => `Changes parts of a ${type}`,
  delete: (type) => `Deletes a ${type}; gives null`,
};

const CHANGE_DESCRIPTIONS: { readonly [Name in ChangePart]: string } = {
  event: 'enter, update or leave',
  id: 'The id of the resource',
  resource: 'The current version; null if it left',
};

const PART_DESCRIPTIONS: { readonly [name: string]: string } = {
  count: 'The number of all matches; counted only where it is asked for',
  offset: 'Matches before this page; null where a cursor does not know',
  pagesize: 'Most matches of this page',
  pageSize: 'The same as pagesize',
  first: 'Cursor to the first page',
  previous: 'Cursor to the page before',
  next: 'Cursor to the page after',
  last: 'Cursor to the last page',
  edges: 'The matches of this page',
  mode: 'Why it is here: always "match"',
  score: 'How well it matches; never given',
  resource: 'The resource',
};
