import { LRUCache } from 'lru-cache';
import { splitReference } from '../../fhir/reference.js';
import { isJsonObject } from '../../fhir/resource.js';
import { decidesAccess } from '../../store/access-epoch.js';
import type { ResourceStore } from '../../store/store.js';
import type { MemberCaller } from '../caller.js';
import type { SignInIdentity } from './find-membership.js';
import type { Member } from './member.js';
import { oncePer } from '../../platform/collections.js';

/** A sign-in as it was found: the conditions that depend on the time are checked again each time. */
export interface KeptSignIn {
  readonly member: Member;
  /** With the rules of the member, which later callers share. */
  readonly caller: MemberCaller;
}

interface Entry extends KeptSignIn {
  /** The store's epoch while the sign-in was read. */
  readonly epoch: string;
}

/**
 * The sign-ins of a store. Each is kept until a write that may affect access.
 *
 * Only over stores with `accessEpoch`, and whose reads are current: a replica may show a change in its epoch
 * before another one shows it in a policy.
 */
export class KeptSignIns {
  readonly #entries = new LRUCache<string, Entry>({ max: MAX_ENTRIES });

  /** @returns undefined if sign-ins cannot be kept */
  static of(store: ResourceStore): KeptSignIns | undefined {
    if (store.accessEpoch === undefined || store.readsAreCurrent !== true) return undefined;
    return keptFor(store);
  }

  /** @param epoch of the store, read for this sign-in */
  find(key: string, epoch: string): KeptSignIn | undefined {
    const entry = this.#entries.get(key);
    return entry?.epoch === epoch ? entry : undefined;
  }

  /** @param epoch of the store, before and after the member was read */
  keep(key: string, epoch: string, signIn: KeptSignIn): void {
    if (isDecidedByEpoch(signIn.member)) this.#entries.set(key, { ...signIn, epoch });
  }
}

/** Entries of a store. A sign-in takes some kilobytes; a policy with many rules some more. */
const MAX_ENTRIES = 2_000;

const keptFor = oncePer((_store: ResourceStore) => new KeptSignIns());

/** An identity and its terms as a cache key; undefined for identities in an unusual form. */
export function signInKey(identity: SignInIdentity, requirePolicy: boolean): string | undefined {
  // Sign-in reports what is wrong with other values.
  if (!isJsonObject(identity) || Object.getPrototypeOf(identity) !== Object.prototype) return undefined;
  const names: string[] = [];
  for (const [claim, name] of Object.entries(identity) as [string, unknown][]) {
    const text = typeof name === 'string' ? name : (name as { readonly reference?: unknown } | null)?.reference;
    if (typeof text !== 'string' || text.length > MAX_NAME) return undefined;
    // The text of an external id may look like a reference.
    names.push(claim, typeof name, text);
  }
  return JSON.stringify([requirePolicy, ...names]);
}

const MAX_NAME = 500;

/**
 * Whether every change that can affect this member's rights also changes the epoch. Changes of value sets do not, and
 * neither does the end of a RelatedPerson's period.
 */
export function isDecidedByEpoch({ user, profile, grants }: Member): boolean {
  const types = [user, profile].map((reference) => splitReference(reference).type);
  return (
    types.every((type) => type !== 'RelatedPerson' && decidesAccess({ kind: 'delete', key: keyOf(type) })) &&
    grants.every(({ expansions }) => expansions === undefined)
  );
}

function keyOf(type: string): { readonly project: string; readonly type: string; readonly id: string } {
  return { project: '', type, id: '' };
}
