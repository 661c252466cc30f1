import type { Bundle, Observation } from '@medplum/fhirtypes';
import { expect, test } from 'vitest';
import type { Repository } from '../../src/index.js';
import { codeOf, member, overStores, repositoryOf, signedIn, system } from './harness.js';

/** The same ids in each project; every text shows its project. */
async function fill(repository: Repository, project: string): Promise<void> {
  await repository.update({
    resourceType: 'Patient',
    id: 'p',
    name: [{ family: `${project}-family` }],
    telecom: [{ system: 'email', value: 'same@example.org' }],
  });
  await repository.update({ resourceType: 'Patient', id: `only-${project}`, name: [{ family: `${project}-only` }] });
  for (const target of ['p', 'only-north', 'only-south']) {
    const observation: Observation = {
      resourceType: 'Observation',
      id: `o-${target}`,
      status: 'final',
      code: { text: `${project}-code` },
      subject: { reference: `Patient/${target}` },
    };
    await repository.update(observation);
  }
}

overStores('two projects in one store', (open) => {
  test('share nothing, with any ids, e-mails and references', async () => {
    const store = open();
    const projects = ['north', 'south'] as const;
    const trusted = await Promise.all(projects.map((project) => system(store, project)));
    await Promise.all(projects.map((project, index) => fill(trusted[index]!, project)));
    const members = [];
    for (const project of projects) members.push(await member(store, { project }));
    for (const repositories of [trusted, members]) {
      for (const [index, project] of projects.entries()) {
        const other = projects[1 - index]!;
        const repository = repositories[index]!;
        const answers: unknown[] = [
          await repository.read('Patient', 'p'),
          await repository.vread('Patient', 'p', '1'),
          await repository.history('Patient', 'p'),
        ];
        const ids = async (type: 'Patient' | 'Observation', query: string): Promise<(string | undefined)[]> => {
          const page: Bundle = await repository.search(type, `${query}&_total=accurate`);
          answers.push(page);
          expect(page.total).toBe(page.entry?.length ?? 0);
          return (page.entry ?? []).map(({ resource }) => resource?.id);
        };
        expect(await ids('Patient', 'email=same@example.org')).toEqual(['p']);
        expect(await ids('Patient', `family=${other}`)).toEqual([]);
        expect(await ids('Observation', `subject:Patient.family=${other}-only`)).toEqual([]);
        expect(await ids('Observation', 'subject:Patient.email=same@example.org')).toEqual(['o-p']);
        expect(await ids('Patient', '_has:Observation:subject:status=final')).toEqual([`only-${project}`, 'p']);
        expect(await ids('Observation', '')).toHaveLength(3);
        expect(await codeOf(repository.read('Patient', `only-${other}`))).toBe('not-found');
        expect(await codeOf(repository.history('Patient', `only-${other}`))).toBe('not-found');
        expect(await codeOf(repository.delete('Patient', `only-${other}`))).toBe('not-found');
        expect(JSON.stringify(answers)).not.toContain(`${other}-`.concat('family'));
        expect(JSON.stringify(answers)).not.toContain(`${other}-code`);
      }
    }
  });

  test('are written one at a time', async () => {
    const store = open();
    const [north, south] = [await system(store, 'north'), await system(store, 'south')];
    await fill(north, 'north');
    await fill(south, 'south');
    const intruder = repositoryOf(store, await signedIn(store, { project: 'south' }), { extendedMeta: true });
    await intruder.update({ resourceType: 'Patient', id: 'p', active: true });
    await intruder.update({ resourceType: 'Patient', id: 'only-north' });
    await intruder.delete('Patient', 'p');
    const before = await north.read('Patient', 'p');
    expect(before).toMatchObject({ name: [{ family: 'north-family' }], meta: { versionId: '1' } });
    expect((await north.history('Patient', 'only-north')).total).toBe(1);
    // A stamp with another project does not change the project of the resource.
    const claimed = await intruder.create({ resourceType: 'Patient', meta: { project: 'north' } });
    expect(claimed.meta.project).toBe('south');
    expect(await codeOf(north.read('Patient', claimed.id))).toBe('not-found');
  });
});
