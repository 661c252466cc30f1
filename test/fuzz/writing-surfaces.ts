import type { Bundle, Patient, Resource, ResourceType } from '@medplum/fhirtypes';
import fc from 'fast-check';
import {
  createRepository,
  importBundle,
  importNdjson,
  invite,
  type InviteBody,
  type JsonPatchOperation,
  signIn,
  systemCaller,
} from '../../src/index.js';
import { isJsonObject } from '../../src/fhir/resource.js';
import type { Sample } from '../graphql/harness.js';
import { mutatedTexts, mutatedValues } from './mutate.js';
import { assertSafe, CANARY, outcomeOf } from './safe-outcome.js';
import { BUNDLES, PATCHES, POLICIES, WRITTEN } from './seeds.js';
import { ask, search, type Surface } from './surface.js';
import { openWorld, PROJECT, type World } from './world.js';

interface Written {
  readonly resource: Sample;
  readonly by: 'create' | 'update' | 'graphql';
}

export const resources: Surface<Written> = {
  inputs: fc.record({
    resource: mutatedValues(WRITTEN, { host: true }),
    by: fc.constantFrom('create', 'update', 'graphql'),
  }),
  async send({ resource, by }, world) {
    const written =
      by === 'graphql'
        ? await ask(
            'mutation ($p: PatientInput!, $o: ObservationInput!) { PatientCreate(res: $p) { id @skip(if: true) } ObservationCreate(res: $o) { id @skip(if: true) } }',
            world,
            { variables: { p: resource, o: resource } },
          )
        : await outcomeOf(() => world.repository[by](resource as Resource));
    return [written, await lookAround(world)];
  },
};

/** A store can contain resources that this library did not write. */
export const stored: Surface<Sample> = {
  inputs: mutatedValues(WRITTEN),
  async send(resource, world) {
    const { resourceType, id } = WRITTEN.find((one) => one.id === resource?.id) ?? WRITTEN[0]!;
    const key = { project: PROJECT, type: resourceType, id };
    await world.store.commit([{ kind: 'put', key, resource: { ...resource, resourceType, id } }]);
    return lookAround(world);
  },
};

export const patches: Surface<readonly JsonPatchOperation[]> = {
  inputs: mutatedValues(PATCHES as readonly (readonly JsonPatchOperation[])[], {
    parts: ['/name', '/name/0/given/-', '/__proto__/x', '/constructor/prototype/x', '/name/length', '/~0~1~2', '/id'],
  }),
  async send(patch, world) {
    const query = 'mutation ($p: [PatchOperation!]!) { PatientPatch(id: "bob", patch: $p) { name { family given } } }';
    return [
      await outcomeOf(() => world.repository.patch('Patient', 'ann', patch)),
      await ask(query, world, { variables: { p: patch } }),
      await lookAround(world),
    ];
  },
};

/** Texts of a request, or names of resources, are not clinical and can be quoted. */
function quotes({ entry, ...bundle }: Bundle): boolean {
  const quoted = [entry].flat().map((one: unknown) => (isJsonObject(one) ? { ...one, resource: undefined } : one));
  return JSON.stringify([bundle, quoted]).includes(CANARY);
}

interface Imported {
  readonly bundle: Bundle;
  readonly by: 'import' | 'repository';
}

export const bundles: Surface<Imported> = {
  inputs: fc.record({
    bundle: mutatedValues(BUNDLES as readonly Bundle[], {
      parts: [
        'urn:uuid:00000000-0000-4000-8000-000000000001',
        'Patient/ann',
        'Patient?name=hill',
        'GET',
        'PUT',
        'W/"1"',
      ],
    }).filter((bundle) => !isJsonObject(bundle) || !quotes(bundle)),
    by: fc.constantFrom('import', 'repository'),
  }),
  async send({ bundle, by }, world) {
    const outcome = await outcomeOf(async () => {
      const response =
        by === 'import' ? (await importBundle(bundle, world)).bundle : await world.repository.transaction(bundle);
      return statusesOf(response);
    });
    return [outcome, await lookAround(world)];
  },
};

export const lines: Surface<string> = {
  inputs: fc.oneof(
    mutatedTexts([WRITTEN.map((one) => JSON.stringify(one)).join('\n')], { pieces: /"(?:[^"\\]|\\.)*"|[^]/g }),
    mutatedTexts([WRITTEN.map((one) => JSON.stringify(one)).join('\r\n')]),
  ),
  async send(text, world) {
    const outcome = await outcomeOf(async () => {
      const result = await importNdjson(Buffer.from(text), world);
      assertSafe('invalid', result);
      return result;
    });
    return [outcome, await lookAround(world)];
  },
};

/** Stored policies. A member that signs in with one sees no more than the policy grants, or cannot sign in. */
export const policies: Surface<Sample> = {
  inputs: mutatedValues(POLICIES),
  async send(policy, world) {
    await openWorld(world.store, [
      POLICIES[0]!,
      { resourceType: 'Project', id: PROJECT, name: 'Project' },
      { resourceType: 'User', id: 'user', firstName: 'A', lastName: 'B' },
      {
        resourceType: 'ProjectMembership',
        id: 'member',
        project: { reference: `Project/${PROJECT}` },
        user: { reference: 'User/user' },
        profile: { reference: 'Patient/ann' },
        access: [
          {
            policy: { reference: 'AccessPolicy/policy' },
            parameter: [
              { name: 'org', valueReference: { reference: 'Organization/lab' } },
              { name: 'who', valueString: 'female' },
            ],
          },
        ],
      },
    ]);
    const { store } = world;
    const resource = { ...policy, resourceType: 'AccessPolicy', id: 'policy' };
    // Written by a permitted caller, or put into the store without the library.
    const written = await outcomeOf(() => openWorld(store, [resource]).then(() => 'written'));
    await store.commit([{ kind: 'put', key: { project: PROJECT, type: 'AccessPolicy', id: 'policy' }, resource }]);
    const seen = await outcomeOf(async () => {
      const caller = await signIn(store, { membership: 'member', project: PROJECT });
      const member = { store, caller, repository: createRepository({ store, caller }) };
      const update = await outcomeOf(() =>
        member.repository.update<Patient>({ resourceType: 'Patient', id: 'ann', active: true }),
      );
      return [update, await lookAround(member)];
    });
    return [seen, written];
  },
};

const INVITES = [
  {
    resourceType: 'RelatedPerson',
    firstName: 'Ann',
    lastName: 'Hill',
    email: 'ann@example.org',
    patient: { reference: 'Patient/ann' },
    sendEmail: 'false',
    scope: 'project',
    membership: {
      admin: true,
      externalId: 'x',
      access: [{ policy: { reference: 'AccessPolicy/policy' }, parameter: [{ name: 'a', valueString: 'b' }] }],
      identifier: [{ system: 'urn:a', value: '1' }],
    },
  },
  { resourceType: 'Practitioner', firstName: 'Bob', lastName: 'Dale', externalId: 'bob', upsert: true, dryRun: false },
] as readonly InviteBody[];

export const invitations: Surface<InviteBody> = {
  inputs: mutatedValues(INVITES, { host: true }),
  async send(body, world) {
    await openWorld(world.store, [
      { resourceType: 'Project', id: PROJECT, name: 'Project' },
      { ...POLICIES[0]!, id: 'policy' },
    ]);
    const context = { store: world.store, caller: systemCaller(PROJECT) };
    const outcome = await outcomeOf(() => invite(PROJECT, body, context));
    return [outcome, await lookAround(world)];
  },
};

/** Reads all stored resources in every way. */
const EVERYTHING = `{
  PatientList(_sort: "-birthdate,family", fhirpath: "name.family.exists() or active") {
    active birthDate deceasedDateTime meta { tag { code } profile }
    text { div } name(fhirpath: "given.count() >= 0") { family given _given { extension { valueDecimal } } }
    telecom(system: "email") { value } link { other { reference resource(optional: true) { resourceType } } }
    managingOrganization { reference resource(optional: true) { ... on Organization { name } } }
    contained { resourceType id } extension(url: "urn:x") { valueReference { reference } }
    ObservationList(_reference: subject, _sort: "code") { status }
  }
  ObservationConnection(_sort: "-date,code", _count: 3) {
    count edges { resource { code { text coding { code } } valueQuantity { value } effectivePeriod { start end }
      subject { reference resource(optional: true) { resourceType } } component { valueRange { low { value } } }
      note { text time } } }
  }
  ValueSetList(_sort: "url") { url version date compose { include { filter { value } } } }
  QuestionnaireList { item { linkId item { answerOption { valueInteger } } } }
}`;

/** Searches by values of the seeds. */
const LOOKS: readonly (readonly [ResourceType, string])[] = [
  ['Patient', 'family=a'],
  ['Patient', 'birthdate=ne1970&_sort=-birthdate'],
  ['Patient', 'organization:missing=true&_sort=name'],
  ['Patient', '_has:Observation:subject:code:not=x'],
  ['Patient', '_filter=telecom pr true or name co "a" or link re Patient/ann'],
  ['Observation', 'value-quantity=gt1&_sort=value-quantity'],
  ['Observation', 'date=ge2019&code:text=a&subject:Patient.gender:not=male'],
  ['Observation', 'combo-code-value-quantity=http://loinc.org|8867-4$gt1'],
  ['ValueSet', 'url:below=http://example.org&_sort=-date'],
];

/** Any stored resource must be answered. */
async function lookAround(world: World): Promise<unknown> {
  const seen: unknown[] = [await ask(EVERYTHING, world), await ask(EVERYTHING, world, { dialect: 'hl7' })];
  for (const [type, query] of LOOKS) {
    seen.push(await outcomeOf(() => search(type, `${query}&_total=accurate`, world)));
  }
  return seen;
}

function statusesOf({ entry = [] }: Bundle): unknown[] {
  return entry.map(({ response }) => {
    assertSafe('invalid', response?.outcome ?? null);
    return response?.status;
  });
}
