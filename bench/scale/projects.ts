import { join } from 'node:path';
import { executeFhirGraphql, signIn, type ResourceStore } from 'fhirgraph';
import { SqliteStore } from 'fhirgraph/sqlite';
import type { Write } from 'fhirgraph/store';
import { duration, table } from '../table.js';
import { type Quantiles, quantilesOf } from './measured.js';

const PATIENTS = 5;

/** Prints the cost of sign-in and a search in a store of one project, and in a SQLite file of many projects. */
export async function growProjects(folder: string, projects: number, runs: number): Promise<void> {
  const store = new SqliteStore(join(folder, 'many.db'), {
    synchronous: 'normal',
    // A single project would be answered from the cache.
    cacheBytes: 0,
  });
  await addProjects(store, 0, 1);
  const alone = await timeProjects(store, 1, runs);
  await addProjects(store, 1, projects);
  const among = await timeProjects(store, projects, runs);
  await store.close();
  const row = (name: 'signIn' | 'search', title: string): string[] => [
    title,
    ...[alone[name], among[name]].map(({ p50, p95 }) => `${duration(p50)}, ${duration(p95)}`),
    `${(among[name].p50 / alone[name].p50).toFixed(1)} ×`,
  ];
  const head = ['p50, p95', '1 project', `${projects} projects`, 'p50'];
  console.log(`\n${table([head, row('signIn', 'sign-in'), row('search', 'search of a member')])}`);
}

/** Adds projects with one member and a few patients each, numbered from `from` up to, but not including, `to`. */
async function addProjects(store: ResourceStore, from: number, to: number): Promise<void> {
  for (let number = from; number < to; number++) await store.commit(projectWrites(number));
}

/** Signs in to projects in turn and reads a page of each, as every request of a host does. */
async function timeProjects(
  store: ResourceStore,
  projects: number,
  runs: number,
): Promise<{ readonly signIn: Quantiles; readonly search: Quantiles }> {
  const signIns: number[] = [];
  const searches: number[] = [];
  for (let run = -20; run < runs; run++) {
    // The projects are far from each other in the file, so that no page of it is already in a cache.
    const number = Math.abs(run * 7919) % projects;
    const start = performance.now();
    const caller = await signIn(store, { project: `p${number}`, user: `User/u${number}` });
    const signedIn = performance.now();
    const { data } = await executeFhirGraphql<{ PatientList: unknown[] }>('{ PatientList(gender: "female") { id } }', {
      store,
      caller,
    });
    const end = performance.now();
    if (data?.PatientList.length !== PATIENTS) throw new Error(`Project p${number} gives a wrong answer`);
    if (run < 0) continue;
    signIns.push((signedIn - start) * 1000);
    searches.push((end - signedIn) * 1000);
  }
  return { signIn: quantilesOf(signIns), search: quantilesOf(searches) };
}

function projectWrites(number: number): Write[] {
  const project = `p${number}`;
  const user = `User/u${number}`;
  const practitioner = 'Practitioner/ann';
  const put = (home: string, resource: { readonly resourceType: string; readonly id: string }): Write => ({
    kind: 'put',
    key: { project: home, type: resource.resourceType, id: resource.id },
    resource,
  });
  const membership = {
    resourceType: 'ProjectMembership',
    id: `m${number}`,
    active: true,
    project: { reference: `Project/${project}` },
    user: { reference: user },
    profile: { reference: practitioner },
  };
  const patients = Array.from({ length: PATIENTS }, (_, index) => ({
    resourceType: 'Patient',
    id: `patient${index}`,
    gender: 'female',
  }));
  return [
    put('', { resourceType: 'Project', id: project, ...{ name: project, active: true } }),
    put('', { resourceType: 'User', id: `u${number}`, ...{ email: `u${number}@example.org` } }),
    put(project, { resourceType: 'Practitioner', id: 'ann', ...{ name: [{ family: 'Lee' }] } }),
    put(project, membership),
    ...patients.map((patient) => put(project, patient)),
  ];
}
