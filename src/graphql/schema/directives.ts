import { DirectiveLocation, GraphQLDirective, GraphQLString, specifiedDirectives } from '../graphql-js.js';

/** Directives that reshape the response. See https://hl7.org/fhir/R4/graphql.html#flattening. */
export const SHAPING_DIRECTIVES: readonly GraphQLDirective[] = [
  new GraphQLDirective({
    name: 'flatten',
    description: 'Leaves the field itself out and puts its fields into the object around it',
    locations: [DirectiveLocation.FIELD],
  }),
  new GraphQLDirective({
    name: 'first',
    description: 'Takes the first item only, after the filters',
    locations: [DirectiveLocation.FIELD],
  }),
  new GraphQLDirective({
    name: 'singleton',
    description: 'Gives a single value where flattening would give a list; an error if there are several',
    locations: [DirectiveLocation.FIELD],
  }),
  new GraphQLDirective({
    name: 'slice',
    description: 'Splits a list by a FHIRPath expression and appends its result to the name with a dot; $index counts',
    locations: [DirectiveLocation.FIELD],
    args: {
      path: { type: GraphQLString, description: 'The FHIRPath expression, or $index' },
      fhirpath: { type: GraphQLString, description: 'The same as path' },
    },
  }),
];

/** All directives of the schema. */
export const DIRECTIVES: readonly GraphQLDirective[] = [...specifiedDirectives, ...SHAPING_DIRECTIVES];
