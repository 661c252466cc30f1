import type { ErrorCode, FhirGraphqlContext } from '../../../src/index.js';
import type { DocumentNode } from 'graphql';

/** The outcome of an attack: the code of the first error, or the whole answer if that is right and cheap. */
export type Outcome = 'answered' | ErrorCode;

/** A request that is meant to harm, named by its method. */
export interface HostileDocument {
  readonly name: string;
  /** Creates the request only when it is sent, because some requests are megabytes. */
  make(): HostileRequest;
  readonly outcome: Outcome;
  /** The outcome in dialect `hl7`, if it differs. */
  readonly hl7?: Outcome;
  /** The name of the limit that refuses it, if the error names a limit of the request. */
  readonly limit?: string;
  /** Whether it is also sent as a parsed document, once as the parser returns it and once as plain JSON. */
  readonly parsed?: true;
}

export interface HostileRequest {
  readonly query: string | DocumentNode;
  readonly variables?: { readonly [name: string]: unknown };
  readonly context?: Partial<FhirGraphqlContext>;
}

/** A request with only a text. */
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

/** Fragments `f0` … of a type, each of which opens the next in the given way. The last selects `id`. */
export function chain(type: string, length: number, open: (next: string) => string): string {
  const fragments = pieces(length, (index) => `fragment f${index} on ${type} { ${open(`...f${index + 1}`)} }`);
  return `${fragments} fragment f${length} on ${type} { id }`;
}
