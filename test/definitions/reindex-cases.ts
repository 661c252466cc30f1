import { describe, expect, test } from 'vitest';
import { extendDefinitions, R4 } from '../../src/definitions.js';
import type { FhirModel, ReindexOptions } from '../../src/store.js';
import { createRepository, executeFhirGraphql, systemCaller, type ResourceStore } from '../../src/index.js';
import { signedIn, system } from '../repository/harness.js';
import { EXTENSIONS, searchParameter } from './search-parameters.js';

type Store = ResourceStore & { reindex(options: ReindexOptions): Promise<number> };
export type OpenStore = (model: FhirModel) => Store;

export const ward = (expression: string) =>
  searchParameter({ code: 'ward', base: 'Patient', type: 'token', expression });
const WARD = `Patient.extension('${EXTENSIONS}ward').value.ofType(code)`;
export const OLD_WARD = `Patient.extension('${EXTENSIONS}old-ward').value.ofType(code)`;

export const model = await extendDefinitions(R4, { searchParameters: [ward(WARD)], words: ['Organization.name'] });

export async function fill(store: Store): Promise<void> {
  const trusted = await system(store);
  await trusted.update({ resourceType: 'Organization', id: 'bern', name: 'General Hospital' });
  for (const [id, code, former] of [
    ['ann', 'a', 'b'],
    ['bob', 'b', 'a'],
    ['cid', undefined, undefined],
  ] as const) {
    const extension = [
      ...(code === undefined ? [] : [{ url: `${EXTENSIONS}ward`, valueCode: code }]),
      ...(former === undefined ? [] : [{ url: `${EXTENSIONS}old-ward`, valueCode: former }]),
    ];
    await trusted.update({
      resourceType: 'Patient',
      id,
      gender: 'female',
      ...(extension.length === 0 ? {} : { extension }),
    });
    const subject = { reference: `Patient/${id}` };
    await trusted.update({
      resourceType: 'Observation',
      id: `of-${id}`,
      status: 'final',
      code: { text: 'x' },
      subject,
    });
  }
}

/** Every way to search for the ward, and the answer. */
export const QUESTIONS: readonly (readonly ['Patient' | 'Observation' | 'Organization', string, readonly string[]])[] =
  [
    ['Patient', 'ward=a', ['ann']],
    ['Patient', 'ward:not=a', ['bob', 'cid']],
    ['Patient', 'ward:missing=true', ['cid']],
    ['Patient', '_sort=-ward', ['bob', 'ann', 'cid']],
    ['Patient', '_filter=ward eq b', ['bob']],
    ['Observation', 'subject:Patient.ward=a', ['of-ann']],
    ['Organization', 'name=hospital', ['bern']],
  ];

export async function found(store: ResourceStore, [type, query]: (typeof QUESTIONS)[number]): Promise<unknown> {
  const { entry = [] } = await createRepository({ store, caller: systemCaller('clinic') }).search(type, query);
  return entry.map(({ resource }) => resource!.id);
}

/** A database that is opened with new parameters. */
export function describeNewParameters(name: string, openDatabase: () => Promise<OpenStore>): void {
  describe(`a ${name} database that is opened with new parameters`, () => {
    test('answers unavailable, never an empty list, until their index is complete', async () => {
      const open = await openDatabase();
      const former = open(R4);
      await fill(former);
      const store = open(model);
      for (const question of QUESTIONS) {
        await expect(found(store, question), question[1]).rejects.toMatchObject({ code: 'unavailable' });
      }
      // Nothing else is pending.
      expect(await found(store, ['Patient', 'gender=female', []])).toEqual(['ann', 'bob', 'cid']);
      expect(await found(store, ['Organization', 'address=x', []])).toEqual([]);
      const graphql = await executeFhirGraphql('{ PatientList(ward: "a") { id } }', {
        store,
        caller: systemCaller('clinic'),
      });
      expect(graphql.errors?.[0]).toMatchObject({ extensions: { code: 'unavailable' } });
      expect(graphql.data).toEqual({ PatientList: null });
      const repository = createRepository({ store, caller: systemCaller('clinic') });
      const conditional = repository.create({ resourceType: 'Patient' }, { ifNoneExist: 'ward=a' });
      await expect(conditional).rejects.toMatchObject({ code: 'unavailable' });
      const rules = [{ resourceType: 'Patient', criteria: 'Patient?ward=a' }];
      await expect(signedIn(store, { rules })).rejects.toMatchObject({ code: 'unavailable' });

      await store.reindex({ pendingOnly: true });
      for (const question of QUESTIONS) expect(await found(store, question), question[1]).toEqual(question[2]);
      expect(await signedIn(store, { rules })).toBeDefined();
      // The process with the former definitions can read, but cannot write rows without the parameter.
      expect(await found(former, ['Patient', 'gender=female', []])).toEqual(['ann', 'bob', 'cid']);
      const late = createRepository({ store: former, caller: systemCaller('clinic') });
      await expect(late.create({ resourceType: 'Patient' })).rejects.toMatchObject({ code: 'unavailable' });
    });

    test('reindexes a changed parameter, and drops a removed parameter', async () => {
      const open = await openDatabase();
      const store = open(model);
      await fill(store);
      expect(await found(store, QUESTIONS[0]!)).toEqual(['ann']);
      const changed = open(
        await extendDefinitions(R4, { searchParameters: [ward(OLD_WARD)], words: ['Organization.name'] }),
      );
      await expect(found(changed, QUESTIONS[0]!)).rejects.toMatchObject({ code: 'unavailable' });
      expect(await found(changed, QUESTIONS.at(-1)!)).toEqual(['bern']);
      await changed.reindex({ pendingOnly: true });
      expect(await found(changed, QUESTIONS[0]!)).toEqual(['bob']);
      const plain = open(R4);
      await expect(found(plain, QUESTIONS[0]!)).rejects.toMatchObject({ code: 'invalid' });
      await plain.reindex({ pendingOnly: true });
      expect(await found(plain, ['Organization', 'name=hospital', []])).toEqual([]);
      expect(await found(plain, ['Organization', 'name=general', []])).toEqual(['bern']);
      const { problems } = await (plain as unknown as { verify(): Promise<{ problems: unknown[] }> }).verify();
      expect(problems).toEqual([]);
    });
  });
}
