import type { AnyResource } from '../../src/index.js';
import type { JsonObject } from '../../src/fhir/resource.js';

export const SYSTEM = 'https://clinic.example/CodeSystem/animals';
export const FLAT = 'https://clinic.example/CodeSystem/flat';
export const SETS = 'https://clinic.example/ValueSet/';

/** animal > (mammal > (cat, dog > poodle), bird); a bat is a mammal and, by property, a flyer. */
export const ANIMALS = {
  resourceType: 'CodeSystem',
  id: 'animals',
  url: SYSTEM,
  version: '1',
  status: 'active',
  content: 'complete',
  hierarchyMeaning: 'is-a',
  concept: [
    {
      code: 'animal',
      display: 'Animal',
      concept: [
        {
          code: 'mammal',
          concept: [
            { code: 'cat', display: 'Cat', property: [{ code: 'legs', valueInteger: 4 }] },
            { code: 'dog', concept: [{ code: 'poodle', property: [{ code: 'inactive', valueBoolean: true }] }] },
            {
              code: 'bat',
              property: [
                { code: 'parent', valueCode: 'flyer' },
                { code: 'legs', valueInteger: 2 },
              ],
            },
          ],
        },
        { code: 'flyer', concept: [{ code: 'bird', property: [{ code: 'legs', valueInteger: 2 }] }] },
      ],
    },
  ],
};

export function valueSet(name: string, compose: object | undefined, more: object = {}): AnyResource & JsonObject {
  return {
    resourceType: 'ValueSet',
    id: name,
    url: `${SETS}${name}`,
    status: 'active',
    ...(compose === undefined ? {} : { compose }),
    ...more,
  };
}

export const filter = (property: string, op: string, value: string): object => ({
  include: [{ system: SYSTEM, filter: [{ property, op, value }] }],
});
