import type { Sample } from '../graphql/harness.js';
import { HOSTILE_DOCUMENTS } from '../graphql/hostile/corpus.js';
import { blocksOf } from '../support/markdown.js';
import { readPage, readResources } from '../support/pages.js';
import { sharedJson, sharedText } from '../support/shared.js';
import { CANARY } from './safe-outcome.js';

const queriesGuide = guide('queries');
const searchingGuide = guide('searching');

/** Resources of the guides: small, linked, with values of every search type. */
export const RESOURCES: readonly Sample[] = [
  ...new Map(
    [...readResources<Sample>('queries'), ...readResources<Sample>('searching')].map((one) => [
      `${one.resourceType}/${one.id}`,
      one,
    ]),
  ).values(),
];

/** Whole resources whose leaves include every primitive type that is checked; to be damaged. */
export const WRITTEN: readonly Sample[] = [
  {
    resourceType: 'Patient',
    id: 'one',
    meta: { tag: [{ system: 'urn:t', code: 'c' }], profile: ['http://p|1'] },
    text: { status: 'generated', div: '<div xmlns="http://www.w3.org/1999/xhtml">x</div>' },
    extension: [{ url: 'urn:x', valueReference: { reference: 'Patient/ann' } }],
    active: true,
    name: [
      { family: CANARY, given: ['A', null], _given: [null, { extension: [{ url: 'urn:y', valueDecimal: 1.5 }] }] },
    ],
    birthDate: '1970-05',
    deceasedDateTime: '2020-02-29T12:00:00.5+02:00',
    telecom: [{ system: 'email', value: 'a@example.org' }],
    link: [{ other: { reference: 'Patient/ann' }, type: 'seealso' }],
    contained: [{ resourceType: 'Organization', id: 'o', name: CANARY }],
    managingOrganization: { reference: '#o' },
  },
  {
    resourceType: 'Observation',
    id: 'two',
    status: 'final',
    code: { coding: [{ system: 'http://loinc.org', code: '8867-4' }], text: CANARY },
    subject: { reference: 'Patient/ann', identifier: { system: 'urn:a', value: '1' } },
    effectivePeriod: { start: '2020', end: '2021-01-01' },
    valueQuantity: { value: 61.5, unit: 'kg', system: 'http://unitsofmeasure.org', code: 'kg' },
    component: [{ code: { text: 'x' }, valueRange: { low: { value: 1 }, high: { value: 2 } } }],
    note: [{ text: CANARY, time: '2020-01-01T00:00:00Z' }],
  },
  {
    resourceType: 'ValueSet',
    id: 'three',
    url: 'http://example.org/vs',
    version: '1',
    status: 'active',
    date: '2020-01',
    compose: { include: [{ system: 'urn:s', filter: [{ property: 'p', op: '=', value: CANARY }] }] },
  },
  {
    resourceType: 'Questionnaire',
    id: 'four',
    status: 'draft',
    item: [
      { linkId: '1', type: 'group', item: [{ linkId: '2', type: 'choice', answerOption: [{ valueInteger: 7 }] }] },
    ],
  },
];

export const DOCUMENTS: readonly string[] = [
  ...blocksOf(queriesGuide).flatMap(({ language, text }) => (language === 'graphql' ? [text] : [])),
  ...HOSTILE_DOCUMENTS.flatMap(({ make }) => {
    const { query } = make();
    return typeof query === 'string' && query.length < 5000 ? [query] : [];
  }),
  ...sharedJson<readonly { readonly name: string }[]>('corpus/index.json').map(({ name }) =>
    sharedText(`corpus/${name}.graphql`),
  ),
];

/** `Patient?family=hil` and the like: the examples of the guide. */
export const SEARCHES: readonly string[] = [
  ...[...searchingGuide.matchAll(/^\| `(\w+\?(?:[^`\\]|\\.)*)`/gm)].map(([, search]) =>
    search!.replaceAll(String.raw`\|`, '|'),
  ),
  'Patient?_sort=-birthdate,family&_count=2&_offset=1&_total=accurate',
  'Patient?_compartment=Patient/ann&_summary=count',
  'Observation?_has:Observation:has-member:_has:Encounter:patient:status=finished',
  'Patient?_content=x&_text=y&_list=z&_in=Group/g&_query=q&_include=Patient:organization&_revinclude=*',
];

export const FILTERS: readonly string[] = [
  ...SEARCHES.flatMap((search) => /_filter=(.*)/.exec(search)?.[1] ?? []),
  'name co "pet" or (birthdate ge 1970-01-01 and not (gender eq male))',
  'managing.x eq y or organization.name sw "lab" and not (active eq true)',
  'address-city ew "n" or (telecom eq email|ann@example.org and given ne "Ann") or death-date pr false',
  'birthdate gt 1960 and birthdate le 2000-01 and (gender ne female or family co i)',
  'code eq http://loinc.org|8867-4 and date sa 2024 and value-quantity gt 60||kg',
  '_id in ann and _lastUpdated ap 2024-06-01T00:00:00.5Z and link re Patient/ann',
];

/** A use of every interaction of a Bundle. */
export const BUNDLES: readonly object[] = ['transaction', 'batch'].map((type) => ({
  resourceType: 'Bundle',
  type,
  entry: [
    {
      fullUrl: 'urn:uuid:00000000-0000-4000-8000-000000000001',
      resource: { resourceType: 'Patient', name: [{ family: CANARY }] },
      request: { method: 'POST', url: 'Patient', ifNoneExist: 'identifier=urn:a|1' },
    },
    {
      fullUrl: 'http://example.org/Observation/two',
      resource: {
        ...WRITTEN[1],
        subject: { reference: 'urn:uuid:00000000-0000-4000-8000-000000000001' },
        performer: [{ reference: 'Practitioner?name=doc' }],
      },
      request: { method: 'PUT', url: 'Observation/two', ifMatch: 'W/"1"' },
    },
    { resource: WRITTEN[0], request: { method: 'PUT', url: 'Patient?_id=one', ifNoneMatch: '*' } },
    { request: { method: 'DELETE', url: 'Encounter/visit' } },
    { request: { method: 'GET', url: 'Patient?name=hill&_count=1' } },
    { request: { method: 'GET', url: 'Patient/ann/_history/1' } },
  ],
}));

export const PATCHES: readonly object[] = [
  [
    { op: 'add', path: '/name/-', value: { family: CANARY } },
    { op: 'test', path: '/gender', value: 'female' },
    { op: 'replace', path: '/name/0/given/1', value: 'Cleo' },
    { op: 'remove', path: '/telecom/0' },
    { op: 'move', from: '/birthDate', path: '/deceasedDateTime' },
    { op: 'copy', from: '/name/0', path: '/name/1' },
  ],
];

/** With every kind of rule and parameter. */
export const POLICIES: readonly Sample[] = [
  {
    resourceType: 'AccessPolicy',
    id: 'policy',
    name: 'policy',
    compartment: { reference: '%patient' },
    resource: [
      { resourceType: 'Patient', criteria: 'Patient?organization=%org&gender=female', hiddenFields: ['name.given'] },
      {
        resourceType: 'Observation',
        criteria: 'Observation?_filter=subject:Patient.gender eq %who',
        interaction: ['search', 'read', 'create'],
        readonlyFields: ['status', 'valueQuantity.value'],
        writeConstraint: [{ language: 'text/fhirpath', expression: "status = 'final' implies %before.exists()" }],
      },
      { resourceType: '*', criteria: '*?_compartment=%patient', readonly: true },
    ],
  },
];

function guide(name: string): string {
  return readPage(name);
}
