import type { ResourceType } from '@medplum/fhirtypes';
import type fc from 'fast-check';
import { executeFhirGraphql, type FhirGraphqlContext } from '../../src/index.js';
import { answerOf } from './safe-outcome.js';
import type { World } from './world.js';

/** An entrance of the library, and the inputs for it. */
export interface Surface<Input> {
  readonly inputs: fc.Arbitrary<Input>;
  /**
   * @returns the outcome, the same on every store
   * @throws Error - the outcome is not one that a client may see
   */
  send(input: Input, world: World): Promise<unknown>;
}

export async function ask(query: string, world: World, more: Partial<FhirGraphqlContext> = {}): Promise<object> {
  const { store, caller } = world;
  return answerOf(await executeFhirGraphql(query, { store, caller, ...more }));
}

export async function search(type: string, query: string, { repository }: World): Promise<object> {
  const { total, entry = [], link } = await repository.search(type as ResourceType, query);
  return { total, found: entry.map(({ resource }) => `${resource!.resourceType}/${resource!.id}`), link };
}
