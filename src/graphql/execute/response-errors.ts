import { type ErrorCode, FhirError, type OperationOutcome } from '../../fhir/error.js';
import { PersistedQueryError, type PersistedQueryCode } from '../documents/documents.js';
import { getLocation, type GraphQLError } from '../graphql-js.js';
import { responseKey } from '../plan/collect-fields.js';
import type { Output, FieldFault } from './run.js';

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
 * would reveal which of them needed a store call, and so the existence of hidden resources. It pauses now and then to
 * let other work run.
 *
 * @param holder the object around the data; a failure at its own key is a failure of the request, without a path
 * @param isFlattened whether the fields under a key were flattened into the surrounding object
 */
export function* fieldErrors(
  holder: Output,
  faults: readonly FieldFault[],
  isFlattened: (out: Output, key: string) => boolean,
): Generator<undefined, readonly ResponseError[], undefined> {
  const byObject = Map.groupBy(faults, ({ out }) => out);
  const errors: ResponseError[] = [];
  /** The path of the value that is visited, changed in place. */
  const path: (string | number)[] = [];
  let visited = 0;
  const add = (faults: readonly FieldFault[] | undefined): void => {
    for (const fault of faults ?? []) errors.push(fieldError(fault, path));
  };
  type OfItems = ReadonlyMap<number | undefined, readonly FieldFault[]> | undefined;
  function* visitItems(items: readonly unknown[], ofItems: OfItems): Visit {
    const own = byObject.get(items as unknown as Output);
    const byIndex = own === undefined ? undefined : Map.groupBy(own, ({ key }) => key);
    for (const [index, item] of items.entries()) {
      path.push(index);
      add(ofItems?.get(index));
      add(byIndex?.get(String(index)));
      if (isObject(item)) yield* visit(item);
      path.pop();
    }
  }
  function* visitFields(object: Output): Visit {
    const own = byObject.get(object);
    const byKey = own === undefined ? undefined : Map.groupBy(own, ({ key }) => key);
    for (const key of Object.keys(object)) {
      const inner = object[key];
      const faults = byKey?.get(key) ?? [];
      // Nearly all fields are leaves without a fault.
      if (faults.length === 0 && !isObject(inner)) continue;
      path.push(responseKey(key));
      if (isFlattened(object, key)) {
        add(faults);
        path.pop();
        for (const item of Array.isArray(inner) ? (inner as unknown[]) : [inner])
          if (isObject(item)) yield* visit(item);
      } else {
        add(faults.filter(({ index }) => index === undefined));
        if (isObject(inner))
          yield* visit(inner, faults.length === 0 ? undefined : Map.groupBy(faults, ({ index }) => index));
        path.pop();
      }
    }
  }
  function* visit(value: object, ofItems?: OfItems): Visit {
    visited += 1;
    if (visited % OBJECTS_PER_LOOK === 0) yield undefined;
    if (Array.isArray(value)) yield* visitItems(value, ofItems);
    else yield* visitFields(value as Output);
  }
  yield* visit(holder);
  return errors;
}

/** Yields at points where other work may run. */
type Visit = Generator<undefined, void, undefined>;

/** Objects visited between looks at the clock: about 0.1 ms. */
const OBJECTS_PER_LOOK = 256;

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}

function fieldError({ location, error }: FieldFault, place: readonly (string | number)[]): ResponseError {
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
