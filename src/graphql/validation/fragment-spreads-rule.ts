import type { FhirModel } from '../../fhir/model/fhir-model.js';
import { modelOf } from '../schema/schema.js';
import { GraphQLError, isCompositeType, type ASTNode, type GraphQLType } from '../graphql-js.js';
import { typeFromAST, type ValidationContext, type ValidationRule } from '../graphql-js-validation.js';
import { RESOURCE } from '../schema/fields.js';

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
