import { expect } from 'vitest';
import { type AnyResource, MemoryStore, type ResourceStore } from '../../src/index.js';
import { type Criteria, type FhirModel, R4, type ReindexOptions, type SearchQuery } from '../../src/store.js';
import { below, oneOf, put, resourceOf } from '../support/kit.js';
import { modelWith } from './models.js';

/** A store over a database that others also have open. */
export interface ReindexedStore extends ResourceStore {
  reindex(options: ReindexOptions): Promise<number>;
}

const MODELS: readonly FhirModel[] = [
  R4,
  modelWith('Patient', {
    gender: { path: [['contact', 'gender']] },
    nick: { type: 'string', expression: 'Patient.name.given', path: [['name', 'given']] },
  }),
  modelWith('Patient', { gender: { type: 'string' }, family: undefined }),
  modelWith('Observation', { subject: { path: [['subject'], ['focus']] } }),
];

const PROJECTS = ['clinic', 'other'];
const GENDERS = ['male', 'female', 'other'];

/**
 * Opens, writes, searches, reindexes and stops at random, with several stores of different models over one
 * database at the same time, owners and others. A search gives the answer of a memory store with the same model and resources, or is `unavailable`.
 * When the reindexing is done, it answers.
 */
export async function changeModelsAtRandom(
  open: (model: FhirModel, takeOver: boolean) => ReindexedStore,
  random: () => number,
  steps: number,
): Promise<void> {
  const current = new Map<string, { readonly project: string; readonly resource: AnyResource }>();
  const stores: ReindexedStore[] = [open(R4, false)];
  for (let step = 0; step < steps; step++) {
    const store = oneOf(stores, random);
    const chance = random();
    if (chance < 0.12) {
      // With its first call, an owner takes over the database. Others use it as it is.
      const opened = open(oneOf(MODELS, random), random() < 0.6);
      await opened.read([]);
      stores.push(opened);
      // A killed process sends no message.
      if (stores.length > 3) stores.splice(below(3, random), 1);
    } else if (chance < 0.45) {
      await write(store, current, random);
    } else if (chance < 0.6) {
      await breakOff(store);
    } else {
      await compare(store, [...current.values()], randomQuery(random), true);
    }
  }
  const last = open(oneOf(MODELS, random), true);
  await last.reindex({ pendingOnly: true });
  for (let n = 0; n < 20; n++) await compare(last, [...current.values()], randomQuery(random), false);
}

async function write(
  store: ReindexedStore,
  current: Map<string, { readonly project: string; readonly resource: AnyResource }>,
  random: () => number,
): Promise<void> {
  const project = oneOf(PROJECTS, random);
  const resource = random() < 0.5 ? randomPatient(random) : randomObservation(random);
  try {
    await store.commit([put(resource, {}, project)]);
    current.set(`${project}/${resource.resourceType}/${resource.id!}`, { project, resource });
  } catch (error) {
    expect(error).toMatchObject({ code: 'unavailable' });
  }
}

/** One batch, as if the process ended after it. */
async function breakOff(store: ReindexedStore): Promise<void> {
  const stop = new Error('killed');
  const onProgress = (): never => {
    throw stop;
  };
  try {
    await store.reindex({ pendingOnly: true, onProgress });
  } catch (error) {
    if (error !== stop) expect(error).toMatchObject({ code: 'unavailable' });
  }
}

async function compare(
  store: ReindexedStore,
  resources: readonly { readonly project: string; readonly resource: AnyResource }[],
  query: SearchQuery,
  mayRefuse: boolean,
): Promise<void> {
  const twin = new MemoryStore({ model: store.model });
  await twin.commit(resources.map(({ project, resource }) => put(resource, {}, project)));
  const targets = ['p0', 'p1', 'p2'].map((id) => ({ type: 'Patient', id }));
  const idsOf = async (one: ResourceStore): Promise<unknown> => {
    const { matches, total } = await one.search(query);
    const reverse =
      query.type === 'Observation' ? await one.searchByReference({ ...query, limit: 2 }, 'subject', targets) : [];
    return [matches, ...reverse.map((page) => page.matches)].map((page) => [
      total,
      page.map(({ resource }) => resource.id),
    ]);
  };
  try {
    expect(await idsOf(store), JSON.stringify(query)).toEqual(await idsOf(twin));
  } catch (error) {
    if (!mayRefuse || (error as { readonly code?: unknown }).code !== 'unavailable') throw error;
  }
}

function randomPatient(random: () => number): AnyResource {
  return resourceOf('Patient', `p${below(6, random)}`, {
    ...(random() < 0.8 ? { gender: oneOf(GENDERS, random) } : {}),
    name: [{ family: oneOf(['Adams', 'Baker'], random), given: [oneOf(['Jo', 'Kim'], random)] }],
    ...(random() < 0.5 ? { contact: [{ gender: oneOf(GENDERS, random) }] } : {}),
  });
}

function randomObservation(random: () => number): AnyResource {
  const inside = { ...randomPatient(random), id: 'inside' };
  const isInside = random() < 0.3;
  const patient = (): unknown => ({ reference: `Patient/p${below(6, random)}` });
  return resourceOf('Observation', `o${below(6, random)}`, {
    status: 'final',
    ...(isInside ? { contained: [inside] } : {}),
    subject: isInside ? { reference: '#inside' } : patient(),
    ...(random() < 0.3 ? { focus: [patient()] } : {}),
  });
}

function randomQuery(random: () => number): SearchQuery {
  const project = oneOf(PROJECTS, random);
  const type = oneOf(['Patient', 'Observation'], random);
  const criteria = type === 'Patient' ? ofPatient(2, random) : ofObservation(2, random);
  const key = oneOf(type === 'Patient' ? ['gender', 'family', 'name', '_id'] : ['status', '_id'], random);
  const sort = random() < 0.5 ? [{ parameter: key, descending: random() < 0.5 }] : undefined;
  return { project, type, criteria, sort, total: true };
}

function ofPatient(depth: number, random: () => number): Criteria {
  const gender = oneOf(GENDERS, random);
  const forms: (() => Criteria)[] = [
    () => ({ kind: 'match', parameter: 'gender', test: { kind: 'token', code: gender } }),
    () => ({
      kind: 'match',
      parameter: oneOf(['family', 'name', 'nick', 'gender'], random),
      test: { kind: 'string', comparator: 'starts-with', text: oneOf(['a', 'j', 'm'], random) },
    }),
    () => ({ kind: 'missing', parameter: oneOf(['gender', 'nick', 'family'], random), missing: random() < 0.5 }),
    () => ({ kind: 'not', of: ofPatient(depth - 1, random) }),
    () => ({ kind: 'or', of: [ofPatient(depth - 1, random), ofPatient(depth - 1, random)] }),
    () => ({ kind: 'and', of: [ofPatient(depth - 1, random), ofPatient(depth - 1, random)] }),
    () => ({ kind: 'has', type: 'Observation', parameter: 'subject', of: ofObservation(depth - 1, random) }),
  ];
  return oneOf(depth > 0 ? forms : forms.slice(0, 3), random)();
}

function ofObservation(depth: number, random: () => number): Criteria {
  const forms: (() => Criteria)[] = [
    () => ({ kind: 'missing', parameter: 'subject', missing: random() < 0.5 }),
    () => ({ kind: 'all' }),
    () => ({ kind: 'chain', parameter: 'subject', type: 'Patient', of: ofPatient(depth - 1, random) }),
    () => ({ kind: 'not', of: ofObservation(depth - 1, random) }),
  ];
  return oneOf(depth > 0 ? forms : forms.slice(0, 2), random)();
}
