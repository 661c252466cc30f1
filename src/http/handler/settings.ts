import { FhirError } from '../../fhir/error.js';
import { parseBaseUrl } from '../../fhir/reference.js';
import { orList, unknownOption } from '../../fhir/messages.js';
import { configOf, type FhirGraphqlConfig, serviceStore } from '../../graphql/context.js';
import { createFhirGraphql } from '../../graphql/create-fhir-graphql.js';
import { serviceBaseUrl } from '../../store/store.js';
import { type AcceptanceOptions, readAcceptance } from '../../projects/invitation.js';
import type { HandlerSettings } from '../exchange/exchange.js';
import { type FhirHandlerConfig, ROUTE_GROUPS } from '../exchange/handler-config.js';
import { MAX_BODY_BYTES } from '../read-body.js';

/**
 * Checks the configuration of a handler once, so that a mistake is an error when the process starts.
 *
 * @throws TypeError - there is no store
 * @throws FhirError `invalid` - an option is unknown, is missing or has a wrong value
 */
export function checkSettings(config: FhirHandlerConfig): HandlerSettings {
  for (const name of Object.keys(config ?? {})) {
    if (!Object.hasOwn(CHECKS, name)) throw invalid(unknownOption(name, Object.keys(CHECKS)));
  }
  const service = serviceSettings(config ?? {});
  for (const [name, check] of Object.entries(CHECKS)) check(config[name as keyof FhirHandlerConfig], name);
  if (config.requireAudit === true && config.audit === false) throw invalid('requireAudit needs audit');
  const baseUrl = serviceBaseUrl(config);
  if (baseUrl === undefined) throw invalid('baseUrl is missing: neither the handler nor the store has one');
  return Object.freeze({
    ...config,
    ...service,
    baseUrl,
    store: serviceStore(config.store, service.terminology),
    audit: config.audit === false ? undefined : config.audit,
    routes: new Set(config.routes ?? ROUTE_GROUPS),
    maxBodyBytes: config.maxBodyBytes ?? MAX_BODY_BYTES,
    started: new Date(),
  });
}

/** The configuration of GraphQL: the handler's options, or the options of its service. */
function serviceSettings(config: FhirHandlerConfig): GraphqlOptions {
  const pick = (from: GraphqlOptions): GraphqlOptions =>
    Object.fromEntries(GRAPHQL_OPTIONS.map((name) => [name, from[name]]));
  const { store, graphql } = config;
  if (graphql === undefined) {
    const own = pick(config);
    createFhirGraphql({ ...own, store });
    return own;
  }
  const settings = configOf(graphql);
  if (settings === undefined) throw invalid('graphql must be a service that createFhirGraphql made');
  if (settings.store !== serviceStore(store, settings.terminology))
    throw invalid('graphql must be a service over the store of the handler');
  const twice = GRAPHQL_OPTIONS.find((name) => config[name] !== undefined);
  if (twice !== undefined) throw invalid(`${twice} belongs to the service in graphql; give it to createFhirGraphql`);
  return pick(settings);
}

/** Options that a handler and its GraphQL service share. */
const GRAPHQL_OPTIONS = [
  'dialect',
  'limits',
  'documents',
  'introspection',
  'profiles',
  'resolveIdentifiers',
  'resolveReference',
  'fields',
  'types',
  'enums',
  'terminology',
] as const;

type GraphqlOptions = Pick<FhirGraphqlConfig, (typeof GRAPHQL_OPTIONS)[number]>;

type Check = (value: unknown, name: string) => void;

const checkedByGraphql: Check = () => undefined;
const optionalFunction: Check = (value, name) => {
  if (value !== undefined && typeof value !== 'function') throw invalid(`${name} must be a function`);
};

/** Each option with its check; an option that is missing here does not compile. */
const CHECKS: { readonly [Name in keyof Required<FhirHandlerConfig>]: Check } = {
  store: checkedByGraphql,
  dialect: checkedByGraphql,
  limits: checkedByGraphql,
  documents: checkedByGraphql,
  introspection: checkedByGraphql,
  profiles: checkedByGraphql,
  resolveIdentifiers: checkedByGraphql,
  resolveReference: checkedByGraphql,
  fields: checkedByGraphql,
  types: checkedByGraphql,
  enums: checkedByGraphql,
  terminology: checkedByGraphql,
  graphql: checkedByGraphql,
  baseUrl(value) {
    if (value !== undefined) parseBaseUrl(value);
  },
  signIn(value) {
    if (typeof value !== 'function') throw invalid('signIn must be a function that gives the caller of a request');
  },
  audit(value) {
    if (value === false || typeof value === 'function') return;
    throw invalid('audit must be a function that receives the audit trail; false leaves the service without one');
  },
  requireAudit(value) {
    if (value !== undefined && typeof value !== 'boolean') throw invalid('requireAudit must be true or false');
  },
  onError: optionalFunction,
  message: optionalFunction,
  clock: optionalFunction,
  identify: optionalFunction,
  describeRequest: optionalFunction,
  acceptance(value) {
    if (value !== undefined) readAcceptance(value as AcceptanceOptions);
  },
  mailer(value) {
    const send = (value as { readonly send?: unknown } | null | undefined)?.send;
    if (value !== undefined && typeof send !== 'function') throw invalid('mailer must be an object with send()');
  },
  maxBodyBytes(value) {
    if (value !== undefined && !(typeof value === 'number' && value > 0)) {
      throw invalid('maxBodyBytes must be a number above 0');
    }
  },
  routes(value) {
    if (value === undefined) return;
    const isGroup = (one: unknown): boolean => ROUTE_GROUPS.includes(one as never);
    if (!Array.isArray(value) || !value.every(isGroup))
      throw invalid(`routes is a list of ${orList([...ROUTE_GROUPS])}`);
  },
  graphqlOverHttp(value) {
    if (value !== undefined && value !== '2026-08-06') throw invalid('graphqlOverHttp knows the draft 2026-08-06');
  },
  smartConfiguration(value) {
    if (value === undefined) return;
    const { token_endpoint: endpoint, capabilities } = (value ?? {}) as { [name: string]: unknown };
    if (typeof endpoint === 'string' && URL.canParse(endpoint) && Array.isArray(capabilities)) return;
    throw invalid('smartConfiguration needs token_endpoint, a URL, and capabilities, a list');
  },
  healthcheck(value) {
    if (value !== undefined && typeof value !== 'boolean') throw invalid('healthcheck must be true or false');
  },
  extendedMeta(value) {
    if (value !== undefined && typeof value !== 'boolean') throw invalid('extendedMeta must be true or false');
  },
};

function invalid(message: string): FhirError {
  return new FhirError('invalid', message);
}
