import { FhirError, type ErrorCode } from '../../fhir/error.js';
import type { OperationOutcome } from '../../fhir/operation-outcome.js';
import { PersistedQueryError, type PersistedQueryCode } from '../documents/documents.js';
import { getLocation, type GraphQLError } from '../graphql-js.js';
import { responseKey } from '../plan/collect-fields.js';
import type { Output } from './holes.js';
import type { FieldFault } from './run.js';

/**
 * One entry of `errors`: GraphQL's message, locations and path, and FHIR's OperationOutcome in `extensions.resource`.
 * See https://hl7.org/fhir/R4/graphql.html#errors.
 */
export interface ResponseError {
  readonly message: string;
  readonly locations?: readonly { readonly line: number; readonly column: number }[];
  readonly path?: readonly (string | number)[];
  readonly extensions: {
    readonly code: ErrorCode | PersistedQueryCode;
    readonly details?: { readonly [name: string]: unknown };
    readonly resource: OperationOutcome;
  };
}

/** An error of the whole request. */
export function requestError(error: FhirError): ResponseError {
  return { message: error.message, extensions: extensionsOf(error) };
}

/** A syntax, validation or variable error found by graphql-js; always caused by the request. */
export function documentError(error: GraphQLError): ResponseError {
  const locations =
    error.locations ??
    (error.source === undefined ? undefined : error.positions?.map((at) => getLocation(error.source!, at)));
  const message = shortened(error.message);
  return {
    message,
    ...(locations === undefined
      ? {}
      : { locations: locations.slice(0, MAX_LOCATIONS).map(({ line, column }) => ({ line, column })) }),
    extensions: extensionsOf(new FhirError('invalid', message)),
  };
}

/**
 * The errors of single fields, in the order of the fields in the data, each with its path. The order of occurrence
 * would reveal which of them needed a store call, and so the existence of hidden resources.
 *
 * @param holder the object around the data; a failure at its own key is a failure of the request, without a path
 * @param isFlattened whether the fields under a key were flattened into the surrounding object
 */
export function fieldErrors(
  holder: Output,
  faults: readonly FieldFault[],
  isFlattened: (out: Output, key: string) => boolean,
): ResponseError[] {
  if (faults.length === 0) return [];
  const byObject = Map.groupBy(faults, ({ out }) => out);
  const errors: ResponseError[] = [];
  const visit = (
    value: unknown,
    path: Path,
    ofItems?: ReadonlyMap<number | undefined, readonly FieldFault[]>,
  ): void => {
    if (Array.isArray(value)) {
      const own = byObject.get(value as unknown as Output);
      const byIndex = own === undefined ? undefined : Map.groupBy(own, ({ key }) => key);
      value.forEach((item, index) => {
        const place = [...path, index];
        for (const fault of ofItems?.get(index) ?? []) errors.push(fieldError(fault, place));
        for (const fault of byIndex?.get(String(index)) ?? []) errors.push(fieldError(fault, place));
        visit(item, place);
      });
      return;
    }
    if (typeof value !== 'object' || value === null) return;
    const own = byObject.get(value as Output);
    const byKey = own === undefined ? undefined : Map.groupBy(own, ({ key }) => key);
    for (const [key, inner] of Object.entries(value)) {
      const place = [...path, responseKey(key)];
      const faults = byKey?.get(key) ?? [];
      if (isFlattened(value as Output, key)) {
        for (const fault of faults) errors.push(fieldError(fault, place));
        for (const item of Array.isArray(inner) ? (inner as unknown[]) : [inner]) visit(item, path);
      } else {
        for (const fault of faults) if (fault.index === undefined) errors.push(fieldError(fault, place));
        visit(inner, place, faults.length === 0 ? undefined : Map.groupBy(faults, ({ index }) => index));
      }
    }
  };
  visit(holder, []);
  return errors;
}

type Path = readonly (string | number)[];

function fieldError({ location, error }: FieldFault, place: Path): ResponseError {
  const path = place.slice(1);
  return {
    message: error.message,
    ...(location === undefined ? {} : { locations: [location] }),
    ...(path.length === 0 ? {} : { path }),
    extensions: extensionsOf(error),
  };
}

/** Bounds of messages and locations: both grow with client input. */
const MAX_MESSAGE_LENGTH = 500;
const MAX_LOCATIONS = 20;

/** Keeps the beginning and the end of the message: suggestions are at the end. */
function shortened(message: string): string {
  if (message.length <= MAX_MESSAGE_LENGTH) return message;
  return `${message.slice(0, 300)} … ${message.slice(-(MAX_MESSAGE_LENGTH - 303))}`;
}

function extensionsOf(error: FhirError): ResponseError['extensions'] {
  return {
    code: error instanceof PersistedQueryError ? error.wireCode : error.code,
    ...(error.details === undefined ? {} : { details: error.details }),
    resource: error.outcome,
  };
}
