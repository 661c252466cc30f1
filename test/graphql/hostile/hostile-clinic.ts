import { MemoryStore, type ResourceStore } from '../../../src/index.js';
import { put, type Sample } from '../harness.js';

/** A store with data that help the attacker: hubs that everything refers to, rings, deep trees, long texts. */
export async function openHostileClinic(): Promise<ResourceStore> {
  const store = new MemoryStore();
  await put(store, [...patients(), ...observations(), tree(), ringOfContained(), longTexts()]);
  return store;
}

/** Patient 1 is linked to itself, and all resources refer to it. */
function patients(): Sample[] {
  const first: Sample = {
    resourceType: 'Patient',
    id: '1',
    active: true,
    name: Array.from({ length: 20 }, (_, index) => ({ family: `A${index}`, given: ['B', 'C'] })),
    extension: [{ url: 'urn:x', valueReference: { reference: 'Patient/1' } }],
    link: [{ type: 'seealso', other: { reference: 'Patient/1' } }],
  };
  const others = Array.from({ length: 300 }, (_, index) => ({ resourceType: 'Patient', id: `p${index}` }));
  return [first, ...others];
}

function observations(): Sample[] {
  return Array.from({ length: 300 }, (_, index) => ({
    resourceType: 'Observation',
    id: `o${index}`,
    status: 'final',
    subject: { reference: 'Patient/1' },
    performer: [{ reference: 'Practitioner/nowhere' }],
    valueQuantity: { value: index, unit: 'mg' },
  }));
}

/** A questionnaire of 400 items, half of them inside one another. */
function tree(): Sample {
  let item: object[] = Array.from({ length: 200 }, (_, index) => ({ linkId: `l${index}`, type: 'group' }));
  for (let level = 0; level < 200; level += 1) item = [{ linkId: `i${level}`, type: 'group', item }];
  return { resourceType: 'Questionnaire', id: 'tree', status: 'active', item };
}

function ringOfContained(): Sample {
  const contained = Array.from({ length: 10 }, (_, index) => ({
    resourceType: 'Condition',
    id: `c${index}`,
    subject: { reference: '#' },
  }));
  return { resourceType: 'Patient', id: 'ring', contained };
}

function longTexts(): Sample {
  return {
    resourceType: 'Basic',
    id: 'long',
    code: { text: 'a'.repeat(100_000), coding: [{ code: 'a'.repeat(30), display: '"\\'.repeat(100) }] },
  };
}
