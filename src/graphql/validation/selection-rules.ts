import type { FhirModel } from '../../fhir/model/fhir-model.js';
import { modelOf } from '../schema/schema.js';
import {
  GraphQLError,
  isCompositeType,
  type ASTNode,
  type GraphQLType,
  getNamedType,
  type FieldNode,
} from '../graphql-js.js';
import { typeFromAST, type ValidationContext, type ValidationRule, ScalarLeafsRule } from '../graphql-js-validation.js';
import { RESOURCE, CHOICE, fieldsOf, MUTATION } from '../schema/fields.js';

/**
 * graphql-js's rule "Fragment Spread Is Possible", comparing types by name: the schema has one `Reference` and one
 * `Resource` per set of reference targets, which are one type to the author of a query. See
 * https://spec.graphql.org/October2021/#sec-Fragment-spread-is-possible.
 */
export const FragmentSpreadsRule: ValidationRule = (context: ValidationContext) => {
  const check = (node: ASTNode, fragment: GraphQLType | null | undefined, what: string) => {
    const parent = context.getParentType();
    if (!isCompositeType(fragment) || !isCompositeType(parent) || overlap(modelOf(context), fragment.name, parent.name))
      return;
    const message = `${what} cannot be spread here as objects of type "${parent.name}" can never be of type "${fragment.name}".`;
    const isTarget = parent.name === 'Reference' && modelOf(context).isResourceType(fragment.name);
    const hint = isTarget ? ` Did you mean "resource { ... on ${fragment.name} }"?` : '';
    context.reportError(new GraphQLError(`${message}${hint}`, { nodes: node }));
  };
  return {
    InlineFragment(node) {
      check(node, context.getType(), 'Fragment');
    },
    FragmentSpread(node) {
      const fragment = context.getFragment(node.name.value);
      if (fragment == null) return;
      check(node, typeFromAST(context.getSchema(), fragment.typeCondition), `Fragment "${node.name.value}"`);
    },
  };
};

/** True if an object can be of both types: equal types, or a resource type and the interface. */
function overlap(model: FhirModel, one: string, other: string): boolean {
  if (one === other) return true;
  return (one === RESOURCE && model.isResourceType(other)) || (other === RESOURCE && model.isResourceType(one));
}

/**
 * Reshaping directives must fit their field: `@flatten` is for objects, `@slice` has exactly one expression, and
 * `@first` and `@slice` exclude each other, as in HL7's engine.
 */
export const ShapingDirectivesRule: ValidationRule = (context: ValidationContext) => ({
  Field(node) {
    const report = (message: string) => {
      context.reportError(new GraphQLError(message, { nodes: node }));
    };
    const flatten = directive(node, 'flatten');
    if (flatten !== undefined && !isCompositeType(getNamedType(context.getType()))) {
      report(`Directive "@flatten" is not allowed on "${node.name.value}", which has no fields.`);
    }
    const slice = directive(node, 'slice');
    if (slice === undefined) return;
    if (slice.arguments?.length !== 1)
      report('Directive "@slice" takes one argument: "path", or "fhirpath" for the same.');
    if (directive(node, 'first') !== undefined)
      report('Directives "@slice" and "@first" cannot be used on the same field.');
  },
});

/** graphql-js's rule "Leaf Field Selections", except that a deletion, which returns nothing, needs no selection. */
export const DeletionLeafsRule: ValidationRule = (context: ValidationContext) => {
  const { Field } = ScalarLeafsRule(context) as { Field: (node: FieldNode) => void };
  return {
    Field(node) {
      if (node.selectionSet === undefined && isDeletion(context, node)) return;
      Field(node);
    },
  };
};

/** The same for dialect `hl7`, where choices have base names: the data decides whether they are leaves. */
export const ChoiceLeafsRule: ValidationRule = (context: ValidationContext) => {
  const { Field } = DeletionLeafsRule(context) as { Field: (node: FieldNode) => void };
  return {
    Field(node) {
      if (getNamedType(context.getType())?.name !== CHOICE) Field(node);
    },
  };
};

function isDeletion(context: ValidationContext, node: FieldNode): boolean {
  if (context.getParentType()?.name !== MUTATION) return false;
  const field = fieldsOf(modelOf(context), MUTATION)!.get(node.name.value);
  return field?.kind === 'write' && field.interaction === 'delete';
}

function directive(node: FieldNode, name: string) {
  return node.directives?.find((candidate) => candidate.name.value === name);
}
