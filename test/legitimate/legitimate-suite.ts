import { FhirError, type ResourceStore } from 'fhirgraph';
import { beforeAll, describe, expect, test } from 'vitest';
import { carryOut, fillNames } from './carry-out.js';
import type { Role } from './operation.js';
import { ROLES } from './roles.js';
import { openWorld, type World } from './world.js';

/** Everything that each role does every day, over one kind of store. */
export function legitimateSuite(openStore: () => ResourceStore | Promise<ResourceStore>): void {
  describe.each(ROLES)('$role', ({ who, operations }: Role) => {
    let world: World;
    beforeAll(async () => {
      const store = await openStore();
      world = await openWorld(store, who);
      return () => store.close();
    });

    test.each(operations)('%s', async (_purpose, ask, expected) => {
      const answer = await carryOut(world, ask).catch((error: unknown) => {
        // The details of the error help to find the rule that is too strict.
        if (error instanceof FhirError) throw new Error(`${error.code}: ${error.message}`, { cause: error });
        throw error;
      });
      const filled = fillNames(world, expected);
      if (isResource(answer)) expect(answer).toMatchObject(filled as object);
      else expect(answer).toEqual(filled);
    });
  });
}

function isResource(answer: unknown): boolean {
  return typeof answer === 'object' && answer !== null && 'resourceType' in answer;
}
