import type { Resource } from '@medplum/fhirtypes';
import { createRepository, serverCaller, type ResourceStore } from '../../src/index.js';
import { system } from '../repository/harness.js';
import { ANIMALS, filter, SETS, SYSTEM, valueSet } from './resources.js';

const RESOURCES: readonly object[] = [
  ANIMALS,
  valueSet('mammals', filter('concept', 'is-a', 'mammal')),
  valueSet('empty', { include: [] }),
  ...['cat', 'poodle', 'bird'].map((code) => ({
    ...{ resourceType: 'Observation', id: code, status: 'final', subject: { reference: `Patient/${code}` } },
    code: {
      coding: [
        { system: SYSTEM, code },
        { system: 'urn:other', code: 'x' },
      ],
    },
  })),
  {
    resourceType: 'Observation',
    id: 'alien',
    status: 'final',
    code: { coding: [{ system: 'urn:other', code: 'cat' }] },
  },
  { resourceType: 'Observation', id: 'text', status: 'final', code: { text: 'A cat' } },
  ...['cat', 'poodle', 'bird'].map((id) => ({ resourceType: 'Patient', id })),
];

/** Writes animals, value sets, and observations and patients with their codes. */
export async function fill(store: ResourceStore): Promise<void> {
  const trusted = await system(store);
  for (const resource of RESOURCES) await trusted.update(resource as Resource);
}

/** Writes the value set `large`, of ten thousand codes with `bird` as the last one. */
export async function addLargeSet(store: ResourceStore): Promise<void> {
  const concept = Array.from({ length: 9_999 }, (_, n) => ({ code: `c${n}` }));
  const large = valueSet('large', { include: [{ system: SYSTEM, concept: [...concept, { code: 'bird' }] }] });
  await createRepository({ store, caller: serverCaller('clinic') }).update(large as unknown as Resource);
}

export const MAMMALS = `${SETS}mammals`;
export const EMPTY = `${SETS}empty`;

/** Searches by concepts, and the ids of their matches. */
export const CONCEPT_SEARCHES = [
  ['Observation', `code:in=${MAMMALS}`, ['cat', 'poodle']],
  ['Observation', 'code:in=ValueSet/mammals', ['cat', 'poodle']],
  ['Observation', `code:not-in=${MAMMALS}`, ['alien', 'bird', 'text']],
  ['Observation', `code:in=${EMPTY}`, []],
  ['Observation', `code:in=${EMPTY},${MAMMALS}`, ['cat', 'poodle']],
  ['Observation', `code:not-in=${EMPTY}`, ['alien', 'bird', 'cat', 'poodle', 'text']],
  ['Observation', `code:below=${SYSTEM}|dog`, ['poodle']],
  ['Observation', `code:above=${SYSTEM}|poodle`, ['poodle']],
  ['Observation', `code:below=${SYSTEM}|mammal&code:not-in=${EMPTY}&status=final`, ['cat', 'poodle']],
  ['Observation', `_filter=code in ${MAMMALS}`, ['cat', 'poodle']],
  ['Observation', `_filter=code ni ${MAMMALS}`, ['alien', 'bird', 'text']],
  ['Observation', `_filter=code sb ${SYSTEM}|flyer`, ['bird']],
  ['Observation', `_filter=code ss ${SYSTEM}|bird or status eq draft`, ['bird']],
  ['Patient', `_has:Observation:subject:code:in=${MAMMALS}`, ['cat', 'poodle']],
  ['Patient', `_filter=not (_has:Observation:subject:code in ${MAMMALS})`, ['bird']],
] as const;

/** The ids of the matches for trusted code. */
export async function idsOf(store: ResourceStore, type: 'Observation' | 'Patient', query: string): Promise<unknown[]> {
  const { entry = [] } = await createRepository({ store, caller: serverCaller('clinic') }).search(type, query);
  return entry.map(({ resource }) => resource!.id);
}
