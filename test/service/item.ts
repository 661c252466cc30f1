import { expect } from 'vitest';
import type { World } from './world.js';

/** An item of the service document and its check. */
export interface ServiceItem {
  /** Its number, see items-of.ts. Several entries can check parts of one item. */
  readonly item: string;
  /** Its promise, in short. */
  readonly text: string;
  readonly show: (world: World) => Promise<void>;
}

export type Items = readonly (readonly [item: string, text: string, show: ServiceItem['show']])[];

/** The body of an answer that must be a success. */
export function bodyOf<Body>({ status, body }: { readonly status: number; readonly body: unknown }): Body {
  expect([status, status < 300 ? undefined : body]).toEqual([expect.any(Number), undefined]);
  return body as Body;
}

let people = 0;

/** The body of an invite of a new person, by default a Practitioner. */
export function somebody(more: object = {}): {
  readonly resourceType: string;
  readonly firstName: string;
  readonly lastName: string;
  readonly email: string;
} {
  const firstName = `Person${(people += 1)}`;
  return {
    resourceType: 'Practitioner',
    firstName,
    lastName: 'Test',
    email: `${firstName.toLowerCase()}@example.org`,
    ...more,
  };
}
