import type { Bundle, Resource } from '@medplum/fhirtypes';
import type { JsonPatchOperation } from 'fhirgraph';
import type { createSearch } from 'fhirgraph/store';

type CriteriaSearch = Parameters<typeof createSearch>[0];

/** A resource in a table. */
export type Json = { readonly resourceType: string; readonly [element: string]: unknown };

/**
 * An operation. References are `Type/id`. `@{name.user}` in any text is replaced by a result of `as: 'name'`: `id` of
 * a resource, `membership`, `user` and `profile` of an invite, `client` of a program.
 */
export type Ask =
  /** @returns `data`; errors fail */
  | { readonly graphql: string; readonly variables?: object; readonly focus?: string; readonly dialect?: 'hl7' }
  /** `Patient?gender=male`. @returns the ids, in the order of the answer */
  | { readonly search: string }
  /** A search by criteria of the host. @returns the ids */
  | { readonly criteria: CriteriaSearch; readonly type: string }
  /** @returns the number of matches */
  | { readonly count: string }
  | { readonly read: string }
  /** `Patient/ann/_history/1` */
  | { readonly vread: string }
  /** @returns the methods or version ids of the versions, newest first */
  | { readonly history: string; readonly count?: number }
  | { readonly create: Json; readonly ifNoneExist?: string; readonly as?: string }
  | { readonly update: Json; readonly ifMatch?: string }
  /** Reads it, changes these elements, and writes it back on the condition that nobody else has changed it. */
  | { readonly edit: string; readonly set: object }
  | { readonly patch: string; readonly operations: readonly JsonPatchOperation[]; readonly ifMatch?: string }
  /** @returns the result of a read afterwards */
  | { readonly remove: string; readonly ifMatch?: string }
  /** By the repository. @returns the statuses of the entries */
  | { readonly transaction: Bundle['type']; readonly entries: readonly Entry[] }
  /** @returns the counts of the import */
  | { readonly bundle: 'transaction' | 'batch'; readonly entries: readonly Entry[] }
  /** @returns the counts of the import */
  | { readonly ndjson: readonly Json[] }
  /** @returns the created resource, and the status of the e-mail */
  | { readonly invite: object; readonly project?: string; readonly as?: string }
  /** @returns the membership */
  | { readonly member: string; readonly changes: object }
  /** @returns the names of the members found */
  | { readonly members: string; readonly project?: string }
  /** @returns the error code of a sign-in afterwards */
  | { readonly dismiss: string }
  /** @returns the status of the e-mail */
  | { readonly resend: string }
  | { readonly newProject: object; readonly as?: string }
  /** @returns the program */
  | { readonly newClient: object; readonly project?: string; readonly as?: string }
  | { readonly newBot: object; readonly project?: string; readonly as?: string }
  /** @returns whether the new secret is accepted */
  | { readonly rotate: string; readonly project?: string; readonly keepOldFor?: number }
  /** @returns profile type, administrator or not */
  | { readonly signIn: object }
  /** @returns the interactions that are allowed */
  | { readonly explain: string };

export interface Entry {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  readonly url: string;
  readonly resource?: Json;
  readonly fullUrl?: string;
  readonly ifNoneExist?: string;
  readonly ifMatch?: string;
}

/**
 * One row: the purpose, the operation, and the expected result. Resources must have at least the expected elements; everything
 * else must equal it.
 */
export type Operation = readonly [purpose: string, ask: Ask, expected: unknown];

/** A caller, and the operations that must succeed for it, in this order. */
export interface Role {
  readonly role: string;
  readonly who: Who;
  readonly operations: readonly Operation[];
}

/** How a role gets its caller: the client of `initialize`, trusted code, or a member of the clinic. */
export type Who = 'operations' | 'system' | 'server' | 'server of the clinic' | Member;

export interface Member {
  /** The profile type of a person, or a program. */
  readonly as: 'Practitioner' | 'Patient' | 'RelatedPerson' | 'ClientApplication' | 'Bot';
  /** A record that is the profile, such as `Practitioner/doc`. */
  readonly profile?: string;
  readonly patient?: string;
  readonly admin?: boolean;
  /** Rules of its policy. Default: no policy. */
  readonly rules?: readonly object[];
  /** Values of the policy's parameters: an entry of `access` for each set. */
  readonly parameters?: readonly { readonly [name: string]: string }[];
  /** A member of the clinic and administrator of a second project; the project that it works in. */
  readonly memberships?: 'first' | 'second';
  /** A member of the project of `initialize` instead of the clinic. */
  readonly superAdmin?: boolean;
}

export type Stored = Resource & { readonly id: string };
