import { expect, test } from 'vitest';
import {
  createProject,
  createRepository,
  executeFhirGraphql,
  invite,
  MemoryStore,
  searchMembers,
  serverCaller,
  signIn,
  systemCaller,
} from 'fhirgraph';
import { createRandom, keyOf, PROJECT, put, queryOf, resourceOf } from '../../support/kit.js';
import type { JoinedStore, ResourceStore } from 'fhirgraph/store';
import { cases, SEED } from '../../support/chance.js';

/** A store over the host's own database, whose transactions the test begins and ends. */
export interface JoinableWorld {
  readonly store: ResourceStore;
  begin(): Promise<JoinedStore>;
  commit(): Promise<void>;
  rollBack(): Promise<void>;
  /** Undoes what follows {@link JoinableWorld.mark}, within the transaction. */
  mark(): Promise<void>;
  undo(): Promise<void>;
  /** A row of the host's own, within the transaction. */
  insert(text: string): Promise<void>;
  rows(): Promise<readonly string[]>;
  problems(): Promise<readonly string[]>;
  close(): Promise<void>;
}

/** What holds of transactions of the host, over every store that joins them. */
export function joinedSuite(open: () => Promise<JoinableWorld>): void {
  async function within(work: (world: JoinableWorld) => Promise<void>): Promise<void> {
    const world = await open();
    try {
      await work(world);
      expect(await world.problems()).toEqual([]);
    } finally {
      await world.close();
    }
  }

  test('FHIR resources and rows of the host are committed together, or not at all', () =>
    within(async (world) => {
      for (const end of ['rollBack', 'commit'] as const) {
        const joined = await world.begin();
        const repository = createRepository({ store: joined, caller: systemCaller(PROJECT) });
        await repository.update({ resourceType: 'Patient', id: 'ann', active: true });
        await world.insert('ann');
        expect(await repository.read('Patient', 'ann')).toMatchObject({ active: true });
        expect((await repository.search('Patient', 'active=true')).entry).toHaveLength(1);
        await world[end]();
        const isThere = end === 'commit';
        const [found] = await world.store.read([keyOf('Patient', 'ann')]);
        expect([found!.status, await world.rows()]).toEqual(isThere ? ['found', ['ann']] : ['missing', []]);
        expect((await world.store.search(queryOf('Patient'))).matches).toHaveLength(isThere ? 1 : 0);
      }
    }));

  test('mutations, and invitations of members, join under the rules of their callers', () =>
    within(async (world) => {
      const { store } = world;
      const project = (
        await createProject({ resourceType: 'Project', name: 'Clinic' }, { store, caller: serverCaller() })
      ).id;
      const person = { resourceType: 'Practitioner', firstName: 'Ada', lastName: 'Lovelace' } as const;
      const { membership } = await invite(
        project,
        { ...person, email: 'ada@clinic.test', admin: true },
        { store, caller: serverCaller() },
      );
      const policy = await createRepository({ store, caller: systemCaller(project) }).create({
        resourceType: 'AccessPolicy',
        resource: [{ resourceType: 'Patient', criteria: 'Patient?active=true' }],
      });
      const body = {
        ...person,
        firstName: 'Ben',
        email: 'ben@clinic.test',
        accessPolicy: { reference: `AccessPolicy/${policy.id}` },
      };
      const query = 'mutation { PatientCreate(res: { resourceType: "Patient", active: true }) { id } }';
      for (const end of ['rollBack', 'commit'] as const) {
        const joined = await world.begin();
        const admin = await signIn(joined, { membership: membership.id });
        const invited = await invite(project, body, { store: joined, caller: admin });
        const ben = await signIn(joined, { membership: invited.membership.id });
        expect(await executeFhirGraphql(query, { store: joined, caller: ben })).not.toHaveProperty('errors');
        const repository = createRepository({ store: joined, caller: ben });
        await expect(repository.create({ resourceType: 'Patient', active: false })).rejects.toMatchObject({
          code: 'forbidden',
        });
        await world[end]();
        const count = end === 'commit' ? 1 : 0;
        const trusted = systemCaller(project);
        expect((await searchMembers(project, {}, { store, caller: trusted })).entry).toHaveLength(1 + count);
        const found = await createRepository({ store, caller: trusted }).search('Patient');
        expect(found.entry ?? []).toHaveLength(count);
        const [user] = await store.read([{ project: '', type: 'User', id: ben.user.slice('User/'.length) }]);
        expect(user!.status).toBe(end === 'commit' ? 'found' : 'missing');
      }
    }));

  test('a commit that is refused leaves the transaction as it was', () =>
    within(async (world) => {
      await world.store.commit([put(resourceOf('Patient', 'ann'))]);
      const joined = await world.begin();
      await joined.commit([put(resourceOf('Patient', 'ben'))]);
      await world.insert('before');
      const overtaken = put(resourceOf('Patient', 'ann'), { expect: { version: '7' } });
      await expect(joined.commit([put(resourceOf('Patient', 'eve')), overtaken])).rejects.toMatchObject({
        code: 'precondition-failed',
        details: { index: 1 },
      });
      await joined.commit([put(resourceOf('Patient', 'dan'))]);
      await world.commit();
      const { matches } = await world.store.search(queryOf('Patient'));
      expect([matches.map(({ resource }) => resource.id), await world.rows()]).toEqual([
        ['ann', 'ben', 'dan'],
        ['before'],
      ]);
    }));

  test('watchers hear of a transaction when it is committed', () =>
    within(async ({ store, begin, commit }) => {
      let heard = 0;
      const stop = store.watch!(PROJECT, () => (heard += 1));
      const joined = await begin();
      await joined.commit([put(resourceOf('Patient', 'ann'))]);
      await commit();
      joined.committed();
      expect(heard).toBeGreaterThan(0);
      stop();
    }));

  test('the feed has what was committed, and nothing of what was rolled back', () =>
    within(async ({ store, begin, commit, rollBack }) => {
      await store.commit([put(resourceOf('Patient', 'ann'))]);
      let { position } = await store.changes!({ project: PROJECT });
      const news = async (): Promise<unknown> => {
        const page = await store.changes!({ project: PROJECT, after: position });
        position = page.position;
        return [page.isReset, page.changes.map(({ key }) => key.id)];
      };
      const first = await begin();
      await first.commit([put(resourceOf('Patient', 'lost'))]);
      expect(await news()).toEqual([false, []]);
      await rollBack();
      expect(await news()).toEqual([false, []]);
      const second = await begin();
      await second.commit([put(resourceOf('Patient', 'ben'))]);
      await second.commit([put(resourceOf('Patient', 'eve'))]);
      expect(await news()).toEqual([false, []]);
      await commit();
      expect(await news()).toEqual([false, ['ben', 'eve']]);
    }));

  test('nothing is erased within it', () =>
    within(async (world) => {
      const joined = await world.begin();
      const erase = { kind: 'erase', key: keyOf('Patient', 'ann'), reason: 'patient-request' } as const;
      await expect(joined.commit([erase])).rejects.toMatchObject({ code: 'unsupported' });
      expect(joined.removal).toBeUndefined();
      await world.rollBack();
    }));

  test(`random transactions equal a store that saw only the committed ones (seed ${SEED})`, () =>
    within(async (world) => {
      const random = createRandom(SEED);
      const pick = <Item>(items: readonly Item[]): Item => items[Math.floor(random() * items.length)]!;
      const twin = new MemoryStore();
      const types = ['Patient', 'Observation', 'Basic'] as const;
      let written = 0;
      const write = () => {
        const id = `r${Math.floor(random() * 6)}`;
        // New systems, codes and shapes each time, so that their numbers are used again after a rollback.
        const coding = [{ system: `urn:s${written % 11}`, code: `c${written++ % 17}` }];
        const elements = random() < 0.5 ? { identifier: [{ value: `i${written % 5}` }] } : { code: { coding } };
        const type = pick(types);
        if (random() < 0.2) return { kind: 'delete', key: keyOf(type, id) } as const;
        return put(
          resourceOf(type, id, type === 'Patient' ? { identifier: [{ value: `i${written % 5}` }] } : elements),
        );
      };
      const same = async (store: ResourceStore): Promise<void> => {
        const keys = types.flatMap((type) => Array.from({ length: 6 }, (_, at) => keyOf(type, `r${at}`)));
        const content = async (one: ResourceStore): Promise<unknown[]> => {
          const found = await one.read(keys);
          const searched = await Promise.all(
            types.map(async (type) => {
              const test = { kind: 'token', code: `i${written % 5}` } as const;
              const query = queryOf(type, { kind: 'match', parameter: 'identifier', test });
              return (await one.search(query)).matches.map(({ resource }) => resource.id);
            }),
          );
          return [
            found.map((result) => (result.status === 'found' ? { ...result.resource, meta: undefined } : 'none')),
            searched,
          ];
        };
        expect(await content(store)).toEqual(await content(twin));
      };
      for (let round = 0; round < cases(5, 8); round++) {
        const joined = await world.begin();
        const kept: ReturnType<typeof write>[] = [];
        for (let step = 0; step < 4; step++) {
          const isUndone = random() < 0.3;
          if (isUndone) await world.mark();
          const one = write();
          await joined.commit([one]);
          // What is read here must not be remembered where it is undone.
          await joined.read([one.key, one.key]);
          await joined.read([one.key]);
          if (isUndone) await world.undo();
          else kept.push(one);
        }
        if (random() < 0.5) {
          await world.rollBack();
        } else {
          await world.commit();
          joined.committed();
          for (const one of kept) await twin.commit([one]);
        }
        await same(world.store);
        const alone = write();
        await world.store.commit([alone]);
        await twin.commit([alone]);
        await same(world.store);
      }
    }));
}
