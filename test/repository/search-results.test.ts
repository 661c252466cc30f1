import type { Bundle, Observation, Patient } from '@medplum/fhirtypes';
import { describe, expect, test, vi } from 'vitest';
import { MemoryStore, type Repository } from '../../src/index.js';
import { codeOf, faultOf, member, overStores, repositoryOf, signedIn, system } from './harness.js';

const BASE = 'https://clinic.example/fhir/R4';
const code = { text: 'Body weight' };

/** ann ─ org ─ parent ─ top; her Observations, of which `o1` was made by doc; bob, whom nothing is about. */
async function clinic(repository: Repository): Promise<void> {
  await repository.update({ resourceType: 'Organization', id: 'top', name: 'Top' });
  await repository.update({
    resourceType: 'Organization',
    id: 'parent',
    name: 'Parent',
    partOf: ref('Organization/top'),
  });
  await repository.update({ resourceType: 'Organization', id: 'org', name: 'Org', partOf: ref('Organization/parent') });
  await repository.update({ resourceType: 'Practitioner', id: 'doc', name: [{ family: 'Stone' }] });
  await repository.update({
    ...{ resourceType: 'Patient', id: 'ann', gender: 'female', birthDate: '1980-01-01', active: true },
    text: { status: 'generated', div: '<div xmlns="http://www.w3.org/1999/xhtml">Ann</div>' },
    name: [{ family: 'Brook', given: ['Ann'] }],
    managingOrganization: ref(`${BASE}/Organization/org`),
    generalPractitioner: [ref('Practitioner/doc'), ref('Practitioner/lost')],
    contact: [{ name: { family: 'Brook' }, gender: 'male' }],
    link: [{ other: ref('Patient/bob'), type: 'seealso' }],
    _birthDate: { extension: [{ url: 'urn:x', valueString: 'about noon' }] },
  } as Patient);
  await repository.update({ resourceType: 'Patient', id: 'bob', gender: 'male' });
  for (const id of ['o1', 'o2']) {
    const performer = id === 'o1' ? { performer: [ref('Practitioner/doc')] } : {};
    await repository.update({ ...observation(id), ...performer });
  }
  await repository.update({ ...observation('o3'), hasMember: [ref('Observation/o1')] });
}

function observation(id: string): Observation {
  const subject = ref('Patient/ann');
  return {
    resourceType: 'Observation',
    id,
    status: 'final',
    code,
    subject,
    valueQuantity: { value: 61.5, unit: 'kg' },
  };
}

function ref(reference: string): { reference: string } {
  return { reference };
}

/** `match Patient/ann`, in the order of the Bundle. */
function entries({ entry = [] }: Bundle<never>): string[] {
  return (entry as NonNullable<Bundle['entry']>).map(
    ({ search, resource }) => `${search!.mode} ${resource!.resourceType}/${resource!.id}`,
  );
}

overStores('the results of a search', (open) => {
  const find = async (type: 'Patient' | 'Observation' | 'Organization', query: string): Promise<string[]> => {
    const repository = await system(open({ baseUrl: BASE }));
    await clinic(repository);
    return entries((await repository.search(type, query)) as Bundle<never>);
  };

  test('_include: the targets of the matches, each once', async () => {
    expect(await find('Observation', '_include=Observation:subject&_include=Observation:performer')).toEqual([
      ...['o1', 'o2', 'o3'].map((id) => `match Observation/${id}`),
      'include Practitioner/doc',
      'include Patient/ann',
    ]);
  });

  test('_include: references without a target, to a match, or below the own base', async () => {
    expect(
      await find('Patient', '_id=ann&_include=Patient:general-practitioner&_include=Patient:organization'),
    ).toEqual(['match Patient/ann', 'include Practitioner/doc', 'include Organization/org']);
    expect(await find('Patient', '_include=Patient:link')).toEqual(['match Patient/ann', 'match Patient/bob']);
  });

  test('_include: of one type of targets only', async () => {
    expect(await find('Observation', '_id=o1&_include=Observation:performer:Organization')).toEqual([
      'match Observation/o1',
    ]);
    expect(await find('Observation', '_id=o1&_include=Observation:performer:Practitioner')).toEqual([
      'match Observation/o1',
      'include Practitioner/doc',
    ]);
  });

  test(':iterate follows included resources, and ends in a circle', async () => {
    const query =
      '_id=o1&_include=Observation:patient&_include:iterate=Patient:organization&_include:iterate=Organization:partof';
    expect(await find('Observation', query)).toEqual([
      'match Observation/o1',
      'include Patient/ann',
      'include Organization/org',
      'include Organization/parent',
      'include Organization/top',
    ]);
    expect(await find('Observation', '_id=o3&_include=Observation:has-member')).toEqual([
      'match Observation/o3',
      'include Observation/o1',
    ]);
    const circle = '_id=ann&_revinclude:iterate=Observation:subject&_include:iterate=Observation:subject';
    expect(await find('Patient', circle)).toEqual([
      'match Patient/ann',
      ...['o1', 'o2', 'o3'].map((id) => `include Observation/${id}`),
    ]);
  });

  test('a wildcard: every reference of a type, or of included resources', async () => {
    const all = [
      'match Observation/o1',
      ...(await find('Observation', '_id=o1&_include=Observation:subject&_include=Observation:performer')).slice(1),
    ];
    for (const query of ['_include=*', '_include=Observation:*', '_include:iterate=Observation:*']) {
      expect([query, (await find('Observation', `_id=o1&${query}`)).toSorted()]).toEqual([query, all.toSorted()]);
    }
    expect(await find('Observation', '_id=o1&_include=*:*:Patient')).toEqual([
      'match Observation/o1',
      'include Patient/ann',
    ]);
    const onward = ['Organization/org', 'Organization/parent', 'Organization/top', 'Patient/bob'];
    expect((await find('Observation', '_id=o1&_include:iterate=*')).toSorted()).toEqual(
      [...all, ...onward.map((name) => `include ${name}`)].toSorted(),
    );
    expect(await find('Patient', '_id=ann&_revinclude=Observation:*')).toEqual([
      'match Patient/ann',
      ...['o1', 'o2', 'o3'].map((id) => `include Observation/${id}`),
    ]);
  });

  test('_revinclude: resources that refer to the matches', async () => {
    expect(await find('Patient', '_revinclude=Observation:subject')).toEqual([
      'match Patient/ann',
      'match Patient/bob',
      ...['o1', 'o2', 'o3'].map((id) => `include Observation/${id}`),
    ]);
    // By an absolute reference, too.
    expect(await find('Organization', '_id=org&_revinclude=Patient:organization')).toEqual([
      'match Organization/org',
      'include Patient/ann',
    ]);
    expect(await find('Patient', '_id=bob&_revinclude=Provenance:target')).toEqual(['match Patient/bob']);
  });

  test('the total and the page count matches only', async () => {
    const repository = await system(open({ baseUrl: BASE }));
    await clinic(repository);
    const query = '_count=2&_total=accurate&_include=Observation:subject&_elements=status';
    const first = await repository.search('Observation', query);
    expect([first.total, entries(first as Bundle<never>)]).toEqual([
      3,
      ['match Observation/o1', 'match Observation/o2', 'include Patient/ann'],
    ]);
    const next = first.link!.find(({ relation }) => relation === 'next')!.url;
    const second = await repository.search('Observation', next.slice(next.indexOf('?')));
    expect(entries(second as Bundle<never>)).toEqual(['match Observation/o3', 'include Patient/ann']);
    expect(Object.keys(second.entry![0]!.resource!)).not.toContain('valueQuantity');
    expect(await repository.search('Observation', '_summary=count&_include=Observation:subject')).not.toHaveProperty(
      'entry',
    );
  });

  test('a caller gets only visible resources, along visible references', async () => {
    const store = open();
    await clinic(await system(store, 'clinic'));
    const nurse = await member(store, {
      rules: [
        { resourceType: 'Patient', hiddenFields: ['birthDate', 'generalPractitioner'] },
        { resourceType: 'Practitioner' },
        {
          resourceType: 'Observation',
          criteria: 'Observation?_id=o1,o2',
          hiddenFields: ['performer', 'valueQuantity'],
        },
      ],
    });
    const found = await nurse.search(
      'Patient',
      '_id=ann&_include=Patient:organization&_include=Patient:general-practitioner&_revinclude=Observation:subject&_include:iterate=Observation:performer',
    );
    expect(entries(found as Bundle<never>)).toEqual([
      'match Patient/ann',
      'include Observation/o1',
      'include Observation/o2',
    ]);
    for (const { resource } of found.entry!) {
      expect(resource).not.toHaveProperty('birthDate');
      expect(resource).not.toHaveProperty('valueQuantity');
    }
    // Nobody follows a reference that is hidden, in either direction.
    const back = await nurse.search(
      'Practitioner',
      '_id=doc&_revinclude=Observation:performer&_revinclude=Patient:general-practitioner',
    );
    expect(entries(back as Bundle<never>)).toEqual(['match Practitioner/doc']);
  });
});

describe('the number of store calls', () => {
  test('is one per level and edge, for any number of rows', async () => {
    const store = new MemoryStore();
    const repository = await system(store);
    await clinic(repository);
    for (let index = 0; index < 40; index++) {
      await repository.update({
        ...observation(`x${index}`),
        subject: ref(index % 2 === 0 ? 'Patient/ann' : 'Patient/bob'),
      });
    }
    const [search, read, reverse] = [
      vi.spyOn(store, 'search'),
      vi.spyOn(store, 'read'),
      vi.spyOn(store, 'searchByReference'),
    ];
    const query =
      '_count=100&_include=Observation:subject&_include=Observation:performer&_revinclude:iterate=Observation:has-member&_include:iterate=Patient:general-practitioner';
    const found = await repository.search('Observation', query);
    expect(found.entry!.length).toBe(43 + 3);
    expect([search.mock.calls.length, read.mock.calls.length, reverse.mock.calls.length]).toEqual([1, 2, 1]);
    vi.restoreAllMocks();
  });

  test('bounds the included resources, and reports it instead of truncating', async () => {
    const store = new MemoryStore();
    const repository = await system(store);
    await repository.update({ resourceType: 'Patient', id: 'p' });
    await repository.update({ resourceType: 'Patient', id: 'q' });
    const entry = Array.from({ length: 1000 }, (_, index) => ({
      resource: { ...observation(`o${index}`), subject: ref('Patient/p') },
      request: { method: 'PUT' as const, url: `Observation/o${index}` },
    }));
    await repository.transaction({ resourceType: 'Bundle', type: 'transaction', entry });
    const query = '_revinclude=Observation:subject';
    expect((await repository.search('Patient', query)).entry).toHaveLength(1002);
    await repository.update({ ...observation('one-more'), subject: ref('Patient/q') });
    const fault = await faultOf(repository.search('Patient', query));
    expect([fault.code, fault.details]).toEqual(['too-costly', { max: 1000 }]);
    expect((await repository.search('Patient', `${query}&_count=1`)).entry).toHaveLength(1001);
    await repository.update({ ...observation('and-more'), subject: ref('Patient/p') });
    expect(await codeOf(repository.search('Patient', `${query}&_count=1`))).toBe('too-costly');
  });

  test('bounds a chain without end', async () => {
    const store = new MemoryStore();
    const repository = await system(store);
    for (let index = 0; index < 20; index++) {
      await repository.update({
        resourceType: 'Organization',
        id: `g${index}`,
        partOf: ref(`Organization/g${index + 1}`),
      });
    }
    expect(await codeOf(repository.search('Organization', '_id=g0&_include:iterate=Organization:partof'))).toBe(
      'too-costly',
    );
    expect(
      (await repository.search('Organization', '_id=g12&_include:iterate=Organization:partof')).entry,
    ).toHaveLength(8);
  });
});

describe('the parts of each resource', () => {
  const shown = async (query: string): Promise<{ [name: string]: unknown }> => {
    const repository = await system(new MemoryStore());
    await clinic(repository);
    const { entry } = await repository.search('Patient', `_id=ann&${query}`);
    return entry![0]!.resource as never;
  };
  const SUBSETTED = { system: 'http://terminology.hl7.org/CodeSystem/v3-ObservationValue', code: 'SUBSETTED' };

  test('_elements: the elements, their siblings, and a mark', async () => {
    const found = await shown('_elements=birthDate,gender');
    expect(Object.keys(found).sort()).toEqual(['_birthDate', 'birthDate', 'gender', 'id', 'meta', 'resourceType']);
    expect(found['meta']).toMatchObject({ versionId: '1', tag: [SUBSETTED] });
    expect(Object.keys(await shown('_elements=Patient.gender'))).toContain('gender');
  });

  test('_elements: choices by their base, and the elements that the definition requires', async () => {
    const repository = await system(new MemoryStore());
    await clinic(repository);
    const { entry } = await repository.search('Observation', '_id=o1&_elements=value');
    expect(Object.keys(entry![0]!.resource!).sort()).toEqual([
      'code',
      'id',
      'meta',
      'resourceType',
      'status',
      'valueQuantity',
    ]);
  });

  test("_fields: the columns of Medplum's tables", async () => {
    const found = await shown('_fields=id,_lastUpdated,name.family,birthdate,general-practitioner,actions');
    expect(Object.keys(found).sort()).toEqual([
      '_birthDate',
      'birthDate',
      'generalPractitioner',
      'id',
      'meta',
      'name',
      'resourceType',
    ]);
  });

  test('_summary', async () => {
    expect(Object.keys(await shown('_summary=text')).sort()).toEqual(['id', 'meta', 'resourceType', 'text']);
    expect(Object.keys(await shown('_summary=data'))).not.toContain('text');
    expect(Object.keys(await shown('_summary=data'))).toContain('contact');
    const summary = await shown('_summary=true');
    expect(Object.keys(summary).sort()).toEqual([
      '_birthDate',
      'active',
      'birthDate',
      'gender',
      'id',
      'link',
      'managingOrganization',
      'meta',
      'name',
      'resourceType',
    ]);
    expect(summary['link']).toEqual([{ other: { reference: 'Patient/bob' }, type: 'seealso' }]);
    expect(await shown('_summary=false')).not.toHaveProperty('meta.tag');
  });

  test('_summary applies to included resources, too; _elements does not', async () => {
    const repository = await system(new MemoryStore());
    await clinic(repository);
    const found = async (query: string): Promise<string[]> => {
      const { entry } = await repository.search('Observation', `_id=o1&_include=Observation:subject&${query}`);
      return Object.keys(entry![1]!.resource!);
    };
    expect(await found('_elements=status')).toContain('contact');
    expect(await found('_summary=true')).not.toContain('contact');
  });

  test('hidden fields stay hidden in any selection', async () => {
    const store = new MemoryStore();
    await clinic(await system(store));
    const nurse = repositoryOf(
      store,
      await signedIn(store, { rules: [{ resourceType: 'Patient', hiddenFields: ['birthDate'] }] }),
    );
    for (const query of ['_elements=birthDate', '_fields=birthdate', '_summary=true', '_summary=data']) {
      expect((await nurse.search('Patient', `_id=ann&${query}`)).entry![0]!.resource).not.toHaveProperty('birthDate');
    }
  });
});

test.each([
  [
    '_include=Observation',
    'invalid',
    '"_include" takes Type:parameter or Type:parameter:TargetType, not "Observation"',
  ],
  ['_include=Patient:nothing', 'invalid', 'Unknown search parameter "nothing" of Patient.'],
  ['_include=Nothing:subject', 'invalid', 'Unknown resource type "Nothing".'],
  [
    '_include=Patient:gender',
    'invalid',
    '"_include" follows references, and "gender" of Patient is not a reference parameter',
  ],
  ['_include=Patient:organization:Patient', 'invalid', '"organization" of Patient does not lead to Patient'],
  [
    '_include=Observation:subject',
    'invalid',
    '"_include=Observation:subject" does not begin at Patient; to start from included resources, add ":iterate"',
  ],
  [
    '_revinclude=Patient:organization',
    'invalid',
    '"_revinclude=Patient:organization" does not begin at Patient; to start from included resources, add ":iterate"',
  ],
  [
    '_revinclude=Observation:subject:Group',
    'invalid',
    '"_revinclude=Observation:subject:Group" does not begin at Patient; to start from included resources, add ":iterate"',
  ],
  ['_include:recurse=Patient:link', 'invalid', '"_include" takes the modifier ":iterate" only'],
  ['_include:iterate=*:subject', 'invalid', 'Unknown resource type "*".'],
  ['_include=Nothing:*', 'invalid', 'Unknown resource type "Nothing".'],
  ['_include=Patient:*:Nothing', 'invalid', 'Unknown resource type "Nothing".'],
  ['_include=Patient:*:Patient:x', 'invalid', '"_include" takes Type:parameter or Type:parameter:TargetType'],
  [
    '_include=Observation:*',
    'invalid',
    '"_include=Observation:*" does not begin at Patient; to start from included resources, add ":iterate"',
  ],
  ['_revinclude=*', 'unsupported', '"_revinclude" of every type is not supported; name the types: Observation:*'],
  ['_revinclude:iterate=*:*', 'unsupported', '"_revinclude" of every type is not supported; name the types'],
  ['_revinclude=Organization:*', 'invalid', '"_revinclude=Organization:*" does not begin at Patient'],
  ['_elements=birthdate', 'invalid', 'Unknown element "birthdate" of Patient. Did you mean "birthDate"?'],
  ['_elements=id&_summary=true', 'invalid', '"_summary" and another parameter both select elements'],
  ['_summary=yes', 'invalid', '"_summary" takes true, text, data, count or false, not "yes"'],
  [
    '_summary=text&_include=Patient:link',
    'invalid',
    '"_summary=text" cannot be combined with _include and _revinclude',
  ],
  ['_contained=true', 'unsupported', 'Search parameter "_contained" is not supported'],
  ['_text=x', 'unsupported', 'Search parameter "_text" is not supported'],
  ['_content=x', 'unsupported', 'Search parameter "_content" is not supported'],
  ['_list=x', 'unsupported', 'Search parameter "_list" is not supported'],
  [
    Array.from({ length: 21 }, () => '_include=Patient:link').join('&'),
    'too-costly',
    'A search may have 20 _include and _revinclude, not 21',
  ],
])('%s is refused', async (query, code, message) => {
  const fault = await faultOf((await system(new MemoryStore())).search('Patient', query));
  expect(fault.code).toBe(code);
  expect(fault.message).toContain(message);
});
