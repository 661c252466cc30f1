import type { FhirModel } from '../../fhir/model/fhir-model.js';
import { isJsonObject, isResourceId } from '../../fhir/resource.js';
import { mapInTurns, Pace } from '../../platform/pace.js';
import { type GraphQLNamedType, type GraphQLSchema, isSpecifiedScalarType, printType } from '../graphql-js.js';
import { keepAbsent } from './host/read-field.js';
import type { HostFields, HostRootField } from './host/host-fields.js';
import type { HostAdditions } from './host/compile-host-fields.js';
import { changeOf, SUBSCRIPTIONS } from './fields.js';
import { schemaForTools, schemaForToolsInTurns, type SchemaOptions } from './print-fhir-schema.js';

/** The import of Apollo Federation's version in SDL. See https://specs.apollo.dev/federation/v2.3. */
const LINK = 'extend schema @link(url: "https://specs.apollo.dev/federation/v2.3", import: ["@key"])';

/**
 * The SDL of a subgraph: every resource type is an entity with `id` as its key. Directives that reshape answers are left
 * out, since a router would not pass them on.
 */
export function printFederationSchema(options: SubgraphOptions): string {
  return sdlOf(typesOf(schemaForTools(options.model, options), options.model).map(printEntity));
}

/** {@link printFederationSchema} in turns with other work. */
export async function printFederationSchemaInTurns(options: SubgraphOptions): Promise<string> {
  const complete = await schemaForToolsInTurns(options.model, options);
  return sdlOf(await mapInTurns(typesOf(complete, options.model), new Pace(), printEntity));
}

export type SubgraphOptions = SchemaOptions & { readonly model: FhirModel };

/** A router has its own root of subscriptions, called like FHIR's Subscription, so those of this service are left out. */
function typesOf(complete: GraphQLSchema, model: FhirModel): GraphQLNamedType[] {
  return Object.values(complete.getTypeMap()).filter(
    (type) =>
      !type.name.startsWith('__') &&
      !isSpecifiedScalarType(type) &&
      type.name !== SUBSCRIPTIONS &&
      changeOf(model, type.name) === undefined,
  );
}

function printEntity(type: GraphQLNamedType): string {
  return printType(type).replace(
    /^type (\w+) implements Resource \{$/m,
    'type $1 implements Resource @key(fields: "id") {',
  );
}

function sdlOf(types: readonly string[]): string {
  return `${LINK}\n\n${types.join('\n\n')}\n`;
}

/**
 * The fields that a subgraph has for a router: `_service` and `_entities` (one read for all resources). See
 * https://www.apollographql.com/docs/graphos/reference/federation/subgraph-spec.
 *
 * @param sdl called once, at the first request for it
 */
export function withFederation(model: FhirModel, additions: HostAdditions, sdl: () => Promise<string>): HostAdditions {
  let made: Promise<string> | undefined;
  const make = async (): Promise<string> => {
    try {
      return await sdl();
    } catch (error) {
      made = undefined;
      throw error;
    }
  };
  const service: HostRootField = {
    type: '_Service!',
    description: 'This service as a subgraph',
    resolve: async () => ({ sdl: await (made ??= make()) }),
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

/** The resource in a router's representation; null for anything else. */
function linkOf(representation: unknown, model: FhirModel): unknown {
  const { __typename: resourceType, id } = isJsonObject(representation) ? representation : {};
  const isKnown = typeof resourceType === 'string' && model.isResourceType(resourceType);
  return isKnown && isResourceId(id) ? { resourceType, id } : null;
}
