import assert from 'node:assert/strict';
import { elementsOf } from '../../fhir/resource.js';
import { type ConformanceSuite, keyOf, PROJECT, put, putAll, queryOf, resourceOf } from '../conformance-case.js';

/** `read` and the isolation of projects. */
export const readingSuite: ConformanceSuite = {
  name: 'reading',
  cases: [
    {
      name: 'gives one result per key, in order, repeated and absent keys included',
      async run(store) {
        await putAll(store, resourceOf('Patient', 'a'), resourceOf('Patient', 'b'), resourceOf('Group', 'a'));
        const keys = [
          keyOf('Patient', 'b'),
          keyOf('Patient', 'x'),
          keyOf('Group', 'a'),
          keyOf('Group', 'b'),
          keyOf('Patient', 'b'),
        ];
        const results = await store.read(keys);
        const found = results.map((one) =>
          one.status === 'found' ? `${one.resource.resourceType}/${one.resource.id!}` : one.status,
        );
        assert.deepEqual(found, ['Patient/b', 'missing', 'Group/a', 'missing', 'Patient/b']);
      },
    },
    {
      name: 'answers no keys with no results',
      async run(store) {
        assert.deepEqual(await store.read([]), []);
      },
    },
    {
      name: 'gives the resource as it was written, with its version and instant in meta',
      async run(store) {
        const meta = { profile: ['http://example.org/p'], versionId: 'mine', tag: [{ code: 't' }] };
        const written = resourceOf('Patient', 'a', {
          meta,
          name: [{ family: 'Müller "quoted" \\ \u2028 𝒳', given: ['A', null, 'B'], _given: [null, { id: 'x' }, null] }],
          active: false,
          extension: [{ url: 'http://example.org/e', valueDecimal: 0.1 }],
        });
        await putAll(store, written);
        const [result] = await store.read([keyOf('Patient', 'a')]);
        assert.equal(result?.status, 'found');
        const { versionId, lastUpdated, resource } = result;
        assert.deepEqual(resource, { ...written, meta: { ...meta, versionId, lastUpdated } });
        assert.equal(new Date(lastUpdated).toISOString(), lastUpdated);
      },
    },
    {
      // Optional: a store may leave out elements that a call does not name.
      name: 'gives the elements that a call names, with type, id, version and instant',
      async run(store) {
        const patient = resourceOf('Patient', 'a', {
          text: { status: 'empty', div: '\n"gender":"male",\n' },
          gender: 'female',
          _birthDate: { id: 'b' },
          contact: [{ gender: 'male' }],
        });
        await putAll(store, patient);
        await putAll(store, resourceOf('Observation', 'o', { subject: { reference: 'Patient/a' }, status: 'final' }));
        const [whole] = await store.read([keyOf('Patient', 'a')]);
        assert.equal(whole?.status, 'found');
        const { gender, _birthDate: sibling } = elementsOf(whole.resource);
        const elements = ['gender', '_birthDate'];
        const [read] = await store.read([{ ...keyOf('Patient', 'a'), elements }]);
        assert.equal(read?.status, 'found');
        const { matches } = await store.search({ ...queryOf('Patient'), elements });
        for (const { versionId, lastUpdated, resource } of [read, ...matches]) {
          assert.deepEqual([versionId, lastUpdated], [whole.versionId, whole.lastUpdated]);
          const { resourceType, id, ...others } = elementsOf(resource);
          assert.deepEqual(
            [resourceType, id, others['gender'], others['_birthDate']],
            ['Patient', 'a', gender, sibling],
          );
          for (const name of Object.keys(others)) {
            assert.deepEqual(others[name], elementsOf(whole.resource)[name], name);
          }
        }
        const reverse = { ...queryOf('Observation'), elements: ['status'] };
        const [page] = await store.searchByReference(reverse, 'subject', [{ type: 'Patient', id: 'a' }]);
        const [observation] = page!.matches;
        assert.equal(elementsOf(observation!.resource)['status'], 'final');
      },
    },
    {
      name: 'gives many resources at once',
      async run(store) {
        const ids = Array.from({ length: 300 }, (_, index) => `p${index}`);
        await putAll(store, ...ids.map((id) => resourceOf('Patient', id)));
        const results = await store.read(ids.map((id) => keyOf('Patient', id)));
        assert.deepEqual(
          results.map((one) => (one.status === 'found' ? one.resource.id : one.status)),
          ids,
        );
      },
    },
    {
      name: 'gives the version asked for, also after it was replaced or deleted',
      async run(store) {
        await putAll(store, resourceOf('Patient', 'a', { gender: 'male' }));
        await putAll(store, resourceOf('Patient', 'a', { gender: 'female' }));
        await store.commit([{ kind: 'delete', key: keyOf('Patient', 'a') }]);
        const { entries } = await store.history(keyOf('Patient', 'a'), { offset: 0, limit: 10 });
        const versions = entries.map(({ versionId }) => ({ ...keyOf('Patient', 'a'), version: versionId }));
        const [deletion, second, first] = await store.read(versions);
        assert.equal(deletion?.status, 'gone');
        assert.equal(second?.status === 'found' && (second.resource as { gender?: string }).gender, 'female');
        assert.equal(first?.status === 'found' && (first.resource as { gender?: string }).gender, 'male');
      },
    },
    {
      name: 'knows no version that was never written',
      async run(store) {
        await putAll(store, resourceOf('Patient', 'a'));
        const versions = ['0', '2', '01', '1.0', '-1', '1e0', 'x', '', '99999999999999999999'];
        const results = await store.read(versions.map((version) => ({ ...keyOf('Patient', 'a'), version })));
        assert.deepEqual(
          results,
          versions.map(() => ({ status: 'missing' })),
        );
      },
    },
    {
      name: 'distinguishes a deleted resource from one that never was',
      async run(store) {
        await putAll(store, resourceOf('Patient', 'a'));
        const [deletion] = await store.commit([{ kind: 'delete', key: keyOf('Patient', 'a') }]);
        const [gone, missing] = await store.read([keyOf('Patient', 'a'), keyOf('Patient', 'b')]);
        assert.equal(gone?.status, 'gone');
        assert.equal(gone.versionId, deletion?.kind === 'delete' && deletion.versionId);
        assert.deepEqual(missing, { status: 'missing' });
      },
    },
    {
      name: 'takes a resource that is only referred to as missing',
      async run(store) {
        await putAll(store, resourceOf('Observation', 'o', { subject: { reference: 'Patient/a' } }));
        assert.deepEqual(await store.read([keyOf('Patient', 'a')]), [{ status: 'missing' }]);
        assert.deepEqual(await store.history(keyOf('Patient', 'a'), { offset: 0, limit: 9 }), {
          entries: [],
          total: 0,
        });
        assert.deepEqual(await store.search(queryOf('Patient', undefined, { total: true })), { matches: [], total: 0 });
      },
    },
    {
      name: 'keeps projects apart, whatever their names',
      async run(store) {
        const projects = [PROJECT, '', `${PROJECT}2`, 'a/b', "it's", 'a\0b', '__proto__', '1:a'];
        for (const project of projects) {
          await store.commit([put(resourceOf('Patient', 'a', { language: project }), {}, project)]);
        }
        const results = await store.read([...projects, 'other'].map((project) => keyOf('Patient', 'a', project)));
        assert.deepEqual(
          results.map((one) =>
            one.status === 'found' ? (one.resource as { language?: string }).language : one.status,
          ),
          [...projects, 'missing'],
        );
        for (const project of projects) {
          const page = await store.search({ ...queryOf('Patient'), project, total: true });
          assert.equal(page.total, 1);
          assert.equal((page.matches[0]?.resource as { language?: string }).language, project);
        }
      },
    },
    {
      name: 'keeps keys apart whose parts run together alike',
      async run(store) {
        const keys = [
          keyOf('ab', 'c', 'p'),
          keyOf('a', 'bc', 'p'),
          keyOf('b', 'c', 'pa'),
          keyOf('__proto__', 'constructor', 'p'),
        ];
        await store.commit([put({ resourceType: 'ab', id: 'c' }, {}, 'p')]);
        const results = await store.read(keys);
        assert.deepEqual(
          results.map(({ status }) => status),
          ['found', 'missing', 'missing', 'missing'],
        );
      },
    },
  ],
};
