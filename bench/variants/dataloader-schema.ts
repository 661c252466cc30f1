import type DataLoader from 'dataloader';
import { buildSchema, isInterfaceType, isObjectType, type GraphQLFieldResolver, type GraphQLSchema } from 'graphql';

export interface Resource {
  readonly resourceType: string;
  readonly id: string;
}

/** A reverse search: the first `count` resources of `type` whose `parameter` points to `parent`/`target`. */
export interface Reverse {
  readonly parent: string;
  readonly type: string;
  readonly parameter: string;
  /** Id of the parent. */
  readonly target: string;
  readonly count: number;
}

/** The context that the resolvers of one request share. */
export interface Context {
  list(type: string, count: number, gender: string | undefined): Resource[] | Promise<Resource[]>;
  /** By `Type/id`. */
  readonly byId: DataLoader<string, Resource | null>;
  readonly reverse: DataLoader<Reverse, Resource[], string>;
}

/** The part of FHIR that the bench's queries touch, written by hand. */
const TYPES = `
  type Query {
    Patient(id: ID!): Patient
    PatientList(gender: String, _count: Int): [Patient!]
    DiagnosticReportList(_count: Int): [DiagnosticReport!]
    ObservationList(_count: Int): [Observation!]
  }
  enum ReferenceParameter { subject encounter }
  interface Resource { id: ID meta: Meta }
  type Meta { versionId: String tag: [Coding] }
  type Patient implements Resource {
    id: ID meta: Meta gender: String birthDate: String
    name: [HumanName] telecom: [ContactPoint] address: [Address]
    ObservationList(_reference: ReferenceParameter!, _count: Int): [Observation!]
    EncounterList(_reference: ReferenceParameter!, _count: Int): [Encounter!]
  }
  type Encounter implements Resource {
    id: ID meta: Meta status: String type: [CodeableConcept] period: Period
    ObservationList(_reference: ReferenceParameter!, _count: Int): [Observation!]
  }
  type Observation implements Resource {
    id: ID meta: Meta status: String effectiveDateTime: String issued: String
    category: [CodeableConcept] code: CodeableConcept subject: Reference encounter: Reference
    valueQuantity: Quantity valueCodeableConcept: CodeableConcept valueString: String
    component: [ObservationComponent]
  }
  type ObservationComponent { code: CodeableConcept valueQuantity: Quantity }
  type DiagnosticReport implements Resource {
    id: ID meta: Meta status: String issued: String code: CodeableConcept result: [Reference]
  }
  type HumanName { use: String family: String given: [String] prefix: [String] }
  type ContactPoint { system: String value: String use: String }
  type Address { line: [String] city: String state: String postalCode: String country: String }
  type CodeableConcept { text: String coding: [Coding] }
  type Coding { system: String code: String display: String }
  type Quantity { value: Float unit: String system: String code: String }
  type Period { start: String end: String }
  type Reference { reference: String display: String resource: Resource }
`;

export function createSchema(): GraphQLSchema {
  const schema = buildSchema(TYPES);
  resolve(schema, 'Query', 'Patient', (_source, { id }, { byId }) => byId.load(`Patient/${String(id)}`));
  for (const type of ['Patient', 'DiagnosticReport', 'Observation']) {
    resolve(schema, 'Query', `${type}List`, (_source, { _count, gender }, { list }) =>
      list(type, _count as number, gender as string | undefined),
    );
  }
  for (const [parent, type] of [
    ['Patient', 'Observation'],
    ['Patient', 'Encounter'],
    ['Encounter', 'Observation'],
  ] as const) {
    resolve(schema, parent, `${type}List`, (source, { _reference, _count }, { reverse }) => {
      const target = (source as Resource).id;
      return reverse.load({ parent, type, parameter: _reference as string, target, count: _count as number });
    });
  }
  resolve(schema, 'Reference', 'resource', (source, _arguments, { byId }) =>
    byId.load((source as { reference: string }).reference),
  );
  const resource = schema.getType('Resource');
  if (isInterfaceType(resource)) resource.resolveType = (value: Resource) => value.resourceType;
  return schema;
}

function resolve(
  schema: GraphQLSchema,
  typeName: string,
  fieldName: string,
  resolver: GraphQLFieldResolver<unknown, Context>,
): void {
  const type = schema.getType(typeName);
  if (!isObjectType(type)) throw new Error(`The bench's schema has no type ${typeName}`);
  type.getFields()[fieldName]!.resolve = resolver;
}
