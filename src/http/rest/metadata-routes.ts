import type { Route } from '../exchange/route.js';
import { answerResource } from './answer-resource.js';
import { capabilityStatement } from './capability-statement.js';

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
