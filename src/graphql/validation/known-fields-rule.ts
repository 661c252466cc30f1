import { didYouMean } from '../../fhir/messages/did-you-mean.js';
import { orList } from '../../fhir/messages/quote.js';
import type { FhirModel } from '../../fhir/model/fhir-model.js';
import { GraphQLError, isCompositeType, isInterfaceType, isObjectType } from '../graphql-js.js';
import type { GraphQLCompositeType } from '../graphql-js.js';
import type { ValidationContext, ValidationRule } from '../graphql-js-validation.js';
import { fieldsOf, RESOURCE } from '../schema/fields.js';
import { modelOf, targetsOf } from '../schema/schema.js';

/**
 * graphql-js's rule "Field Selections", with the suggestions that FHIR knows:
 *
 * | field | suggestion |
 * |---|---|
 * | `value` of an Observation | `valueQuantity`, `valueString` … |
 * | `name` under `resource` | a fragment on the types that the reference allows |
 * | `name` under a Reference | the same behind `resource` |
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
  const choice = fieldsOf(model, parent.name)?.get(name);
  if (choice?.kind === 'choice') return ` Did you mean ${quoted(choice.elements.map((element) => element.name))}?`;
  if (parent.name === RESOURCE) {
    const types = typesWith(model, targetsOf(parent), name);
    if (types.length > 0) return ` Did you mean to use an inline fragment on ${quoted(types)}?`;
  }
  if (parent.name === 'Reference') {
    const types = typesWith(model, targetsOf(parent), name);
    const first = types.includes('Patient') ? 'Patient' : types[0];
    if (first !== undefined) {
      const rest = types.filter((type) => type !== first);
      const others = rest.length === 0 ? '' : `, or a fragment on ${quoted(rest)}`;
      return ` Did you mean "resource { ... on ${first} { ${name} } }"${others}?`;
    }
  }
  return didYouMean(name, [...namesOf(parent, name), ...namesBehind(model, parent)]);
}

/** The elements of what a reference leads to. */
function namesBehind(model: FhirModel, parent: GraphQLCompositeType): readonly string[] {
  if (parent.name !== RESOURCE && parent.name !== 'Reference') return [];
  const types = targetsOf(parent) ?? [];
  const names = types.flatMap((type) => [...(model.typeDefinition(type)?.elements.keys() ?? [])]);
  return [...new Set(names)];
}

/** The allowed types that have the field: all that the reference names, or a few of all types. */
function typesWith(model: FhirModel, targets: readonly string[] | undefined, name: string): readonly string[] {
  const types = (targets ?? [...new Set([...COMMON_TYPES, ...model.resourceTypes])]).filter((type) => {
    const kind = fieldsOf(model, type)?.get(name)?.kind;
    return kind === 'element' || kind === 'sibling';
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
