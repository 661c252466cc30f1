import type { AccessPolicy, Bundle, Resource } from '@medplum/fhirtypes';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { MemoryStore, type Repository } from '../../src/index.js';
import { cases } from '../support/chance.js';
import { member, system } from './harness.js';

// Searches with includes, held against an oracle that asks for one resource after the other: it reads each reference that
// the caller was shown, and searches for each resource by itself.

type Type = 'Patient' | 'Observation' | 'Organization' | 'Practitioner';
const TYPES: readonly Type[] = ['Patient', 'Observation', 'Organization', 'Practitioner'];

/** The positions of a parameter's references, and their target types. */
const PARAMETERS: { readonly [name: string]: { readonly path: string; readonly targets: readonly Type[] } } = {
  'Patient:organization': { path: 'managingOrganization', targets: ['Organization'] },
  'Patient:general-practitioner': { path: 'generalPractitioner', targets: ['Practitioner', 'Organization'] },
  'Observation:subject': { path: 'subject', targets: ['Patient'] },
  'Observation:performer': { path: 'performer', targets: ['Practitioner', 'Organization', 'Patient'] },
  'Observation:has-member': { path: 'hasMember', targets: ['Observation'] },
  'Organization:partof': { path: 'partOf', targets: ['Organization'] },
};
const NAMES = Object.keys(PARAMETERS);
const WILDCARDS = ['Patient:*', 'Observation:*', 'Organization:*'];

const anId = fc.constantFrom('1', '2', '3');
const aReference = (types: readonly Type[]): fc.Arbitrary<{ reference: string }> =>
  fc.tuple(fc.constantFrom(...types), anId).map(([type, id]) => ({ reference: `${type}/${id}` }));
const someReferences = (types: readonly Type[]): fc.Arbitrary<{ reference: string }[]> =>
  fc.uniqueArray(aReference(types), { maxLength: 2, selector: ({ reference }) => reference });

const aResource: fc.Arbitrary<Resource> = fc.oneof(
  fc.record({
    ...{ resourceType: fc.constant('Patient'), id: anId, gender: fc.constantFrom('female', 'male') },
    ...{
      managingOrganization: aReference(['Organization']),
      generalPractitioner: someReferences(['Practitioner', 'Organization']),
    },
  }),
  fc.record({
    ...{ resourceType: fc.constant('Observation'), id: anId, status: fc.constantFrom('final', 'amended') },
    ...{ subject: aReference(['Patient']), hasMember: someReferences(['Observation']) },
    performer: someReferences(['Practitioner', 'Organization', 'Patient']),
  }),
  fc.record({ resourceType: fc.constant('Organization'), id: anId, partOf: aReference(['Organization']) }),
  fc.record({ resourceType: fc.constant('Practitioner'), id: anId }),
) as never;

type Rules = NonNullable<AccessPolicy['resource']>;
const someRules: fc.Arbitrary<Rules | undefined> = fc.option(
  fc.array(
    fc.oneof(
      fc.record({ resourceType: fc.constantFrom(...TYPES) }),
      fc
        .record({ resourceType: fc.constantFrom(...TYPES), criteria: fc.constant('') })
        .map(({ resourceType }) => ({ resourceType, criteria: `${resourceType}?_id=1,2` })),
      fc.record({
        resourceType: fc.constant('Patient'),
        criteria: fc.constant('Patient?gender=female'),
        hiddenFields: fc.constantFrom(['managingOrganization'], ['generalPractitioner']),
      }),
      fc.record({
        resourceType: fc.constant('Observation'),
        hiddenFields: fc.constantFrom(['subject'], ['performer', 'hasMember']),
      }),
      fc.record({
        resourceType: fc.constant('Observation'),
        criteria: fc.constant('Observation?subject:Patient.gender=male'),
      }),
    ) as fc.Arbitrary<Rules[number]>,
    { minLength: 1, maxLength: 5 },
  ),
  { nil: undefined },
);

interface Edge {
  readonly name: string;
  readonly reverse: boolean;
  readonly iterate: boolean;
  readonly target: Type | undefined;
}
const anEdge: fc.Arbitrary<Edge> = fc.constantFrom(...NAMES).chain((name) =>
  fc.record({
    name: fc.constant(name),
    reverse: fc.boolean(),
    iterate: fc.boolean(),
    target: fc.option(fc.constantFrom(...PARAMETERS[name]!.targets), { nil: undefined }),
  }),
);
/** Forward only: backwards, a wildcard is a shorthand for its parameters, which must be few. */
const aWildcard: fc.Arbitrary<Edge> = fc.record({
  ...{ name: fc.constantFrom(...WILDCARDS), reverse: fc.constant(false), iterate: fc.boolean() },
  target: fc.option(fc.constantFrom(...TYPES), { nil: undefined }),
});

/** The parameters that an edge names. */
function namesOf({ name, target }: Edge): readonly string[] {
  if (!name.endsWith(':*')) return [name];
  const own = NAMES.filter((one) => one.startsWith(name.slice(0, -1)));
  return own.filter((one) => target === undefined || PARAMETERS[one]!.targets.includes(target));
}

function begins(type: Type, { name, reverse, target }: Edge): boolean {
  if (!reverse) return name.startsWith(`${type}:`);
  return target === undefined ? PARAMETERS[name]!.targets.includes(type) : target === type;
}

function queryOf(edges: readonly Edge[]): string {
  return edges
    .map(({ name, reverse, iterate, target }) => {
      const parameter = `${reverse ? '_revinclude' : '_include'}${iterate ? ':iterate' : ''}`;
      return `${parameter}=${name}${target === undefined ? '' : `:${target}`}`;
    })
    .join('&');
}

const keyOf = ({ resourceType, id }: Resource): string => `${resourceType}/${id!}`;
const resourcesIn = ({ entry = [] }: Bundle): Resource[] => entry.map(({ resource }) => resource!);

/** The targets of an edge from one resource, one request after the other. */
async function follow(repository: Repository, from: Resource, edge: Edge): Promise<Resource[]> {
  const found: Resource[] = [];
  for (const name of namesOf(edge)) found.push(...(await followOne(repository, from, { ...edge, name })));
  return found;
}

async function followOne(repository: Repository, from: Resource, { name, reverse, target }: Edge): Promise<Resource[]> {
  const [source, parameter] = name.split(':') as [Type, string];
  const { path, targets } = PARAMETERS[name]!;
  const types = target === undefined ? targets : [target];
  if (reverse) {
    if (!types.includes(from.resourceType as Type)) return [];
    return resourcesIn(await repository.search(source, `${parameter}=${keyOf(from)}&_count=1000`));
  }
  if (from.resourceType !== source) return [];
  const value = (from as unknown as { [name: string]: unknown })[path];
  const found: Resource[] = [];
  for (const { reference } of [value ?? []].flat() as { reference: string }[]) {
    const [type, id] = reference.split('/') as [Type, string];
    if (!types.includes(type)) continue;
    const resource = await repository.read(type, id).catch(() => undefined);
    if (resource !== undefined) found.push(resource);
  }
  return found;
}

async function oracle(repository: Repository, type: Type, edges: readonly Edge[]): Promise<Map<string, Resource>> {
  const matches = resourcesIn(await repository.search(type, '_count=1000'));
  const found = new Map(matches.map((one) => [keyOf(one), one]));
  const included = new Map<string, Resource>();
  let from = matches;
  for (let level = 0; from.length > 0; level += 1) {
    const next: Resource[] = [];
    for (const edge of edges) {
      if (level > 0 && !edge.iterate) continue;
      for (const resource of from) {
        for (const one of await follow(repository, resource, edge)) {
          if (found.has(keyOf(one))) continue;
          found.set(keyOf(one), one);
          included.set(keyOf(one), one);
          next.push(one);
        }
      }
    }
    from = next;
  }
  return included;
}

test('includes return the resources that a caller finds by single reads', () =>
  fc.assert(
    fc.asyncProperty(
      fc.uniqueArray(aResource, { minLength: 4, maxLength: 12, selector: keyOf }),
      someRules,
      fc.constantFrom(...TYPES),
      fc.array(fc.oneof({ weight: 4, arbitrary: anEdge }, aWildcard), { minLength: 1, maxLength: 5 }),
      async (resources, rules, type, asked) => {
        const store = new MemoryStore();
        const trusted = await system(store);
        for (const resource of resources) await trusted.update(resource);
        const repository = await member(store, {
          profile: { resourceType: 'Practitioner', id: 'me' },
          ...(rules === undefined ? {} : { rules }),
        });
        const edges = asked.map((edge) => ({ ...edge, iterate: edge.iterate || !begins(type, edge) }));
        const answer = (await repository.search(type, `_count=1000&${queryOf(edges)}`)) as Bundle;
        const included = (answer.entry ?? []).filter(({ search }) => search?.mode === 'include');
        const expected = await oracle(repository, type, edges);
        expect(included.map(({ resource }) => keyOf(resource!)).sort()).toEqual([...expected.keys()].sort());
        for (const { resource } of included) expect(resource).toEqual(expected.get(keyOf(resource!)));
      },
    ),
    { numRuns: cases(400, 60) },
  ));
