import type { Patient } from '@medplum/fhirtypes';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type JsonPatchOperation, MemoryStore } from '../../src/index.js';
import { applyJsonPatch } from '../../src/fhir/json-patch.js';
import { codeOf, faultOf, overStores, system } from './harness.js';

const PATIENT: Patient = {
  resourceType: 'Patient',
  id: 'p',
  active: true,
  name: [{ family: 'A', given: ['B', 'C'] }, { family: 'D' }],
};

overStores('a patch', (open) => {
  test('changes the named elements, in one version', async () => {
    const repository = await system(open());
    const { id } = await repository.create(PATIENT);
    const patched = await repository.patch('Patient', id, [
      { op: 'test', path: '/name/0/family', value: 'A' },
      { op: 'replace', path: '/name/0/family', value: 'E' },
      { op: 'add', path: '/name/0/given/1', value: 'F' },
      { op: 'remove', path: '/name/1' },
      { op: 'add', path: '/birthDate', value: '2001' },
      { op: 'copy', from: '/name/0/given/0', path: '/name/0/given/-' },
      { op: 'move', from: '/name/0/given/0', path: '/name/0/text' },
    ]);
    expect(patched).toMatchObject({
      active: true,
      birthDate: '2001',
      name: [{ family: 'E', given: ['F', 'C', 'B'], text: 'B' }],
      meta: { versionId: '2' },
    });
    expect(await repository.read('Patient', id)).toEqual(patched);
  });

  test('takes effect as a whole or not at all', async () => {
    const repository = await system(open());
    const { id } = await repository.create(PATIENT);
    const fault = await faultOf(
      repository.patch('Patient', id, [
        { op: 'remove', path: '/active' },
        { op: 'test', path: '/name/0/family', value: 'Z' },
      ]),
    );
    expect(fault).toMatchObject({ code: 'unprocessable', status: 422 });
    expect(fault.message).toBe('Operation 1 of the patch, a test of "/name/0/family", does not hold');
    expect(await repository.read('Patient', id)).toMatchObject({ active: true, meta: { versionId: '1' } });
  });
});

describe('applying a patch', () => {
  test.each<[string, string, unknown]>([
    ['no list', 'invalid', { op: 'remove', path: '/active' }],
    ['an invalid operation', 'invalid', [null]],
    ['an unknown operation', 'invalid', [{ op: 'merge', path: '/active', value: 1 }]],
    ['an operation without path', 'invalid', [{ op: 'remove' }]],
    ['a path that is not text', 'invalid', [{ op: 'remove', path: ['active'] }]],
    ['a path that is not a pointer', 'invalid', [{ op: 'remove', path: 'active' }]],
    ['a broken escape', 'invalid', [{ op: 'remove', path: '/a~2' }]],
    ['an add without value', 'invalid', [{ op: 'add', path: '/active' }]],
    ['a value by inheritance', 'invalid', [Object.assign(Object.create({ value: 1 }), { op: 'add', path: '/active' })]],
    ['a move without from', 'invalid', [{ op: 'move', path: '/active' }]],
    ['another type', 'invalid', [{ op: 'replace', path: '/resourceType', value: 'Observation' }]],
    ['another id', 'invalid', [{ op: 'replace', path: '/id', value: 'q' }]],
    ['no id', 'invalid', [{ op: 'remove', path: '/id' }]],
    ['a move into itself', 'invalid', [{ op: 'move', from: '/name/0', path: '/name/0/given' }]],
    ['a prototype', 'invalid', [{ op: 'add', path: '/__proto__/polluted', value: 1 }]],
    ['a prototype as member', 'invalid', [{ op: 'add', path: '/__proto__', value: { polluted: 1 } }]],
    ['a constructor', 'invalid', [{ op: 'add', path: '/constructor/prototype/polluted', value: 1 }]],
    ['a copy of a prototype', 'invalid', [{ op: 'copy', from: '/__proto__', path: '/extension' }]],
    ['the whole', 'unprocessable', [{ op: 'replace', path: '', value: {} }]],
    ['the whole, removed', 'unprocessable', [{ op: 'remove', path: '' }]],
    ['nothing, removed', 'unprocessable', [{ op: 'remove', path: '/birthDate' }]],
    ['nothing, replaced', 'unprocessable', [{ op: 'replace', path: '/birthDate', value: '2001' }]],
    ['nothing, tested', 'unprocessable', [{ op: 'test', path: '/birthDate', value: null }]],
    ['a member of nothing', 'unprocessable', [{ op: 'add', path: '/contact/0/gender', value: 'male' }]],
    ['a member of a text', 'unprocessable', [{ op: 'add', path: '/name/0/family/x', value: 1 }]],
    ['an item beyond the end', 'unprocessable', [{ op: 'add', path: '/name/3', value: {} }]],
    ['an index with zeros', 'unprocessable', [{ op: 'remove', path: '/name/00' }]],
    ['an index that is none', 'unprocessable', [{ op: 'replace', path: '/name/x', value: {} }]],
    ['the length of a list', 'unprocessable', [{ op: 'remove', path: '/name/length' }]],
    ['an inherited member', 'unprocessable', [{ op: 'copy', from: '/toString', path: '/language' }]],
    ['the place after the end, removed', 'unprocessable', [{ op: 'remove', path: '/name/-' }]],
    ['a move from nowhere', 'unprocessable', [{ op: 'move', from: '/contact', path: '/name' }]],
    ['a move beyond the end', 'unprocessable', [{ op: 'move', from: '/name/0', path: '/name/2' }]],
  ])('refuses %s', (_, code, operations) => {
    expect(() => applyJsonPatch(PATIENT, operations)).toThrow(expect.objectContaining({ code }));
    expect(({} as { polluted?: number }).polluted).toBeUndefined();
  });

  test.each<[string, string, unknown]>([
    ['too many operations', 'too-costly', Array.from({ length: 1001 }, () => ({ op: 'test', path: '', value: {} }))],
    [
      'copies that double',
      'too-costly',
      [
        { op: 'add', path: '/extension', value: [{ url: 'x'.repeat(1000) }] },
        ...Array.from({ length: 40 }, (_, index) => ({
          op: 'copy',
          from: '/extension',
          path: `/extension/0/${index}`,
        })),
      ],
    ],
    [
      'copies that nest',
      'invalid',
      [
        { op: 'add', path: '/a', value: {} },
        ...Array.from({ length: 40 }, () => ({ op: 'copy', from: '', path: '/a/a' })).map((copy, index) => ({
          ...copy,
          path: '/a'.repeat(index + 2),
        })),
      ],
    ],
    ['a deep value', 'invalid', [{ op: 'add', path: '/x', value: JSON.parse('['.repeat(5000) + ']'.repeat(5000)) }]],
  ])('ends early with %s', (_, code, operations) => {
    expect(() => applyJsonPatch(PATIENT, operations)).toThrow(expect.objectContaining({ code }));
  });

  test('never shows values in an error', async () => {
    const repository = await system(new MemoryStore());
    const { id } = await repository.create({ resourceType: 'Patient', name: [{ family: 'Topsecret' }] });
    const operations: JsonPatchOperation[] = [{ op: 'test', path: '/name/0/family', value: 'Guessed' }];
    const fault = await faultOf(repository.patch('Patient', id, operations));
    expect(JSON.stringify([fault.message, fault.outcome, fault])).not.toMatch(/Topsecret|Guessed/);
  });

  test('compares in a test like JSON, with any order of members', () => {
    const test = { op: 'test', path: '/name/0', value: { given: ['B', 'C'], family: 'A' } };
    expect(applyJsonPatch(PATIENT, [test])).toEqual(PATIENT);
    expect(() => applyJsonPatch(PATIENT, [{ ...test, value: { given: ['C', 'B'], family: 'A' } }])).toThrow(
      expect.objectContaining({ code: 'unprocessable' }),
    );
  });

  test('does not change the given resource, and shares nothing with the patch', () => {
    const before = structuredClone(PATIENT);
    const name = { family: 'New' };
    const patched = applyJsonPatch(PATIENT, [{ op: 'add', path: '/name/-', value: name }]) as Patient;
    name.family = 'Changed';
    expect(patched.name![2]).toEqual({ family: 'New' });
    expect(PATIENT).toEqual(before);
  });

  test('add, then remove, of any value at any position restores the resource', () => {
    fc.assert(
      fc.property(
        fc.array(fc.record({ family: fc.string() }), { maxLength: 4 }),
        fc.nat(4),
        // As it is after a trip through text, which knows no -0.
        fc.jsonValue({ maxDepth: 3 }).map((value): unknown => JSON.parse(JSON.stringify(value))),
        (name, index, value) => {
          fc.pre(index <= name.length && !JSON.stringify(value).includes('__proto__'));
          const resource = { resourceType: 'Patient', id: 'p', name };
          const path = `/name/${index}`;
          const grown = applyJsonPatch(resource, [{ op: 'add', path, value }]) as unknown as { name: unknown[] };
          expect(grown.name).toEqual(JSON.parse(JSON.stringify(name.toSpliced(index, 0, value as never))));
          expect(applyJsonPatch(grown as never, [{ op: 'remove', path }])).toEqual(resource);
        },
      ),
    );
  });
});

test('a patch of a missing resource is not found', async () => {
  const repository = await system(new MemoryStore());
  expect(await codeOf(repository.patch('Patient', 'none', []))).toBe('not-found');
});
