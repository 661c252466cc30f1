import type { FhirGraphqlContext } from '../../../src/graphql/context.js';
import type { ErrorCode } from '../../../src/fhir/error.js';
import type { DocumentNode } from 'graphql';

/** What becomes of an attack: the code of the first error, or the whole answer where that is right and cheap. */
export type Outcome = 'answered' | ErrorCode;

/** A request made to hurt, named by how it tries. */
export interface HostileDocument {
  readonly name: string;
  /** Makes the request; only when it is its turn, for some are megabytes. */
  make(): HostileRequest;
  readonly outcome: Outcome;
  /** In dialect `hl7`, where that is another one. */
  readonly hl7?: Outcome;
  /** What refuses it: the name of the limit, where the error tells one of a request. */
  readonly limit?: string;
  /** Also sent as a parsed document, once as the parser made it and once as plain JSON. */
  readonly parsed?: true;
}

export interface HostileRequest {
  readonly query: string | DocumentNode;
  readonly variables?: { readonly [name: string]: unknown };
  readonly context?: Partial<FhirGraphqlContext>;
}

/** A request that is its text alone. */
export function textOf(make: () => string): () => HostileRequest {
  return () => ({ query: make() });
}

/** `count` pieces with a space between. */
export function pieces(count: number, write: (index: number) => string): string {
  return Array.from({ length: count }, (_, index) => write(index)).join(' ');
}

/** Something inside itself, `depth` times. */
export function nested(depth: number, open: string, inner: string, close: string): string {
  return open.repeat(depth) + inner + close.repeat(depth);
}

/** Fragments `f0` … of a type, each opening the next in the way given; the last selects `id`. */
export function chain(type: string, length: number, open: (next: string) => string): string {
  const fragments = pieces(length, (index) => `fragment f${index} on ${type} { ${open(`...f${index + 1}`)} }`);
  return `${fragments} fragment f${length} on ${type} { id }`;
}
