import type { FhirModel } from '../../fhir/model/fhir-model.js';
import { isJsonObject, isResourceId } from '../../fhir/resource.js';
import { GraphQLSchema, printSchema, specifiedDirectives } from '../graphql-js.js';
import { keepAbsent } from './host/read-field.js';
import type { HostFields, HostRootField } from './host/host-fields.js';
import type { HostAdditions } from './host/compile-host-fields.js';
import { schemaForTools, type SchemaOptions } from './print-fhir-schema.js';

/** What the version of Apollo Federation is called in SDL. See https://specs.apollo.dev/federation/v2.3. */
const LINK = 'extend schema @link(url: "https://specs.apollo.dev/federation/v2.3", import: ["@key"])';

/**
 * The SDL of a subgraph: every resource type is an entity with `id` as its key. Directives that reshape answers are left
 * out, since a router would not pass them on.
 */
export function printFederationSchema(options: SchemaOptions & { readonly model: FhirModel }): string {
  const complete = schemaForTools(options.model, options);
  const schema = new GraphQLSchema({ ...complete.toConfig(), directives: specifiedDirectives, assumeValid: true });
  const sdl = printSchema(schema).replaceAll(
    /^type (\w+) implements Resource \{$/gm,
    'type $1 implements Resource @key(fields: "id") {',
  );
  return `${LINK}\n\n${sdl}\n`;
}

/**
 * The fields that a router asks of a subgraph: `_service` and `_entities` (one read for all resources). See
 * https://www.apollographql.com/docs/graphos/reference/federation/subgraph-spec.
 */
export function withFederation(model: FhirModel, additions: HostAdditions, sdl: () => string): HostAdditions {
  const service: HostRootField = {
    type: '_Service!',
    description: 'This service as a subgraph',
    resolve: () => ({ sdl: sdl() }),
  };
  const entities: HostRootField = keepAbsent({
    type: '[Resource]!',
    description: 'Resources by their type and id; null for those that the caller may not see',
    args: { representations: '[_Any!]!' },
    resolve: ({ representations }) => (representations as readonly unknown[]).map((one) => linkOf(one, model)),
  });
  const fields: HostFields = {
    ...additions.fields,
    Query: { ...additions.fields?.Query, _service: service, _entities: entities },
  };
  const types = `${additions.types ?? ''}\nscalar _Any\ntype _Service { sdl: String! }`;
  return { fields, types };
}

/** The resource that a router means; null for anything else. */
function linkOf(representation: unknown, model: FhirModel): unknown {
  const { __typename: resourceType, id } = isJsonObject(representation) ? representation : {};
  const isKnown = typeof resourceType === 'string' && model.isResourceType(resourceType);
  return isKnown && isResourceId(id) ? { resourceType, id } : null;
}
