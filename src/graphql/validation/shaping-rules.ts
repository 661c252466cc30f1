import { modelOf } from '../schema/schema.js';
import { getNamedType, GraphQLError, isCompositeType, type FieldNode } from '../graphql-js.js';
import { ScalarLeafsRule, type ValidationContext, type ValidationRule } from '../graphql-js-validation.js';
import { CHOICE, fieldsOf, MUTATION } from '../schema/fields.js';

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
