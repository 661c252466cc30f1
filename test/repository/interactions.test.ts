import type { Patient } from '@medplum/fhirtypes';
import { describe, expect, test } from 'vitest';
import { createRepository, MemoryStore } from '../../src/index.js';
import { codeOf, faultOf, overStores, system } from './harness.js';

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

overStores('a repository', (open) => {
  test('creates under a new id, whatever id the resource has', async () => {
    const repository = await system(open());
    const patient = await repository.create({ resourceType: 'Patient', id: 'mine', active: true });
    expect(patient.id).toMatch(UUID);
    expect(patient).toMatchObject({
      resourceType: 'Patient',
      active: true,
      meta: { versionId: '1' },
    });
    expect(await repository.read('Patient', patient.id)).toEqual(patient);
    expect(await codeOf(repository.read('Patient', 'mine'))).toBe('not-found');
  });

  test('keeps every version', async () => {
    const repository = await system(open());
    const first = await repository.create<Patient>({ resourceType: 'Patient', gender: 'female' });
    const second = await repository.update({ ...first, gender: 'other' });
    expect(second.meta.versionId).toBe('2');
    expect(await repository.read('Patient', first.id)).toMatchObject({ gender: 'other' });
    expect(await repository.vread('Patient', first.id, '1')).toEqual(first);
    expect(await repository.vread('Patient', first.id, '2')).toEqual(second);
    expect(await codeOf(repository.vread('Patient', first.id, '3'))).toBe('not-found');
    expect(await codeOf(repository.vread('Patient', first.id, 'W/"1"'))).toBe('not-found');
  });

  test('creates an unknown resource by update', async () => {
    const repository = await system(open());
    expect(await repository.update({ resourceType: 'Patient', id: 'known' })).toMatchObject({
      id: 'known',
      meta: { versionId: '1' },
    });
    expect(await codeOf(repository.update({ resourceType: 'Patient' }))).toBe('invalid');
    expect(await codeOf(repository.update({ resourceType: 'Patient', id: 'no id/../' }))).toBe('invalid');
  });

  test('deletes softly: gone, its versions kept, and the resource can be created again', async () => {
    const repository = await system(open());
    const { id } = await repository.create({ resourceType: 'Patient' });
    await repository.delete('Patient', id);
    expect(await codeOf(repository.read('Patient', id))).toBe('gone');
    expect(await codeOf(repository.patch('Patient', id, []))).toBe('gone');
    expect(await codeOf(repository.vread('Patient', id, '2'))).toBe('gone');
    expect(await repository.vread('Patient', id, '1')).toMatchObject({ id });
    await repository.delete('Patient', id);
    expect((await repository.history('Patient', id)).total).toBe(2);
    expect((await repository.search('Patient')).entry).toBeUndefined();
    expect((await repository.update({ resourceType: 'Patient', id })).meta.versionId).toBe('3');
    expect(await codeOf(repository.delete('Patient', 'never-there'))).toBe('not-found');
  });

  test('accepts a version in each form of ifMatch, and refuses any other version', async () => {
    const repository = await system(open());
    const patient = await repository.create({ resourceType: 'Patient' });
    for (const [ifMatch, version] of [
      ['1', '2'],
      ['"2"', '3'],
      ['W/"3"', '4'],
    ] as const) {
      expect((await repository.update(patient, { ifMatch })).meta.versionId).toBe(version);
    }
    expect(await codeOf(repository.update(patient, { ifMatch: 'W/"1"' }))).toBe('precondition-failed');
    expect(await codeOf(repository.patch('Patient', patient.id, [], { ifMatch: '1' }))).toBe('precondition-failed');
    expect(await codeOf(repository.delete('Patient', patient.id, { ifMatch: '1' }))).toBe('precondition-failed');
    expect(await codeOf(repository.update(patient, { ifMatch: 'W/4' }))).toBe('invalid');
    expect(await codeOf(repository.update({ resourceType: 'Patient', id: 'new' }, { ifMatch: '1' }))).toBe(
      'precondition-failed',
    );
    expect((await repository.read('Patient', patient.id)).meta.versionId).toBe('4');
    await repository.delete('Patient', patient.id, { ifMatch: '4' });
    expect(await codeOf(repository.read('Patient', patient.id))).toBe('gone');
  });

  test('accepts one of many updates of the same version', async () => {
    const repository = await system(open());
    const patient = await repository.create({ resourceType: 'Patient' });
    const outcomes = await Promise.allSettled(
      Array.from({ length: 10 }, (_, index) =>
        repository.update({ ...patient, multipleBirthInteger: index }, { ifMatch: '1' }),
      ),
    );
    expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    expect((await repository.history('Patient', patient.id)).total).toBe(2);
  });

  test('loses none of many concurrent patches', async () => {
    const repository = await system(open());
    const { id } = await repository.create({ resourceType: 'Patient', name: [] as { family: string }[] });
    await Promise.all(
      ['A', 'B', 'C', 'D'].map((family) =>
        repository.patch('Patient', id, [{ op: 'add', path: '/name/-', value: { family } }]),
      ),
    );
    const { name } = await repository.read('Patient', id);
    expect(name!.map(({ family }) => family).sort()).toEqual(['A', 'B', 'C', 'D']);
  });

  test('creates once under a condition, also in a race', async () => {
    const repository = await system(open());
    const create = (): Promise<Patient> =>
      repository.create<Patient>(
        { resourceType: 'Patient', identifier: [{ system: 'http://x', value: '1' }] },
        { ifNoneExist: 'identifier=http://x|1' },
      );
    const made = await Promise.all([create(), create(), create()]);
    expect(new Set(made.map(({ id }) => id)).size).toBe(1);
    expect(await create()).toEqual(made[0]);
    await repository.create({ resourceType: 'Patient', identifier: [{ system: 'http://x', value: '1' }] });
    expect(await codeOf(create())).toBe('precondition-failed');
    expect(await codeOf(repository.create({ resourceType: 'Patient' }, { ifNoneExist: '' }))).toBe('invalid');
    expect(await codeOf(repository.create({ resourceType: 'Patient' }, { ifNoneExist: 'colour=red' }))).toBe('invalid');
    // The result of a web framework for a query string that names the parameter twice, or with brackets.
    for (const ifNoneExist of [['name=x'], { name: 'x' }, 5, null] as unknown as string[]) {
      expect(await codeOf(repository.create({ resourceType: 'Patient' }, { ifNoneExist }))).toBe('invalid');
    }
    for (const type of [['Patient'], { a: 1 }] as unknown as 'Patient'[]) {
      expect(await codeOf(repository.search(type, 'name=x'))).toBe('invalid');
      expect(await codeOf(repository.read(type, 'x'))).toBe('invalid');
    }
  });

  test('returns copies that the host can change', async () => {
    const repository = await system(open());
    const given: Patient = { resourceType: 'Patient', name: [{ family: 'Before' }] };
    const created = await repository.create(given);
    created.name![0]!.family = 'Changed';
    given.name![0]!.family = 'Changed';
    const read = await repository.read('Patient', created.id);
    read.name!.push({ family: 'Changed' });
    const found = await repository.search('Patient');
    found.entry![0]!.resource!.name![0]!.family = 'Changed';
    const versions = await repository.history('Patient', created.id);
    versions.entry![0]!.resource!.name![0]!.family = 'Changed';
    expect((await repository.read('Patient', created.id)).name).toEqual([{ family: 'Before' }]);
  });
});

describe('a repository', () => {
  test('needs a caller', () => {
    const store = new MemoryStore();
    const forged = { kind: 'system', project: 'clinic' } as const;
    for (const caller of [undefined, null, forged]) {
      expect(() => createRepository({ store, caller: caller as never })).toThrow(/caller/i);
    }
  });

  test.each([
    ['null', null],
    ['a text', 'Patient'],
    ['a list', []],
    ['no type', {}],
    ['an unknown type', { resourceType: 'Pateint' }],
    ['a data type', { resourceType: 'HumanName' }],
    ['an abstract type', { resourceType: 'DomainResource' }],
    ['a type by inheritance', Object.create({ resourceType: 'Patient' })],
    ['a member __proto__', JSON.parse('{"resourceType":"Patient","id":"x","__proto__":{"active":true}}')],
    ['a meta that is a list', { resourceType: 'Patient', id: 'x', meta: [] }],
  ])('refuses to store %s', async (_, resource) => {
    const repository = await system(new MemoryStore());
    expect(await codeOf(repository.create(resource as never))).toBe('invalid');
    expect(await codeOf(repository.update(resource as never))).toBe('invalid');
  });

  test('rejects an unknown type and finds nothing under an invalid id', async () => {
    const repository = await system(new MemoryStore());
    for (const type of ['Pateint', '__proto__', 'constructor', '']) {
      expect(await codeOf(repository.read(type as never, '1'))).toBe('invalid');
      expect(await codeOf(repository.search(type as never))).toBe('invalid');
      expect(await codeOf(repository.delete(type as never, '1'))).toBe('invalid');
    }
    for (const id of ['../1', 'a b', '', undefined as never, {} as never, 'x'.repeat(65)]) {
      expect(await codeOf(repository.read('Patient', id))).toBe('not-found');
      expect(await codeOf(repository.history('Patient', id))).toBe('not-found');
      expect(await codeOf(repository.delete('Patient', id))).toBe('not-found');
    }
  });

  test('validates resources against the definitions if the project is strict', async () => {
    const repository = await system(new MemoryStore(), 'clinic', { strictMode: true });
    const fault = await faultOf(repository.create({ resourceType: 'Patient', colour: 'red', gender: 'x' } as never));
    expect(fault.code).toBe('unprocessable');
    expect(fault.issues.map(({ expression }) => expression?.[0])).toEqual(['Patient.colour', 'Patient.gender']);
    const { id } = await repository.create({ resourceType: 'Patient' });
    expect(await codeOf(repository.patch('Patient', id, [{ op: 'add', path: '/gender', value: 'x' }]))).toBe(
      'unprocessable',
    );
    expect((await repository.read('Patient', id)).meta.versionId).toBe('1');
  });

  test('ends early by its signal', async () => {
    const repository = await system(new MemoryStore(), 'clinic', { signal: AbortSignal.abort() });
    expect(await codeOf(repository.read('Patient', '1'))).toBe('aborted');
    expect(await codeOf(repository.create({ resourceType: 'Patient' }))).toBe('aborted');
    expect(await codeOf(repository.search('Patient'))).toBe('aborted');
  });
});
