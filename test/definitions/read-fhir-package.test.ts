import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { extendDefinitions, R4 } from '../../src/definitions.js';
import { readFhirPackage } from '../../src/fhir-package.js';
import { temporaryFolder } from '../stores/temporary-folder.js';
import { searchParameter } from './search-parameters.js';

const fileNamed = temporaryFolder();

function unpack(name: string, files: { readonly [file: string]: unknown }): string {
  const folder = fileNamed(name);
  mkdirSync(join(folder, 'package', 'example'), { recursive: true });
  for (const [file, content] of Object.entries(files)) {
    writeFileSync(join(folder, 'package', file), typeof content === 'string' ? content : JSON.stringify(content));
  }
  return folder;
}

const PARAMETER = searchParameter({ code: 'own', base: 'Patient', type: 'token', expression: 'Patient.maritalStatus' });
const PROFILE = { resourceType: 'StructureDefinition', url: 'https://clinic.example/StructureDefinition/p' };
const VALUE_SET = { resourceType: 'ValueSet', url: 'https://clinic.example/ValueSet/v' };
const CODE_SYSTEM = { resourceType: 'CodeSystem', url: 'https://clinic.example/CodeSystem/c' };

test('a package is read from its folder or from the parent folder, and extends definitions', async () => {
  const folder = unpack('clinic', {
    'package.json': { name: 'clinic.core', version: '1.2.0', fhirVersions: ['4.0.1'] },
    '.index.json': '{ "files": [',
    'SearchParameter-own.json': PARAMETER,
    'StructureDefinition-p.json': PROFILE,
    'ValueSet-v.json': VALUE_SET,
    'CodeSystem-c.json': CODE_SYSTEM,
    'ImplementationGuide-i.json': { resourceType: 'ImplementationGuide' },
    'notes.txt': 'no JSON',
    'example/Patient-1.json': { resourceType: 'Patient' },
  });
  const read = await readFhirPackage(folder);
  expect(read).toEqual({
    name: 'clinic.core',
    version: '1.2.0',
    searchParameters: [PARAMETER],
    profiles: [PROFILE],
    codeSystems: [CODE_SYSTEM],
    valueSets: [VALUE_SET],
  });
  expect(await readFhirPackage(join(folder, 'package'))).toEqual(read);
  const model = await extendDefinitions(R4, read);
  expect(model.searchParameter('Patient', 'own')!.type).toBe('token');
  expect(model.profiles).toEqual([PROFILE]);
});

test('a folder that is not a package of R4 is refused by name', async () => {
  await expect(readFhirPackage(fileNamed('nowhere'))).rejects.toMatchObject({
    code: 'invalid',
    message: expect.stringContaining('name the folder where the FHIR package was unpacked') as string,
  });
  const r5 = unpack('r5', { 'package.json': { fhirVersions: ['5.0.0'] }, 'SearchParameter-own.json': PARAMETER });
  await expect(readFhirPackage(r5)).rejects.toMatchObject({
    code: 'unsupported',
    message: 'The FHIR package is for FHIR 5.0.0; only R4 (4.0.1) is supported',
  });
  for (const [name, content] of [
    ['broken', '{'],
    ['list', '[]'],
  ] as const) {
    const folder = unpack(name, { 'SearchParameter-own.json': content });
    await expect(readFhirPackage(folder)).rejects.toMatchObject({
      code: 'invalid',
      message: expect.stringMatching(/^SearchParameter-own\.json of the FHIR package /) as string,
    });
  }
});
