import { DEFAULT_LIMITS, executeFhirGraphql } from '../../src/index.js';
import { R4 } from '../../src/store.js';
import { expect, test } from 'vitest';
import { makePlan } from '../../src/graphql/plan/plan-cache.js';
import type { OperationPlan } from '../../src/graphql/plan/plan.js';
import { prepareDocument } from '../../src/graphql/prepare-document.js';
import { caller, openClinic, type Sample } from './harness.js';

const CHART = `query ($count: Int) {
  Patient(id: "p") {
    generalPractitioner @slice(fhirpath: "$index") { resource { ... on Practitioner { name { family } } } }
    ObservationList(_reference: subject, _count: $count, code: "a") { valueQuantity { value } subject { resource { id } } }
  }
}`;

async function planOf(query: string, limits = DEFAULT_LIMITS): Promise<OperationPlan> {
  const document = await prepareDocument(R4, query, limits);
  return makePlan(document, document.operations[0]!, {}, limits).plan;
}

test('two plans of one operation are equal, and a plan can be printed as JSON', async () => {
  const [one, two] = [await planOf(CHART), await planOf(CHART)];
  expect(one).toEqual(two);
  expect(one).not.toBe(two);
  const { root, ...counts } = JSON.parse(JSON.stringify(one)) as OperationPlan;
  expect(counts).toEqual({ shaped: true, depth: 5, size: 11 });
  expect(root.fields).toMatchObject([
    {
      kind: 'read',
      key: 'Patient',
      selection: {
        type: 'Patient',
        fields: [
          {
            kind: 'object',
            name: 'generalPractitioner',
            selection: {
              fields: [
                {
                  kind: 'reference',
                  targets: ['Organization', 'Practitioner', 'PractitionerRole'],
                  selections: {
                    path: 'Patient.generalPractitioner.resource',
                    named: {
                      Practitioner: { fields: [{ name: 'name', selection: { fields: [{ name: 'family' }] } }] },
                    },
                  },
                },
              ],
            },
          },
          {
            kind: 'search',
            type: 'Observation',
            reverse: { kind: 'literal', value: 'subject' },
            controls: { _count: { kind: 'variable', name: 'count' } },
            parameters: [{ code: 'code', values: { kind: 'literal', value: 'a' } }],
          },
        ],
      },
    },
  ]);
});

test('a plan is frozen deeply, except the nodes of its document', async () => {
  const open: unknown[] = [await planOf(CHART)];
  let objects = 0;
  for (let one = open.pop(); one !== undefined; one = open.pop()) {
    expect(Object.isFrozen(one)).toBe(true);
    objects += 1;
    for (const [name, inner] of Object.entries(one as object)) {
      if (typeof inner === 'object' && inner !== null && !['element', 'sets', 'targets'].includes(name))
        open.push(inner);
    }
  }
  expect(objects).toBeGreaterThan(30);
});

const RESOURCES: readonly Sample[] = [
  {
    resourceType: 'Patient',
    id: 'p',
    generalPractitioner: [{ reference: 'Practitioner/d' }, { reference: 'Organization/o' }],
    managingOrganization: { reference: 'Organization/o' },
  },
  { resourceType: 'Practitioner', id: 'd', meta: { versionId: '1', tag: [{ code: 'x' }] }, language: 'en' },
  { resourceType: 'Organization', id: 'o', meta: { versionId: '1' }, partOf: { reference: 'Organization/o' } },
];

test('directives under "resource" reshape the answer, whether or not a fragment names the type', async () => {
  const { data } = await openClinic(RESOURCES);
  const query = `{ Patient(id: "p") { generalPractitioner {
    resource { id meta @flatten { versionId } meta { lastUpdated } }
  } } }`;
  const lastUpdated = expect.any(String) as unknown;
  expect(await data(query)).toEqual({
    Patient: {
      generalPractitioner: ['d', 'o'].map((id) => ({
        resource: { id, versionId: '1', meta: { lastUpdated } },
      })),
    },
  });
});

test('selections planned for types in the data count against the limit of fields', async () => {
  const clinic = await openClinic(RESOURCES);
  const query = '{ Patient(id: "p") { generalPractitioner { resource { id language meta { versionId } } } } }';
  // 3 selections of the operation itself, and 4 for each of the two types.
  const ask = (fields: number) => executeFhirGraphql(query, { store: clinic.store, caller, limits: { fields } });
  expect((await ask(11)).errors).toBeUndefined();
  // Again, now that both are known to the process.
  expect((await ask(11)).errors).toBeUndefined();
  const { errors } = await ask(10);
  expect(errors?.map(({ extensions }) => extensions.code)).toEqual(['too-costly']);
});
