import type {
  CapabilityStatement,
  CapabilityStatementRest,
  CapabilityStatementRestResource,
  CapabilityStatementRestResourceInteraction,
  CapabilityStatementRestResourceSearchParam,
  ResourceType,
} from '@medplum/fhirtypes';
import type { Caller } from '../../access/caller.js';
import { decide, readsAll } from '../../access/decide.js';
import type { Interaction } from '../../access/rule.js';
import type { SearchParameterDefinition } from '../../fhir/model/definition-types.js';
import type { FhirModel } from '../../fhir/model/fhir-model.js';
import { pushTo } from '../../platform/collections.js';
import type { ResourceStore } from '../../store/store.js';
import type { HandlerSettings, Route } from '../exchange/exchange.js';
import type { RouteGroup } from '../exchange/handler-config.js';
import { answerResource } from './answer-resource.js';

/** See https://hl7.org/fhir/R4/http.html#capabilities. */
export const METADATA_ROUTES: readonly Route[] = [
  {
    group: 'metadata',
    method: 'GET',
    root: 'fhir',
    path: 'metadata',
    parameters: 'any',
    answer: (exchange) => answerResource(capabilityStatement(exchange.settings, exchange.caller)),
    answerPublic: (exchange) => answerResource(capabilityStatement(exchange.settings, undefined)),
  },
];

/**
 * The capabilities of the service for one caller: the usable types and interactions, from the definitions, the caller's
 * rules and the served routes. Without a caller, only the parts that apply to everybody. See
 * https://hl7.org/fhir/R4/capabilitystatement.html.
 */
function capabilityStatement(settings: HandlerSettings, caller: Caller | undefined): CapabilityStatement {
  const { store, baseUrl, routes, started } = settings;
  const resource = caller === undefined ? [] : resourcesOf(store, caller, routes);
  const hasHistory = routes.has('history') && store.typeHistory !== undefined;
  const interaction = [
    ...(routes.has('bundle') ? (['transaction', 'batch'] as const) : []),
    ...(hasHistory ? (['history-system'] as const) : []),
  ].map((code) => ({ code }));
  const operation = routes.has('graphql') ? [operationNamed('graphql', 'Resource-graphql')] : [];
  const rest: CapabilityStatementRest = {
    mode: 'server',
    security: {
      cors: false,
      service: [
        { coding: [{ system: 'http://terminology.hl7.org/CodeSystem/restful-security-service', code: 'OAuth' }] },
      ],
    },
    ...(resource.length === 0 ? {} : { resource }),
    ...(interaction.length === 0 ? {} : { interaction }),
    ...(operation.length === 0 ? {} : { operation }),
  };
  return {
    resourceType: 'CapabilityStatement',
    status: 'active',
    date: started.toISOString(),
    kind: 'instance',
    software: { name: 'fhirgraph' },
    implementation: { description: 'FHIR R4 service', url: baseUrl },
    fhirVersion: store.model.version as CapabilityStatement['fhirVersion'],
    format: ['json', 'application/fhir+json'],
    patchFormat: ['application/json-patch+json'],
    rest: [rest],
  };
}

/** The interactions of a route group, and the right that each needs. */
const INTERACTIONS: readonly (readonly [
  group: RouteGroup,
  code: CapabilityStatementRestResourceInteraction['code'],
  right: Interaction,
])[] = [
  ['read', 'read', 'read'],
  ['read', 'vread', 'vread'],
  ['search', 'search-type', 'search'],
  ['history', 'history-instance', 'history'],
  ['history', 'history-type', 'history'],
  ['write', 'create', 'create'],
  ['write', 'update', 'update'],
  ['write', 'patch', 'update'],
  ['write', 'delete', 'delete'],
];

function resourcesOf(
  { model, typeHistory, terminology }: ResourceStore,
  caller: Caller,
  routes: ReadonlySet<RouteGroup>,
): CapabilityStatementRestResource[] {
  const codes = model.typeDefinition('CapabilityStatementRestResource')?.elements.get('type')?.codes;
  // Medplum's types are not codes of R4, and the statement would not be valid with them.
  const types = model.resourceTypes.filter((type) => codes?.includes(type) !== false);
  const searchable = types.filter((type) => decide(caller, type, 'search') !== null);
  const reverse = reverseIncludes(model, searchable);
  return types.flatMap((type) => {
    const interaction = INTERACTIONS.filter(
      ([group, code, right]) =>
        routes.has(group) &&
        (code !== 'history-type' || typeHistory !== undefined) &&
        decide(caller, type, right) !== null,
    ).map(([, code]) => ({ code }));
    if (interaction.length === 0) return [];
    const may = new Set(interaction.map(({ code }) => code));
    const operations = routes.has('operations') ? operationsOf(type, terminology !== undefined) : [];
    const searchParam = may.has('search-type') ? searchParametersOf(model, type) : [];
    return [
      {
        type: type as ResourceType,
        interaction,
        versioning: 'versioned',
        readHistory: may.has('history-instance'),
        updateCreate: may.has('update') && may.has('create') && readsAll(caller, type),
        conditionalCreate: may.has('create'),
        conditionalRead: may.has('read') ? 'full-support' : 'not-supported',
        conditionalUpdate: may.has('update'),
        conditionalDelete: may.has('delete') ? 'single' : 'not-supported',
        referencePolicy: ['literal', 'logical', 'local'],
        ...(searchParam.length === 0 ? {} : { searchParam, ...includesOf(model, type, reverse.get(type)) }),
        ...(operations.length === 0 ? {} : { operation: operations }),
      } satisfies CapabilityStatementRestResource,
    ];
  });
}

function referencesOf(model: FhirModel, type: string): SearchParameterDefinition[] {
  return [...model.searchParameters(type).values()].filter(({ type: kind }) => kind === 'reference');
}

function searchParametersOf(model: FhirModel, type: string): CapabilityStatementRestResourceSearchParam[] {
  return [...model.searchParameters(type).values()]
    .filter((parameter) => parameter.type !== 'special')
    .map(({ code, type: kind, url, short }) => ({
      name: code,
      type: kind,
      ...(url === undefined ? {} : { definition: url, documentation: short }),
    }));
}

type Includes = Pick<CapabilityStatementRestResource, 'searchInclude' | 'searchRevInclude'>;

function includesOf(model: FhirModel, type: string, reverse: readonly string[] | undefined): Includes {
  const references = referencesOf(model, type);
  return {
    ...(references.length === 0 ? {} : { searchInclude: ['*', ...references.map(({ code }) => `${type}:${code}`)] }),
    ...(reverse === undefined ? {} : { searchRevInclude: [...reverse] }),
  };
}

/** The `_revinclude`s by target. Parameters that lead to every type are left out: each type would name all of them. */
function reverseIncludes(model: FhirModel, sources: readonly string[]): ReadonlyMap<string, readonly string[]> {
  const byTarget = new Map<string, string[]>();
  for (const source of sources) {
    for (const { code, targets } of referencesOf(model, source)) {
      for (const target of targets ?? []) pushTo(byTarget, target, `${source}:${code}`);
    }
  }
  return byTarget;
}

function operationsOf(type: string, hasTerminology: boolean): { name: string; definition: string }[] {
  const own = OPERATIONS[type] ?? [];
  const served = hasTerminology ? own : own.filter((name) => name === 'everything');
  return [
    ...(type === 'Subscription' ? [STATUS] : []),
    ...served.map((name) => operationNamed(name, `${type}-${name}`)),
    operationNamed('validate', 'Resource-validate'),
  ];
}

const OPERATIONS: { readonly [type: string]: readonly string[] } = {
  Patient: ['everything'],
  Encounter: ['everything'],
  ValueSet: ['expand', 'validate-code'],
  CodeSystem: ['lookup', 'validate-code', 'subsumes'],
};

const STATUS = {
  name: 'status',
  definition: 'http://hl7.org/fhir/uv/subscriptions-backport/OperationDefinition/backport-subscription-status',
};

function operationNamed(name: string, definition: string): { name: string; definition: string } {
  return { name, definition: `http://hl7.org/fhir/OperationDefinition/${definition}` };
}
