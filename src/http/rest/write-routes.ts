import type { Bundle } from '@medplum/fhirtypes';
import { withinLimits } from '../../access/operation.js';
import { FhirError } from '../../fhir/error.js';
import { isJsonObject, type JsonObject } from '../../fhir/resource.js';
import { writeWarning } from '../../fhir/write-warning.js';
import { validateInTurns } from '../../profiles/validate-resource.js';
import { repositoryOf } from '../../repository/create-repository.js';
import {
  createResource,
  deleteMatching,
  deleteResource,
  patchMatching,
  patchResource,
  updateMatching,
  updateResource,
} from '../../repository/write-resource.js';
import { FORMAT_PARAMETERS } from '../../search/parse/parse-search.js';
import { CallPace } from '../../store/guards.js';
import type { Answer } from '../exchange/answer.js';
import {
  boundedContextOf,
  type CallerExchange,
  type Exchange,
  parameterOf,
  repositoryFor,
  type Route,
} from '../exchange/exchange.js';
import { readBundle, readJson, readJsonObject, readResourceBody } from '../exchange/read-body.js';
import { isAscii } from '../http-types.js';
import { answerResource, answerWritten, ifMatchOf, preferredReturn, success } from './answer-resource.js';
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
  // See https://hl7.org/fhir/R4/http.html#transaction.
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
  // See https://hl7.org/fhir/R4/resource-operation-validate.html.
  validating('POST', ':type/$validate', readJsonObject),
  validating('POST', ':type/:id/$validate', readJsonObject),
  // Without a body: the stored resource.
  validating('GET', ':type/:id/$validate', async (exchange) => {
    const { type, id } = exchange.path;
    return await repositoryOf(repositoryFor(exchange)).read(type as never, id);
  }),
];

function validating(
  method: Route['method'],
  path: string,
  read: (exchange: CallerExchange) => Promise<JsonObject>,
): Route {
  return {
    ...{ group: 'operations', method, root: 'fhir', path, parameters: ['profile', 'mode'] },
    answer: async (exchange) => validate(exchange, await read(exchange)),
  };
}

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

async function validate(exchange: CallerExchange, body: JsonObject): Promise<Answer> {
  const { type } = exchange.path;
  const { resource, profiles } = validated(body);
  if (resource['resourceType'] !== type)
    throw new FhirError('invalid', `The resource must be a ${type}, as the URL says`);
  const mode = parameterOf(exchange, 'mode');
  if (mode !== undefined) assertMode(mode);
  const asked = [...exchange.url.searchParams.getAll('profile'), ...profiles];
  const { valid, outcome } = await withinLimits(boundedContextOf(exchange), ({ store, signal }) => {
    const options = {
      definitions: store.model,
      // Without profiles in the request, the profiles in `meta.profile` apply.
      profiles: asked.length === 0 ? (true as const) : asked,
      maxBytes: store.maxResourceBytes,
      maxValues: store.maxResourceValues,
    };
    return validateInTurns(resource, options, new CallPace({ signal }));
  });
  const isClean = valid && outcome.issue.length === 1;
  return answerResource(isClean ? success('The resource is valid', writeWarning(type)) : outcome);
}

/** The resource itself, or that of Parameters with the profiles to validate against. */
function validated(body: JsonObject): { readonly resource: JsonObject; readonly profiles: readonly string[] } {
  if (body['resourceType'] !== 'Parameters') return { resource: body, profiles: [] };
  const parameters = Array.isArray(body['parameter']) ? (body['parameter'] as unknown[]).filter(isJsonObject) : [];
  for (const { name, valueCode } of parameters) {
    if (name === 'mode') assertMode(valueCode);
  }
  const profiles = parameters.flatMap(({ name, valueUri, valueCanonical }) => {
    const url = valueUri ?? valueCanonical;
    return name === 'profile' && typeof url === 'string' ? [url] : [];
  });
  const resource = parameters.find(({ name }) => name === 'resource')?.['resource'];
  if (isJsonObject(resource)) return { resource, profiles };
  throw new FhirError('invalid', '$validate needs a resource, as the body or as the parameter "resource"');
}

function assertMode(mode: unknown): void {
  if (mode === 'create' || mode === 'update') return;
  throw new FhirError('unsupported', '$validate takes the modes create and update');
}
