import { expect, test } from 'vitest';
import type { Repository } from '../../src/index.js';
import { member, overStores, system } from './harness.js';

const BASE = 'http://own.example/fhir';
const organization = (name: string): object => ({ resourceType: 'Organization', id: 'o', name });
const patient = (more: object): object => ({ resourceType: 'Patient', id: 'p', ...more });
const at = (version?: number): object => ({ reference: `Organization/o${version === undefined ? '' : `/_history/${version}`}` }); // prettier-ignore

async function fill(repository: Repository, ...resources: readonly object[]): Promise<void> {
  for (const resource of resources) await repository.update(resource as never);
}

/** The names of the Organizations that a search includes. */
async function included(repository: Repository, type: 'Patient' | 'Organization', query: string): Promise<unknown[]> {
  const { entry = [] } = await repository.search(type, query);
  return entry.flatMap(({ resource, search }) => (search?.mode === 'include' ? [(resource as { name: unknown }).name] : []));
} // prettier-ignore

overStores('includes of versioned references', (open) => {
  test('bring that version, once each, and the current one where no version is named', async () => {
    const store = open({ baseUrl: BASE });
    const repository = await system(store);
    await fill(repository, organization('First'), organization('Second'), organization('Third'));
    const ask = async (more: object, query: string): Promise<unknown[]> => {
      await fill(repository, patient(more));
      return included(repository, 'Patient', `_id=p&${query}`);
    };
    const both = '_include=Patient:organization&_include=Patient:general-practitioner';
    expect(await ask({ managingOrganization: at(1) }, both)).toEqual(['First']);
    expect(await ask({ managingOrganization: at() }, both)).toEqual(['Third']);
    expect(await ask({ managingOrganization: { reference: `${BASE}/Organization/o/_history/2` } }, both)).toEqual(['Second']); // prettier-ignore
    const each = { managingOrganization: at(1), generalPractitioner: [at(2), at(), at(2)] };
    expect(await ask(each, '_include=Patient:organization')).toEqual(['First']);
    expect((await ask(each, '_include=Patient:general-practitioner')).sort()).toEqual(['Second', 'Third']);
    expect((await ask(each, '_include=*')).sort()).toEqual(['First', 'Second', 'Third']);
    // The third version is the current one.
    expect(await ask({ managingOrganization: at(3), generalPractitioner: [at()] }, both)).toEqual(['Third']);
    expect(await ask({ managingOrganization: at(9) }, both)).toEqual([]);
  });

  test('do not repeat a match, but bring an earlier version of it', async () => {
    const repository = await system(open());
    await fill(repository, organization('First'), { ...organization('Second'), partOf: at(1) });
    const include = '_id=o&_include=Organization:partof';
    expect(await included(repository, 'Organization', include)).toEqual(['First']);
    await fill(repository, { ...organization('Third'), partOf: at(3) });
    expect(await included(repository, 'Organization', include)).toEqual([]);
  });

  test('bring no version that the caller may not read', async () => {
    const store = open();
    await fill(await system(store), { ...organization('First'), active: true }, organization('Second'));
    await fill(await system(store), patient({ managingOrganization: at(1) }));
    const some = [{ resourceType: 'Patient' }, { resourceType: 'Organization', interaction: ['read', 'search'] }];
    expect(await included(await member(store, { rules: some as never }), 'Patient', '_include=Patient:organization')).toEqual([]); // prettier-ignore
  });
});

overStores('`:below` on canonicals', (open) => {
  test('finds the versions that begin with the given one', async () => {
    const repository = await system(open());
    const url = 'http://forms.example/phq';
    const named = ['', '|1', '|1.0', '|1.2.3', '|10', '|2', '/more|1'];
    for (const [index, version] of named.entries()) {
      await fill(repository, { resourceType: 'QuestionnaireResponse', id: `r${index}`, status: 'completed', questionnaire: url + version }); // prettier-ignore
      await fill(repository, { resourceType: 'Basic', id: `r${index}`, code: { text: 'x' }, meta: { profile: [url + version] } }); // prettier-ignore
    }
    const found = async (type: 'QuestionnaireResponse' | 'Basic', query: string): Promise<readonly string[]> => {
      const { entry = [] } = await repository.search(type, query);
      return entry.map(({ resource }) => named[Number(resource!.id.slice(1))]!).sort();
    };
    for (const [type, code] of [['QuestionnaireResponse', 'questionnaire'], ['Basic', '_profile']] as const) {
      expect(await found(type, `${code}:below=${url}|1`), code).toEqual(['|1', '|1.0', '|1.2.3']);
      expect(await found(type, `${code}:below=${url}|1.2`), code).toEqual(['|1.2.3']);
      expect(await found(type, `${code}:below=${url}|1.2.3,${url}|2`), code).toEqual(['|1.2.3', '|2']);
      expect(await found(type, `${code}:below=${url}|3`), code).toEqual([]);
      await expect(repository.search(type, `${code}:below=${url}|`)).rejects.toMatchObject({ code: 'invalid' });
      await expect(repository.search(type, `${code}:below=|1`)).rejects.toMatchObject({ code: 'invalid' });
    }
    expect(await found('QuestionnaireResponse', `questionnaire:below=${url}`)).toEqual(named.slice(0, 6).sort());
    expect(await found('QuestionnaireResponse', `questionnaire=${url}|1`)).toEqual(['|1']);
    await expect(repository.search('Encounter', 'location:below=Location/1')).rejects.toMatchObject({ code: 'unsupported' }); // prettier-ignore
  }); // prettier-ignore
});
