import type { Bundle } from '@medplum/fhirtypes';
import { repositoryOf } from '../../repository/create-repository.js';
import { repositoryFor } from '../exchange/exchange.js';
import { readBundle } from '../exchange/read-request-body.js';
import type { Route } from '../exchange/route.js';
import { answerResource, preferredReturn } from './answer-resource.js';

/** See https://hl7.org/fhir/R4/http.html#transaction. */
export const BUNDLE_ROUTES: readonly Route[] = [
  {
    group: 'bundle',
    method: 'POST',
    root: 'fhir',
    path: '',
    parameters: [],
    async answer(exchange) {
      const bundle = (await readBundle(exchange)) as unknown as Bundle;
      const representation = preferredReturn(exchange) === 'representation';
      return answerResource(await repositoryOf(repositoryFor(exchange)).transaction(bundle, { representation }));
    },
  },
];
