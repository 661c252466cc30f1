import { didYouMean, isSameName, orList } from '../../fhir/messages.js';
import type { FhirModel } from '../../fhir/model/fhir-model.js';
import { GraphQLError, isCompositeType, isInterfaceType, isObjectType } from '../graphql-js.js';
import type { GraphQLCompositeType } from '../graphql-js.js';
import type { ValidationContext, ValidationRule } from '../graphql-js-validation.js';
import { fieldsOf, MUTATION, QUERY, RESOURCE } from '../schema/fields.js';
import { modelOf, referenceTargets } from '../schema/schema.js';
import { familiarField, familiarMutation, familiarQuery } from './familiar-names.js';

/**
 * graphql-js's rule "Field Selections", with suggestions specific to FHIR:
 *
 * | field | suggestion |
 * |---|---|
 * | `value` of an Observation | `valueQuantity`, `valueString` … |
 * | `name` under `resource` | a fragment on the types that the reference allows |
 * | `name` under a Reference | the same behind `resource` |
 * | `patients`, `createPatient`, `firstName`, `totalCount` | the names here for these names of other APIs: `PatientList`, `PatientCreate`, `given`, `count` |
 * | any other | names that are close |
 *
 * See https://spec.graphql.org/October2021/#sec-Field-Selections.
 */
export const KnownFieldsRule: ValidationRule = (context: ValidationContext) => ({
  Field(node) {
    const parent = context.getParentType();
    if (!isCompositeType(parent) || context.getFieldDef()) return;
    const name = node.name.value;
    const { hideSuggestions = false } = context as { readonly hideSuggestions?: boolean };
    const hint = hideSuggestions ? '' : suggestion(modelOf(context), parent, name);
    const message = `Cannot query field "${name}" on type "${parent.name}".${hint}`;
    context.reportError(new GraphQLError(message, { nodes: node }));
  },
});

function suggestion(model: FhirModel, parent: GraphQLCompositeType, name: string): string {
  const choice = choiceOf(model, parent.name, name);
  if (choice !== undefined) return ` Did you mean ${listed(choice)}?`;
  const behind = parent.name === RESOURCE || parent.name === 'Reference' ? behindReference(model, parent, name) : '';
  if (behind !== '') return behind;
  const names = namesOf(parent, name);
  const typeNamed = (wanted: string): string | undefined => typeInLowerCase(model, wanted);
  if (names.some((one) => isSameName(one, name))) return didYouMean(name, names);
  const familiar =
    parent.name === QUERY
      ? familiarQuery(name, typeNamed)
      : parent.name === MUTATION
        ? familiarMutation(name, typeNamed)
        : familiarField(name, (one) => names.includes(one));
  if (familiar.length > 0) return ` Did you mean ${quoted(familiar)}?`;
  return didYouMean(name, [...names, ...namesBehind(model, parent)]);
}

/** The suggestion for a field of the resource that a reference leads to. */
function behindReference(model: FhirModel, parent: GraphQLCompositeType, name: string): string {
  const isReference = parent.name === 'Reference';
  if (model.isResourceType(name)) {
    return ` Did you mean "${isReference ? `resource { ... on ${name} }` : `... on ${name}`}"?`;
  }
  const types = typesWith(model, referenceTargets(parent), name);
  if (types.length === 0) return '';
  const first = types.includes('Patient') ? 'Patient' : types[0]!;
  const choice = choiceOf(model, first, name);
  const field = choice?.[0] ?? name;
  if (!isReference && choice === undefined) return ` Did you mean to use an inline fragment on ${quoted(types)}?`;
  const rest = types.filter((type) => type !== first);
  const others = rest.length === 0 ? '' : `, or a fragment on ${quoted(rest)}`;
  const fragment = `... on ${first} { ${field} }`;
  return ` Did you mean "${isReference ? `resource { ${fragment} }` : fragment}"${others}?`;
}

/** The elements of a choice by its base name, those of common types first; undefined for any other field. */
function choiceOf(model: FhirModel, type: string, name: string): readonly string[] | undefined {
  const field = fieldsOf(model, type)?.get(name);
  if (field?.kind !== 'choice') return undefined;
  const names = field.elements.map((element) => element.name);
  if (names.length <= MAX_CHOICES) return names;
  const common = COMMON_CHOICES.map((suffix) => `${name}${suffix}`);
  return [...common.filter((one) => names.includes(one)), ...names.filter((one) => !common.includes(one))];
}

/** An extension has fifty, too many for a message. */
const MAX_CHOICES = 12;
const COMMON_CHOICES = ['String', 'Code', 'CodeableConcept', 'Coding', 'Boolean', 'Integer', 'DateTime', 'Reference'];

function listed(choice: readonly string[]): string {
  if (choice.length <= MAX_CHOICES) return quoted(choice);
  return `${choice
    .slice(0, COMMON_CHOICES.length)
    .map((name) => `"${name}"`)
    .join(', ')} or one of ${choice.length - COMMON_CHOICES.length} others`;
}

function typeInLowerCase(model: FhirModel, wanted: string): string | undefined {
  return model.resourceTypes.find((type) => type.toLowerCase() === wanted);
}

/** The elements of the resources that a reference may lead to. */
function namesBehind(model: FhirModel, parent: GraphQLCompositeType): readonly string[] {
  if (parent.name !== RESOURCE && parent.name !== 'Reference') return [];
  const types = referenceTargets(parent) ?? [];
  const names = types.flatMap((type) => [...(model.typeDefinition(type)?.elements.keys() ?? [])]);
  return [...new Set(names)];
}

/** The allowed types with the field: all of the reference's target types, or a few if it allows any type. */
function typesWith(model: FhirModel, targets: readonly string[] | undefined, name: string): readonly string[] {
  const types = (targets ?? [...new Set([...COMMON_TYPES, ...model.resourceTypes])]).filter((type) => {
    const kind = fieldsOf(model, type)?.get(name)?.kind;
    return kind === 'element' || kind === 'sibling' || kind === 'choice';
  });
  return targets === undefined ? types.slice(0, MAX_TYPES) : types;
}

const MAX_TYPES = 5;

/** Suggested first where a reference allows any type. */
const COMMON_TYPES = ['Patient', 'Practitioner', 'Organization', 'Encounter', 'Observation', 'Location', 'Device'];

/** `_gender` has the extensions of `gender`, which are seldom meant. */
function namesOf(type: GraphQLCompositeType, name: string): readonly string[] {
  if (!isObjectType(type) && !isInterfaceType(type)) return [];
  const names = Object.keys(type.getFields());
  return name.startsWith('_') ? names : names.filter((one) => !one.startsWith('_'));
}

function quoted(names: readonly string[]): string {
  return orList(names.map((name) => `"${name}"`));
}
