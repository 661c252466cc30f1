import { ERROR_CODES, FhirError } from 'fhirgraph';

/** What was thrown on the way to the engine, as GraphQL and HTTP tell it. What is not for clients is told to nobody. */
export function thrownError(error) {
  const { code, message, outcome, status } =
    error instanceof FhirError ? error : new FhirError('internal', 'Internal error');
  const headers = new Map(status === 401 ? [['www-authenticate', 'Bearer']] : []);
  return { message, extensions: { code, resource: outcome }, http: { status, headers } };
}

/** The HTTP status of a result of the engine: 200 with data, else that of its first error. */
export function statusOf({ data, errors }) {
  return data == null ? (ERROR_CODES[errors?.[0]?.extensions.code]?.status ?? 200) : 200;
}
