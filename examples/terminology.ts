import { createFhirGraphql, createRepository, MemoryStore, type ResourceStore, systemCaller } from 'fhirgraph';
import { projectTerminology, withTerminology } from 'fhirgraph/terminology';

// Searches by a hierarchy of codes and by a value set of the project, over REST and GraphQL.

const SYSTEM = 'https://clinic.example/CodeSystem/conditions';
const CHRONIC = 'https://clinic.example/ValueSet/chronic';

/** @returns a store whose searches know the code systems and value sets of its projects */
export async function clinicWithTerminology(): Promise<ResourceStore> {
  const store = withTerminology(new MemoryStore(), projectTerminology());
  const { update } = createRepository({ store, caller: systemCaller('clinic') });
  const child = (code: string) => ({ code });
  await update({
    ...{ resourceType: 'CodeSystem', id: 'conditions', url: SYSTEM, status: 'active', content: 'complete' },
    hierarchyMeaning: 'is-a',
    concept: [{ code: 'diabetes', concept: ['type-1', 'type-2'].map(child) }, { code: 'asthma' }, { code: 'fracture' }],
  });
  const isDiabetes = { property: 'concept', op: 'is-a', value: 'diabetes' } as const;
  await update({
    ...{ resourceType: 'ValueSet', id: 'chronic', url: CHRONIC, status: 'active' },
    compose: {
      include: [
        { system: SYSTEM, filter: [isDiabetes] },
        { system: SYSTEM, concept: [{ code: 'asthma' }] },
      ],
    },
  });
  for (const code of ['type-2', 'asthma', 'fracture']) {
    const coding = [{ system: SYSTEM, code }];
    await update({ resourceType: 'Condition', id: code, code: { coding }, subject: { reference: 'Patient/amy' } });
  }
  return store;
}

/** @returns the ids of all kinds of diabetes by REST, and of all that is chronic by GraphQL */
export async function searchByConcepts(store: ResourceStore): Promise<{ diabetes: unknown[]; chronic: unknown }> {
  const caller = systemCaller('clinic');
  const { search } = createRepository({ store, caller });
  const { entry = [] } = await search('Condition', `code:below=${SYSTEM}|diabetes`);
  const query = '($filter: [String]) { ConditionList(_filter: $filter) { id } }';
  const variables = { filter: [`code in ${CHRONIC}`] };
  const { data } = await createFhirGraphql({ store }).execute(`query ${query}`, { caller, variables });
  return { diabetes: entry.map(({ resource }) => resource?.id), chronic: data?.['ConditionList'] };
}
