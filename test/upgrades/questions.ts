import {
  createProject,
  createRepository,
  erasePatient,
  eraseResource,
  executeFhirGraphql,
  FhirError,
  invite,
  purgeHistory,
  removeMember,
  type ResourceStore,
  searchMembers,
  signIn,
  systemCaller,
  type Caller,
  verifyClientSecret,
} from 'fhirgraph';
import type { Resource, ResourceType } from '@medplum/fhirtypes';
import type { Facts } from './clinic.js';

/** A store that an older release filled. */
export interface OldClinic {
  readonly store: ResourceStore;
  readonly facts: Facts;
}

/** Searches of trusted code and the ids of their matches, one or more for each kind of index. */
export const SEARCHES: readonly (readonly [search: string, ids: readonly string[]])[] = [
  // strings
  ['Patient?family=hil', ['ann']],
  ['Patient?name=jose', ['bob']],
  ['Patient?name=東', ['cal']],
  ['Patient?family=ozturk', ['cal']],
  ['Patient?family:exact=Öztürk-Straße', ['cal']],
  ['Patient?address-city:contains=gall', ['bob']],
  ['Location?name:exact=Ward "7"', ['ward']],
  // tokens
  ['Patient?gender=female', ['ann']],
  ['Patient?active=true', ['ann']],
  ['Patient?active=false', ['bob']],
  ['Patient?gender:not=female', ['back', 'bob', 'cal']],
  ['Patient?identifier=urn:ahv|756.1', ['ann']],
  ['Patient?identifier=urn:mrn|A\\|1\\,2\\$3\\\\4', ['ann']],
  ['Observation?code=29463-7', ['weight', 'weight-2']],
  ['Observation?code=|29463-7', ['weight-2']],
  ['Observation?code=http://loinc.org|', ['pressure', 'weight']],
  ['Observation?code:text=weight at', ['weight-2']],
  ['Observation?code:text=mood', ['mood']],
  ['Patient?_tag=urn:tags|checked', ['ann']],
  ['Patient?_security=urn:security|R', ['ann']],
  ['Patient?email=Ann@Example.org', ['ann']],
  ['Patient?deceased=true', ['cal']],
  // dates
  ['Patient?birthdate=1985', ['bob']],
  ['Patient?birthdate=lt1980', ['ann']],
  ['Patient?death-date=2021-03-04', ['cal']],
  ['Observation?date=2024-02-01', ['weight']],
  ['Observation?date=ge2023-06-02&date=lt2024-01', ['weight-2']],
  ['Encounter?date=2024-05', ['visit']],
  ['Encounter?date=sa2024-05-31', ['stay']],
  ['Encounter?date=gt2030', ['stay']],
  ['ServiceRequest?occurrence=2024-08', []],
  ['ServiceRequest?occurrence=ge2024-07-15', ['order']],
  ['Patient?_lastUpdated=gt2020&family=hill', ['ann']],
  // numbers and quantities
  ['RiskAssessment?probability=gt0.9', ['risk']],
  ['RiskAssessment?probability=0.91', ['risk']],
  ['Observation?value-quantity=61.5|http://unitsofmeasure.org|kg', ['weight']],
  ['Observation?value-quantity=gt79||kg', ['weight-2']],
  ['Observation?value-quantity=ap60', ['weight']],
  ['Condition?onset-age=ge35', ['gout']],
  ['Encounter?length=2||d', ['visit']],
  // references
  ['Observation?subject=Patient/ann', ['pressure', 'weight']],
  ['Observation?subject=https://elsewhere.example.org/fhir/Patient/9', ['mood']],
  ['Observation?patient=bob', ['weight-2']],
  ['Patient?organization:identifier=urn:org|7', ['cal']],
  ['Patient?link=Patient/ann', ['bob']],
  ['Task?focus=ServiceRequest/order', ['task']],
  // URIs and canonical references
  ['ValueSet?url=http://example.org/vs/a', ['vs']],
  ['ValueSet?url:below=http://example.org/vs', ['vs']],
  ['Patient?_profile=http://example.org/profile/person', ['ann']],
  ['QuestionnaireResponse?questionnaire=http://example.org/questionnaire/sleep', ['answers']],
  // composites
  ['Observation?code-value-quantity=29463-7$gt61', ['weight', 'weight-2']],
  ['Observation?component-code-value-quantity=8480-6$gt100', ['pressure']],
  ['Observation?component-code-value-quantity=8462-4$gt100', []],
  // across resources
  ['Observation?subject:Patient.family=hill', ['pressure', 'weight']],
  ['Observation?patient.organization.partof=Organization/north', ['weight-2']],
  ['Patient?_has:CareTeam:patient:participant=Practitioner/doc', ['bob']],
  ['Patient?_has:Observation:subject:_has:Observation:has-member:code=85354-9', ['ann']],
  // absence, ids, filters, orders
  ['Patient?email:missing=true', ['back', 'bob', 'cal']],
  ['Patient?_id=ann,bob,gone', ['ann', 'bob']],
  ['Patient?_filter=family sw hil or birthdate lt 1990', ['ann', 'bob']],
  ['Patient?_sort=-birthdate&birthdate:missing=false', ['cal', 'bob', 'ann']],
  ['Patient?_sort=family', ['bob', 'ann', 'cal', 'back']],
  ['Observation?_sort=-value-quantity&value-quantity:missing=false', ['weight-2', 'weight']],
  ['Encounter?_sort=status,-date', ['visit', 'stay']],
  ['RiskAssessment?_sort=probability', ['risk']],
];

export interface Question {
  readonly question: string;
  readonly ask: (clinic: OldClinic) => unknown;
  readonly answer: unknown;
}

/** What remains of an erased resource. */
const TOMBSTONE = { read: 'gone', history: [['DELETE', false]], write: 'gone' };

/** Questions about the other calls of a store. The last ones write. */
export const QUESTIONS: Question[] = [
  {
    question: 'the versions of a resource that was changed twice',
    ask: async (clinic) => {
      const { entry = [] } = await trusted(clinic).history('Patient', 'bob');
      return entry.map(({ resource }) => [resource!.meta.versionId, resource!.active, resource!.maritalStatus?.text]);
    },
    answer: [
      ['3', false, 'Married'],
      ['2', false, undefined],
      ['1', undefined, undefined],
    ],
  },
  {
    question: 'an old version',
    ask: async (clinic) => Object.keys(await trusted(clinic).vread('Patient', 'bob', '1')).includes('active'),
    answer: false,
  },
  {
    question: 'a deleted resource',
    ask: async (clinic) => [
      await codeOf(trusted(clinic).read('Patient', 'gone')),
      (await trusted(clinic).vread('Patient', 'gone', '1')).name,
      await codeOf(trusted(clinic).read('Patient', 'never')),
    ],
    answer: ['gone', [{ family: 'Gone' }], 'not-found'],
  },
  {
    question: 'the history of a resource that was deleted and created again',
    ask: async (clinic) => {
      const { entry = [] } = await trusted(clinic).history('Patient', 'back');
      return entry.map(({ request, resource }) => [request!.method, resource?.name?.[0]?.family]);
    },
    answer: [
      ['POST', 'Returned'],
      ['DELETE', undefined],
      ['POST', 'Back'],
    ],
  },
  {
    question: 'the history of a type, with versions that were replaced or deleted before the upgrade',
    ask: async (clinic) => {
      const { entry = [] } = await trusted(clinic).typeHistory('Patient', { count: 1000 });
      const versionsOf = (id: string): unknown[] =>
        entry
          .filter(({ resource, request }) => (resource?.id ?? request!.url.split('/')[1]) === id)
          .map(({ request, response }) => [request!.method, response!.etag]);
      return ['bob', 'back', 'gone'].map(versionsOf);
    },
    answer: [
      [
        ['PUT', 'W/"3"'],
        ['PUT', 'W/"2"'],
        ['POST', 'W/"1"'],
      ],
      [
        ['POST', 'W/"3"'],
        ['DELETE', 'W/"2"'],
        ['POST', 'W/"1"'],
      ],
      [
        ['DELETE', 'W/"2"'],
        ['POST', 'W/"1"'],
      ],
    ],
  },
  {
    question: 'resources with the same id in two projects',
    ask: async ({ store, facts: { project, elsewhere } }) => {
      const families = [project, elsewhere].map(async (one) => {
        const { name } = await createRepository({ store, caller: systemCaller(one) }).read('Patient', 'ann');
        return name![0]!.family;
      });
      return Promise.all(families);
    },
    answer: ['Hill', 'Namesake'],
  },
  {
    question: 'a GraphQL query with references, lists and contained resources',
    ask: async (clinic) =>
      graphql(
        clinic,
        systemCaller(clinic.facts.project),
        `
          {
            Patient(id: ann) {
              managingOrganization {
                resource {
                  ... on Organization {
                    name
                  }
                }
              }
              ObservationList(_reference: subject, _sort: "-date") {
                id
                encounter {
                  resource {
                    ... on Encounter {
                      status
                    }
                  }
                }
              }
            }
            Observation(id: mood) {
              contained {
                resourceType
                ... on Patient {
                  name {
                    family
                  }
                }
              }
            }
            PatientConnection(_sort: "birthdate", _count: 2) {
              count
              edges {
                resource {
                  id
                }
              }
            }
          }
        `,
      ),
    answer: {
      Patient: {
        managingOrganization: { resource: { name: 'North' } },
        ObservationList: [
          { id: 'pressure', encounter: null },
          { id: 'weight', encounter: { resource: { status: 'finished' } } },
        ],
      },
      Observation: { contained: [{ resourceType: 'Patient', name: [{ family: 'Inner' }] }] },
      PatientConnection: { count: 4, edges: [{ resource: { id: 'ann' } }, { resource: { id: 'bob' } }] },
    },
  },
  {
    question: 'the profile and the rights of each member',
    ask: async ({ store, facts: { members } }) => {
      const signed = Object.entries(members).map(async ([name, membership]) => {
        const caller = await signIn(store, { membership }).catch((error: unknown) => (error as FhirError).code);
        return [name, typeof caller === 'string' ? caller : [caller.profile.split('/')[0], caller.admin]];
      });
      return Object.fromEntries(await Promise.all(signed)) as unknown;
    },
    answer: {
      Ada: ['Practitioner', true],
      'Ada elsewhere': ['Practitioner', false],
      Ben: ['Practitioner', false],
      Ann: ['Patient', false],
      Rex: ['RelatedPerson', false],
      Eli: ['Practitioner', false],
      Ina: 'membership-inactive',
      Rob: 'membership-missing',
    },
  },
  {
    question: 'sign-in by project and user, for a User in two projects',
    ask: async ({ store, facts: { project, elsewhere, members } }) => {
      const { user } = await signIn(store, { membership: members['Ada']! });
      const callers = await Promise.all([project, elsewhere].map((one) => signIn(store, { project: one, user: user })));
      return callers.map(({ membership }) => Object.entries(members).find(([, id]) => id === membership)![0]);
    },
    answer: ['Ada', 'Ada elsewhere'],
  },
  {
    question: 'the secret and the sign-in of a client application',
    ask: async ({ store, facts: { project, client, secret } }) => [
      await verifyClientSecret({ project, client, secret }, { store }),
      await verifyClientSecret({ project, client, secret: `${secret}x` }, { store }),
      (await signIn(store, { project, client })).profile === `ClientApplication/${client}`,
    ],
    answer: [true, false, true],
  },
  {
    question: 'what a policy with a parameter grants and hides',
    ask: async (clinic) => {
      const ben = createRepository({ store: clinic.store, caller: await member(clinic, 'Ben') });
      return [
        await idsOf(ben.search('Patient')),
        await idsOf(ben.search('Observation')),
        await codeOf(ben.read('Patient', 'ann')),
        await codeOf(ben.update({ resourceType: 'Observation', id: 'weight-2', status: 'final', code: {} })),
      ];
    },
    answer: [['bob'], ['weight-2'], 'not-found', 'forbidden'],
  },
  {
    question: 'what members without a policy see',
    ask: async (clinic) => {
      const patients = ['Ada', 'Ann', 'Rex'].map(async (name) =>
        idsOf(createRepository({ store: clinic.store, caller: await member(clinic, name) }).search('Patient')),
      );
      return Promise.all(patients);
    },
    answer: [['ann', 'back', 'bob', 'cal'], ['ann'], ['bob']],
  },
  {
    question: 'searches for members',
    ask: async (clinic) => {
      const caller = await member(clinic, 'Ada');
      const found = [
        'profile-type=Patient,RelatedPerson',
        'active=false',
        'external-id=idp|42',
        'email=BEN@example.org',
      ];
      const names = found.map(async (search) => {
        const { entry = [] } = await searchMembers(clinic.facts.project, search, { store: clinic.store, caller });
        return entry.map(({ resource }) => resource!.profile.display!).sort();
      });
      return Promise.all(names);
    },
    answer: [['Ann Member', 'Rex Member'], ['Ina Member'], ['Eli Member'], ['Ben Member']],
  },
  {
    question: 'the client application that may create projects',
    ask: async ({ store, facts: { operations } }) => {
      const caller = await signIn(store, operations);
      const project = await createProject({ resourceType: 'Project', name: 'Lakeside' }, { store, caller });
      return [caller.superAdmin, project.name];
    },
    answer: [true, 'Lakeside'],
  },
  {
    question: 'a resource that was erased before the upgrade, if the version could erase',
    ask: async (clinic) => {
      const { erased } = clinic.facts;
      return erased === undefined ? TOMBSTONE : tombstoneOf(clinic, 'Patient', erased);
    },
    answer: TOMBSTONE,
  },
  {
    question: 'updates of a resource with old versions',
    ask: async (clinic) => {
      const repository = trusted(clinic);
      const bob = await repository.read('Patient', 'bob');
      const stale = await codeOf(repository.update({ ...bob, active: true }, { ifMatch: '2' }));
      const updated = await repository.update({ ...bob, name: [{ family: 'Newman' }] }, { ifMatch: '3' });
      return [stale, updated.meta.versionId, await idsOf(repository.search('Patient', 'family=newman'))];
    },
    answer: ['precondition-failed', '4', ['bob']],
  },
  {
    question: 'e-mail addresses and external ids that must be unique',
    ask: async ({ store, facts: { project, members } }) => {
      const context = { store, caller: await signIn(store, { membership: members['Ada']! }) };
      const person = { resourceType: 'Practitioner', firstName: 'Ben', lastName: 'Member' } as const;
      return [
        await codeOf(invite(project, { ...person, email: 'ben@EXAMPLE.org' }, context)),
        await codeOf(invite(project, { ...person, externalId: 'idp|42' }, context)),
      ];
    },
    answer: ['conflict', 'conflict'],
  },
  {
    question: 'inviting a new person, and a person whom an older release removed',
    ask: async ({ store, facts: { project, members } }) => {
      const context = { store, caller: await signIn(store, { membership: members['Ada']! }) };
      const [profile] = await idsOf(createRepository(context).search('Practitioner', 'email=rob@example.org'));
      const person = { resourceType: 'Practitioner', lastName: 'Member' } as const;
      const rob = { ...person, firstName: 'Rob', email: 'rob@example.org' };
      const named = { membership: { profile: `Practitioner/${profile!}` } };
      const again = await invite(project, { ...rob, ...named }, context);
      const fresh = await invite(project, { ...person, firstName: 'New', email: 'new@example.org' }, context);
      await removeMember(fresh.membership.id, context);
      return [again.created, fresh.created];
    },
    answer: [
      { user: false, profile: false, membership: true },
      { user: true, profile: true, membership: true },
    ],
  },
];

/** Erasures of resources that an older release wrote: with one version, with several, and with a deletion. */
QUESTIONS.push(
  {
    question: 'erasing resources that an older release wrote, including a deleted one',
    ask: async (clinic) => {
      const context = erasing(clinic);
      const erased = [
        await eraseResource('Observation', 'mood', context),
        await eraseResource('Patient', 'gone', context),
        await eraseResource('Patient', 'back', context),
      ];
      return [
        erased.map(({ versions }) => versions),
        await tombstoneOf(clinic, 'Observation', 'mood'),
        await tombstoneOf(clinic, 'Patient', 'gone'),
        await tombstoneOf(clinic, 'Patient', 'back'),
        await searchAsSystem(clinic, 'Patient?_sort=birthdate'),
        await searchAsSystem(clinic, 'Observation?code:text=mood'),
        (await eraseResource('Patient', 'gone', context)).versions,
      ];
    },
    answer: [[1, 2, 3], TOMBSTONE, TOMBSTONE, TOMBSTONE, ['ann', 'bob', 'cal'], [], 0],
  },
  {
    question: 'removing old versions that an older release wrote',
    ask: async (clinic) => {
      // Later than the last version, however quickly they were written.
      await purgeHistory({ olderThan: new Date(Date.now() + 60_000), type: 'Patient' }, erasing(clinic));
      const { entry = [] } = await trusted(clinic).history('Patient', 'bob');
      return [entry.length, await codeOf(trusted(clinic).vread('Patient', 'bob', '1'))];
    },
    answer: [1, 'not-found'],
  },
  {
    question: 'erasing a patient with a compartment that an older release wrote',
    ask: async (clinic) => {
      await removeMember(clinic.facts.members['Rex']!, erasing(clinic));
      await erasePatient('bob', erasing(clinic));
      const kinds = ['Patient', 'Observation', 'Encounter', 'Condition', 'CareTeam'];
      return [
        await tombstoneOf(clinic, 'Patient', 'bob'),
        await Promise.all(kinds.map((type) => searchAsSystem(clinic, `${type}?`))),
      ];
    },
    answer: [TOMBSTONE, [['ann', 'cal'], ['pressure', 'weight'], ['visit'], ['gout'], []]],
  },
);

/** The ids of the matches of a search of {@link SEARCHES}. */
export function searchAsSystem(clinic: OldClinic, search: string): Promise<readonly string[]> {
  const [type, query] = [search.slice(0, search.indexOf('?')), search.slice(search.indexOf('?') + 1)];
  return idsOf(trusted(clinic).search(type as ResourceType, query));
}

function trusted({ store, facts }: OldClinic): ReturnType<typeof createRepository> {
  return createRepository({ store, caller: systemCaller(facts.project) });
}

function erasing({ store, facts }: OldClinic): Parameters<typeof eraseResource>[2] {
  return { store, caller: systemCaller(facts.project), reason: 'patient-request' };
}

async function tombstoneOf(clinic: OldClinic, type: ResourceType, id: string): Promise<unknown> {
  const repository = trusted(clinic);
  const { entry = [] } = await repository.history(type, id);
  return {
    read: await codeOf(repository.read(type, id)),
    history: entry.map(({ request, resource }) => [request!.method, resource !== undefined]),
    write: await codeOf(repository.update({ resourceType: type, id } as never)),
  };
}

function member({ store, facts }: OldClinic, name: string): Promise<Caller> {
  return signIn(store, { membership: facts.members[name]! });
}

async function graphql({ store }: OldClinic, caller: Caller, query: string): Promise<unknown> {
  const { data, errors } = await executeFhirGraphql(query, { store, caller });
  return errors ?? data;
}

async function idsOf(search: Promise<{ entry?: readonly { resource?: Resource }[] }>): Promise<readonly string[]> {
  return ((await search).entry ?? []).map(({ resource }) => resource!.id!);
}

function codeOf(call: Promise<unknown>): Promise<unknown> {
  return call.then(
    () => 'no error',
    (error: unknown) => (error instanceof FhirError ? error.code : error),
  );
}
