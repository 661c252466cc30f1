import { FhirError, type ErrorCode } from '../../fhir/error.js';
import type { OperationOutcome } from '../../fhir/operation-outcome.js';
import { getLocation, type GraphQLError } from '../graphql-js.js';
import type { FieldFault, Output } from './run.js';

/**
 * One entry of `errors`: what GraphQL says (message, locations, path) and what FHIR adds, an OperationOutcome in
 * `extensions.resource`. See https://hl7.org/fhir/R4/graphql.html#errors.
 */
export interface ResponseError {
  readonly message: string;
  readonly locations?: readonly { readonly line: number; readonly column: number }[];
  readonly path?: readonly (string | number)[];
  readonly extensions: {
    readonly code: ErrorCode;
    readonly details?: { readonly [name: string]: unknown };
    readonly resource: OperationOutcome;
  };
}

/** An error of the whole request. */
export function requestError(error: FhirError): ResponseError {
  return { message: error.message, extensions: extensionsOf(error) };
}

/** A syntax, validation or variable error found by graphql-js; always the caller's mistake. */
export function documentError(error: GraphQLError): ResponseError {
  const locations =
    error.locations ??
    (error.source === undefined ? undefined : error.positions?.map((at) => getLocation(error.source!, at)));
  return {
    message: error.message,
    ...(locations === undefined ? {} : { locations: locations.map(({ line, column }) => ({ line, column })) }),
    extensions: extensionsOf(new FhirError('invalid', error.message)),
  };
}

/** The errors of single fields, each with the path at which it stands in the data. */
export function fieldErrors(data: Output, faults: readonly FieldFault[]): ResponseError[] {
  if (faults.length === 0) return [];
  const paths = pathsTo(data, new Set(faults.map(({ out }) => out)));
  return faults.map(({ out, key, location, error }) => ({
    message: error.message,
    ...(location === undefined ? {} : { locations: [location] }),
    path: [...(paths.get(out) ?? []), key],
    extensions: extensionsOf(error),
  }));
}

/** Finds objects in the data; each stands in it once. */
function pathsTo(data: Output, wanted: ReadonlySet<Output>): Map<Output, (string | number)[]> {
  const paths = new Map<Output, (string | number)[]>();
  const visit = (value: unknown, path: (string | number)[]): void => {
    if (typeof value !== 'object' || value === null) return;
    if (Array.isArray(value)) {
      value.forEach((item, index) => visit(item, [...path, index]));
      return;
    }
    if (wanted.has(value as Output)) paths.set(value as Output, path);
    for (const [key, inner] of Object.entries(value)) visit(inner, [...path, key]);
  };
  visit(data, []);
  return paths;
}

function extensionsOf(error: FhirError): ResponseError['extensions'] {
  return {
    code: error.code,
    ...(error.details === undefined ? {} : { details: error.details }),
    resource: error.outcome,
  };
}
