import { patientEverything } from '../../repository/patient-everything.js';
import { repositoryFor } from '../exchange/exchange.js';
import type { Route } from '../exchange/route.js';
import { answerResource } from './answer-resource.js';

/** See https://hl7.org/fhir/R4/patient-operation-everything.html. */
export const EVERYTHING_ROUTES: readonly Route[] = [
  {
    group: 'operations',
    method: 'GET',
    root: 'fhir',
    path: 'Patient/:id/$everything',
    parameters: 'checked',
    answer: async (exchange) =>
      answerResource(await patientEverything(repositoryFor(exchange), exchange.path.id, exchange.url.searchParams)),
  },
];
