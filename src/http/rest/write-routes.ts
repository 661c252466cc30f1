import { FhirError } from '../../fhir/error.js';
import { FORMAT_PARAMETERS } from '../../search/parse/parse-search.js';
import {
  createResource,
  deleteMatching,
  deleteResource,
  patchMatching,
  patchResource,
  updateMatching,
  updateResource,
} from '../../repository/write-resource.js';
import { type Exchange, repositoryFor } from '../exchange/exchange.js';
import { readJson, readResourceBody } from '../exchange/read-request-body.js';
import type { Route } from '../exchange/route.js';
import { isAscii } from '../http-types.js';
import { answerWritten, ifMatchOf } from './answer-resource.js';
import { parametersOf } from './read-routes.js';

/** Older versions of MedplumClient send `application/json`. */
const PATCH_TYPES = ['application/json-patch+json', 'application/json', 'application/fhir+json'];

const CREATE: Route = {
  group: 'write',
  method: 'POST',
  root: 'fhir',
  path: ':type',
  parameters: [],
  async answer(exchange) {
    const { ifNoneExist, resource } = await parametersOf(exchange, 'create', async () => ({
      ifNoneExist: ifNoneExistOf(exchange),
      resource: await readResourceBody(exchange),
    }));
    return answerWritten(exchange, await createResource(repositoryFor(exchange), resource, { ifNoneExist }));
  },
};

/** See https://hl7.org/fhir/R4/http.html#create, #update, #patch, #delete and the conditional interactions. */
export const WRITE_ROUTES: readonly Route[] = [
  // Medplum's clients name the file of a Binary. FHIR has no element for it, so it is ignored.
  { ...CREATE, path: 'Binary', parameters: ['_filename'] },
  CREATE,
  {
    group: 'write',
    method: 'PUT',
    root: 'fhir',
    path: ':type/:id',
    parameters: [],
    async answer(exchange) {
      const { match, resource } = await parametersOf(exchange, 'update', async () => ({
        match: { ifMatch: ifMatchOf(exchange), ifNoneMatch: ifNoneMatchOf(exchange) },
        resource: await readResourceBody(exchange),
      }));
      return answerWritten(exchange, await updateResource(repositoryFor(exchange), resource, match));
    },
  },
  {
    group: 'write',
    method: 'PUT',
    root: 'fhir',
    path: ':type',
    parameters: 'checked',
    async answer(exchange) {
      const condition = conditionOf(exchange);
      const { match, resource } = await parametersOf(exchange, 'update', async () => ({
        match: { ifMatch: ifMatchOf(exchange) },
        resource: await readResourceBody(exchange),
      }));
      return answerWritten(exchange, await updateMatching(repositoryFor(exchange), resource, condition, match));
    },
  },
  {
    group: 'write',
    method: 'PATCH',
    root: 'fhir',
    path: ':type/:id',
    parameters: [],
    async answer(exchange) {
      const { match, operations } = await parametersOf(exchange, 'patch', async () => ({
        match: { ifMatch: ifMatchOf(exchange) },
        operations: await readJson(exchange, PATCH_TYPES),
      }));
      const written = await patchResource(repositoryFor(exchange), exchange.path, operations, match);
      return answerWritten(exchange, written);
    },
  },
  {
    group: 'write',
    method: 'PATCH',
    root: 'fhir',
    path: ':type',
    parameters: 'checked',
    async answer(exchange) {
      const condition = conditionOf(exchange);
      const { match, operations } = await parametersOf(exchange, 'patch', async () => ({
        match: { ifMatch: ifMatchOf(exchange) },
        operations: await readJson(exchange, PATCH_TYPES),
      }));
      const { type } = exchange.path;
      const written = await patchMatching(repositoryFor(exchange), type, condition, operations, match);
      return answerWritten(exchange, written);
    },
  },
  {
    group: 'write',
    method: 'DELETE',
    root: 'fhir',
    path: ':type/:id',
    parameters: [],
    async answer(exchange) {
      const ifMatch = await parametersOf(exchange, 'delete', () => ifMatchOf(exchange));
      await deleteResource(repositoryFor(exchange), exchange.path, { ifMatch });
      return { status: 204 };
    },
  },
  {
    group: 'write',
    method: 'DELETE',
    root: 'fhir',
    path: ':type',
    parameters: 'checked',
    async answer(exchange) {
      const ifMatch = await parametersOf(exchange, 'delete', () => ifMatchOf(exchange));
      await deleteMatching(repositoryFor(exchange), exchange.path.type, conditionOf(exchange), { ifMatch });
      return { status: 204 };
    },
  },
];

/** The search of a conditional interaction. */
function conditionOf({ url }: Exchange): string {
  const pairs = [...url.searchParams].filter(([name]) => !FORMAT_PARAMETERS.has(name));
  return new URLSearchParams(pairs).toString();
}

/** The search of a conditional create; its encoding is checked where it is read. */
function ifNoneExistOf({ request }: Exchange): string | undefined {
  const search = request.headers.get('if-none-exist') ?? undefined;
  if (search === undefined || isAscii(search)) return search;
  throw new FhirError('invalid', 'If-None-Exist must be percent-encoded');
}

function ifNoneMatchOf({ request }: Exchange): '*' | undefined {
  const value = request.headers.get('if-none-match')?.trim();
  if (value === undefined || value === '*') return value;
  throw new FhirError('invalid', 'If-None-Match of an update must be *');
}
