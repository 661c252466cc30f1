import { expect, test } from 'vitest';
import { overStores } from '../../repository/harness.js';
import { failures, messages } from '../harness.js';
import { openClinic } from './harness.js';

const SELECTION = '{ active gender name { family given } telecom { value } meta { versionId } }';

overStores('patches', (open) => {
  async function patched(patch: string, variables = {}, declared = '') {
    const clinic = await openClinic(open());
    await clinic.trusted.update({
      resourceType: 'Patient',
      id: 'p',
      gender: 'female',
      name: [{ family: 'Hill', given: ['Ann', 'Bea'] }],
    });
    const result = await clinic.ask(
      `mutation ${declared} { PatientPatch(id: "p", patch: ${patch}) ${SELECTION} }`,
      variables,
    );
    const { id: _id, meta, ...content } = await clinic.trusted.read('Patient', 'p');
    return { result, content, version: meta.versionId };
  }

  const before = { resourceType: 'Patient', gender: 'female', name: [{ family: 'Hill', given: ['Ann', 'Bea'] }] };

  test.each<[string, object]>([
    ['[{ op: "add", path: "/active", value: true }]', { active: true }],
    ['[{ op: add, path: "/telecom", value: [{ value: "1" }] }]', { telecom: [{ value: '1' }] }],
    [
      '{ op: add, path: "/name/0/given/-", value: "Cleo" }',
      { name: [{ family: 'Hill', given: ['Ann', 'Bea', 'Cleo'] }] },
    ],
    ['{ op: replace, path: "/name/0", value: { family: "Dale" } }', { name: [{ family: 'Dale' }] }],
    ['{ op: remove, path: "/gender" }', { gender: undefined }],
    [
      '{ op: copy, from: "/name/0/given/0", path: "/name/0/family" }',
      { name: [{ family: 'Ann', given: ['Ann', 'Bea'] }] },
    ],
    [
      '{ op: move, from: "/name/0/given/0", path: "/name/0/given/1" }',
      { name: [{ family: 'Hill', given: ['Bea', 'Ann'] }] },
    ],
    [
      '[{ op: test, path: "/gender", value: "female" }, { op: replace, path: "/gender", value: "other" }]',
      { gender: 'other' },
    ],
    ['[{ op: test, path: "/name/0/given", value: ["Ann", "Bea"] }]', {}],
    [
      '{ op: add, path: "/extension", value: [{ url: "x", valueDecimal: 1.50 }] }',
      { extension: [{ url: 'x', valueDecimal: 1.5 }] },
    ],
  ])('%s', async (patch, changes) => {
    const { result, content, version } = await patched(patch);
    expect(result.errors).toBeUndefined();
    expect(content).toEqual(JSON.parse(JSON.stringify({ ...before, ...changes })));
    expect(version).toBe('2');
    expect(result.data).toMatchObject({ PatientPatch: { meta: { versionId: '2' } } });
  });

  test.each<[string, string, object]>([
    ['($patch: [PatchOperation!]!)', '$patch', { patch: [{ op: 'add', path: '/active', value: true }] }],
    ['($patch: [PatchOperation!]!)', '$patch', { patch: { op: 'add', path: '/active', value: true } }],
    ['($one: PatchOperation!)', '[$one]', { one: { op: 'add', path: '/active', value: true } }],
    ['($value: JSON)', '[{ op: add, path: "/active", value: $value }]', { value: true }],
    ['($value: Boolean)', '[{ op: add, path: "/active", value: $value }]', { value: true }],
    ['($op: String!, $path: String!)', '[{ op: $op, path: $path, value: true }]', { op: 'add', path: '/active' }],
  ])('with variables %s', async (declared, patch, variables) => {
    const { result, content } = await patched(patch, variables, declared);
    expect(result.errors).toBeUndefined();
    expect(content).toEqual({ ...before, active: true });
  });

  test('with variables inside a value', async () => {
    const { content } = await patched(
      '{ op: add, path: "/telecom", value: [{ value: $v }, $w] }',
      { v: '1', w: { value: '2' } },
      '($v: String, $w: JSON)',
    );
    expect(content).toEqual({ ...before, telecom: [{ value: '1' }, { value: '2' }] });
  });

  test.each([
    ['{ op: test, path: "/gender", value: "male" }', 'unprocessable'],
    ['{ op: replace, path: "/birthDate", value: "2001" }', 'unprocessable'],
    ['{ op: remove, path: "/__proto__" }', 'invalid'],
    ['{ op: replace, path: "/id", value: "q" }', 'invalid'],
    ['{ op: explode, path: "/id" }', 'invalid'],
    ['{ op: add, path: "active", value: true }', 'invalid'],
    ['{ op: add, path: "/active" }', 'invalid'],
    ['[{ op: add, path: "/active", value: true }, { op: remove, path: "/name/7" }]', 'unprocessable'],
  ])('that cannot be applied changes nothing: %s', async (patch, code) => {
    const { result, content, version } = await patched(patch);
    expect(failures(result)).toEqual([`${code} at PatientPatch (1:13)`]);
    expect([content, version]).toEqual([before, '1']);
  });

  test.each([
    ['[{ path: "/active" }]', 'Field "op" of type "PatchOperation" must be given.'],
    ['[{ op: add, path: null }]', 'Field "path" of type "PatchOperation" must be given.'],
    [
      '[{ op: add, pth: "/active", path: "/x" }]',
      'Field "pth" is not defined by type "PatchOperation". Did you mean "path"?',
    ],
    ['"add"', 'Expected an object of type "PatchOperation".'],
  ])('that is invalid is an error of the document: %s', async (patch, message) => {
    const { result } = await patched(patch);
    expect(messages(result)).toEqual([message]);
    expect(result).not.toHaveProperty('data');
  });

  test('of another version than ifMatch names, or of a missing resource, is refused', async () => {
    const clinic = await openClinic(open());
    await clinic.trusted.update({ resourceType: 'Patient', id: 'p' });
    const patch = 'patch: { op: add, path: "/active", value: true }';
    const ask = (args: string) => clinic.ask(`mutation { PatientPatch(${args}, ${patch}) { active } }`);
    expect(failures(await ask('id: "p", ifMatch: "2"'))).toEqual(['precondition-failed at PatientPatch (1:12)']);
    expect(failures(await ask('id: "q"'))).toEqual(['not-found at PatientPatch (1:12)']);
    expect(await ask('id: "p", ifMatch: 1')).toEqual({ data: { PatientPatch: { active: true } } });
    await clinic.trusted.delete('Patient', 'p');
    expect(failures(await ask('id: "p"'))).toEqual(['gone at PatientPatch (1:12)']);
  });
});
