import { beforeAll, describe, expect, test } from 'vitest';
import {
  assertingProfiles,
  NO_PROFILES,
  requiredProfiles,
  type RequiredProfiles,
} from '../../src/access/write/validate-writes.js';
import { extendDefinitions } from '../../src/definitions.js';
import type { OutcomeIssue } from '../../src/index.js';
import { type FhirModel, R4 } from '../../src/store.js';
import type { JsonObject } from '../../src/fhir/resource.js';
import { loadFhirPath } from '../../src/fhirpath/library.js';
import { inOneGo } from '../../src/platform/pace.js';
import { amy, birthsex, definition, usCore, usCorePatient } from '../profiles/us-core.js';
import { faultOf } from '../repository/harness.js';

const URL_SETTING = { name: 'validateProfiles', valueString: 'urn:a' };
const CLAIMED = { name: 'validateProfiles', valueBoolean: true };

describe('the required profiles', () => {
  test.each<[string, object, true | readonly string[] | undefined, RequiredProfiles]>([
    ['nothing', {}, undefined, NO_PROFILES],
    ['other settings', { setting: [{ name: 'other', valueString: 'urn:a', valueBoolean: true }] }, undefined, NO_PROFILES], // prettier-ignore
    ['a setting by URL', { setting: [URL_SETTING] }, undefined, { claimed: false, listed: ['urn:a'] }],
    ['a setting of the operator', { systemSetting: [URL_SETTING] }, undefined, { claimed: false, listed: ['urn:a'] }],
    ['a setting for those claimed', { setting: [CLAIMED, URL_SETTING] }, undefined, { claimed: true, listed: ['urn:a'] }], // prettier-ignore
    ['a setting that is false', { setting: [{ ...CLAIMED, valueBoolean: false }] }, undefined, NO_PROFILES],
    ['a setting that is a text', { setting: [{ ...CLAIMED, valueBoolean: 'true' }] }, undefined, NO_PROFILES],
    ['a URL that is a number', { setting: [{ ...URL_SETTING, valueString: 7 }] }, undefined, NO_PROFILES],
    ['the host, those claimed', {}, true, { claimed: true, listed: [] }],
    ['the host, by URL', {}, ['urn:b'], { claimed: false, listed: ['urn:b'] }],
    ['the host, none', {}, [], NO_PROFILES],
    ['both', { systemSetting: [URL_SETTING], setting: [CLAIMED] }, ['urn:b', 'urn:a'], { claimed: true, listed: ['urn:a', 'urn:b'] }], // prettier-ignore
  ])('follow from %s', (_, project, asked, expected) => {
    expect(requiredProfiles(project as JsonObject, asked)).toEqual(expected);
  });
});

const ownBasic = definition({
  id: 'own-basic',
  url: 'http://clinic.example/StructureDefinition/own-basic',
  name: 'OwnBasic',
  kind: 'resource',
  type: 'Basic',
  baseDefinition: 'http://hl7.org/fhir/StructureDefinition/Basic',
  derivation: 'constraint',
  differential: {
    element: [
      {
        id: 'Basic',
        path: 'Basic',
        constraint: [
          { key: 'own-1', severity: 'warning', human: 'An author should be named', expression: 'author.exists()' },
        ],
      },
      { id: 'Basic.subject', path: 'Basic.subject', min: 1 },
    ],
  },
});

const ofUsCore = definition({
  ...{ id: 'of-us-core', url: 'http://clinic.example/StructureDefinition/of-us-core', name: 'OfUsCore' },
  ...{ kind: 'resource', type: 'Observation', derivation: 'constraint' },
  baseDefinition: 'http://hl7.org/fhir/StructureDefinition/Observation',
  differential: {
    element: [
      {
        id: 'Observation.subject',
        path: 'Observation.subject',
        type: [{ code: 'Reference', targetProfile: [usCorePatient.url] }],
      },
    ],
  },
});

describe('a resource', () => {
  let model: FhirModel;
  beforeAll(async () => {
    model = await extendDefinitions(R4, { ...usCore, profiles: [...usCore.profiles, ownBasic, ofUsCore] });
    await loadFhirPath();
  });

  const LISTED: RequiredProfiles = { claimed: false, listed: [usCorePatient.url] };
  const BY_CLAIM: RequiredProfiles = { claimed: true, listed: [] };
  const { gender: _, meta, ...rest } = amy as unknown as JsonObject;
  /** Without a gender, and without a system of its identifier. */
  const unclaimed: JsonObject = { ...rest, identifier: [{ value: '1' }] };
  const bad: JsonObject = { ...unclaimed, meta };

  type Except = (issue: OutcomeIssue) => boolean;

  async function faults(resource: JsonObject, required: RequiredProfiles, except?: Except): Promise<unknown[]> {
    const fault = await faultOf(
      Promise.resolve().then(() => inOneGo(assertingProfiles(model, resource, required, except))),
    );
    expect(fault.code).toBe('unprocessable');
    return [fault.message, fault.issues.map(({ expression }) => expression?.join())];
  }

  const accepted = (resource: JsonObject, required: RequiredProfiles, except?: Except): void =>
    inOneGo(assertingProfiles(model, resource, required, except));

  const BOTH = [
    'The resource does not conform to its profiles: system is required by the profile at Patient.identifier[0].system (and 1 more)',
    ['Patient.identifier[0].system', 'Patient.gender'],
  ];

  test('is refused with every finding, once', async () => {
    expect(await faults(unclaimed, LISTED)).toEqual(BOTH);
    expect(await faults(bad, BY_CLAIM)).toEqual(BOTH);
    expect(await faults(bad, { claimed: true, listed: [usCorePatient.url] })).toEqual(BOTH);
  });

  test('is accepted if no profile is required, whatever it claims', () => {
    accepted({ ...bad, extension: [{ url: birthsex.url, valueCode: 'neither' }] }, NO_PROFILES);
    accepted(bad, { claimed: false, listed: [ownBasic.url] });
    accepted(unclaimed, BY_CLAIM);
    accepted(amy, { claimed: true, listed: [usCorePatient.url] });
  });

  test('is accepted with warnings, which are listed together with errors', async () => {
    const required = { claimed: false, listed: [ownBasic.url] };
    const basic: JsonObject = { resourceType: 'Basic', code: { text: 'x' } };
    accepted({ ...basic, subject: { reference: 'Patient/ann' } }, required);
    expect(await faults(basic, required)).toEqual([
      'The resource does not conform to its profiles: subject is required by the profile at Basic.subject',
      ['Basic.subject', 'Basic'],
    ]);
  });

  test('has its extensions checked with its profiles', async () => {
    const extension = [{ url: birthsex.url, valueCode: 'neither' }];
    const { 0: message } = await faults({ ...unclaimed, extension }, BY_CLAIM);
    expect(message).toContain('Patient.extension[0]');
  });

  test('can claim profiles that the definitions do not have; a listed profile must exist', async () => {
    const claimed = { ...(amy as unknown as JsonObject), meta: { profile: ['urn:unknown'] } };
    accepted(claimed, BY_CLAIM);
    expect(await faults(claimed, { claimed: true, listed: ['urn:unknown'] })).toEqual([
      'The resource does not conform to its profiles: the profile urn:unknown is not among the definitions at Patient',
      ['Patient'],
    ]);
  });

  test('is not refused for excepted findings', async () => {
    const hidden =
      (...places: readonly string[]): Except =>
      ({ expression }) =>
        places.includes(expression?.[0] ?? '');
    expect(await faults(bad, BY_CLAIM, hidden('Patient.identifier[0].system'))).toEqual([
      'The resource does not conform to its profiles: gender is required by the profile at Patient.gender',
      ['Patient.gender'],
    ]);
    accepted(bad, BY_CLAIM, hidden('Patient.identifier[0].system', 'Patient.gender'));
  });

  test('is refused for a target inside it, unless some findings are excepted, because the target can be hidden', async () => {
    const resource: JsonObject = {
      ...{ resourceType: 'Observation', status: 'final', code: { text: 'x' }, subject: { reference: '#p' } },
      contained: [{ resourceType: 'Patient', id: 'p' }],
    };
    const required = { claimed: false, listed: [ofUsCore.url] };
    expect(await faults(resource, required)).toEqual([
      expect.stringContaining('at Observation.subject.reference'),
      ['Observation.subject.reference'],
    ]);
    accepted(resource, required, () => false);
  });

  test('is not accepted because many excepted findings come first', async () => {
    const identifier = Array.from({ length: 150 }, () => ({ value: '1' }));
    const many = { ...bad, identifier };
    expect(((await faults(many, LISTED)) as [string, string[]])[1]).toHaveLength(100);
    for (const required of [LISTED, BY_CLAIM]) {
      const except: Except = ({ expression }) => expression?.[0]?.startsWith('Patient.identifier') === true;
      expect(await faults(many, required, except)).toEqual([
        'The resource does not conform to its profiles: gender is required by the profile at Patient.gender',
        ['Patient.gender'],
      ]);
    }
  });
});
