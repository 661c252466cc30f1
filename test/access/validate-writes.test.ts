import { describe, expect, test } from 'vitest';
import { extendDefinitions } from '../../src/definitions.js';
import { FhirError, MemoryStore, serverCaller, systemCaller } from '../../src/index.js';
import { R4 } from '../../src/store.js';
import type { GuardedWrite } from '../../src/access/contract.js';
import { LENIENT, validatingWrite, validationFor } from '../../src/access/write/validate-writes.js';
import { fhirPathLibrary, forgetFhirPath, loadFhirPath } from '../../src/fhirpath/library.js';
import { inOneGo } from '../../src/platform/pace.js';
import { countCalls } from '../graphql/counting-store.js';
import { definition } from '../profiles/us-core.js';
import { system } from '../repository/harness.js';
import { put } from './decisions.js';

const patient = put({ resourceType: 'Patient', id: 'p' });
const deletion: GuardedWrite = { kind: 'delete', key: { type: 'Patient', id: 'q' } };

/** The places that validation finds fault with, each with its code. */
function findings(resource: object, kept: readonly string[] = [], type = 'Patient', strict = true): unknown {
  try {
    inOneGo(validatingWrite(R4, { key: { type }, resource: { resourceType: type, ...resource } }, 3, { ...LENIENT, isStrict: () => strict }, {}, new Set(kept))); // prettier-ignore
  } catch (error) {
    if (!(error instanceof FhirError)) throw error;
    expect(error.details).toMatchObject({ index: 3 });
    return error.issues?.map(({ code, expression }) => `${code} ${expression?.join()}`);
  }
  return [];
}

describe('the strictness of a project', () => {
  test('is read for any commit that writes a resource', async () => {
    const inner = new MemoryStore();
    await system(inner, 'clinic', { strictMode: true });
    await system(inner, 'lenient');
    const { store, takeCalls } = countCalls(inner);
    const strict = async (project: string, writes: readonly GuardedWrite[]): Promise<boolean> =>
      (await validationFor(store, systemCaller(project), writes, undefined, undefined)).isStrict('Patient');
    expect(await strict('clinic', [deletion, patient])).toBe(true);
    expect(await strict('lenient', [deletion, patient])).toBe(false);
    expect(await strict('missing', [patient])).toBe(false);
    expect(takeCalls()).toHaveLength(3);
    expect(await strict('clinic', [deletion])).toBe(false);
    expect(takeCalls()).toEqual([]);
  });

  test('does not exist above projects, where no project is read', async () => {
    const { store, takeCalls } = countCalls(new MemoryStore());
    const { isStrict } = await validationFor(store, serverCaller(), [patient], undefined, undefined);
    expect(['User', 'Project', 'Patient'].map((type) => isStrict(type))).toEqual([true, true, false]);
    expect(takeCalls()).toEqual([]);
  });
});

describe('the profiles of a project', () => {
  const CLINIC = systemCaller('clinic');
  const isLoaded = (): boolean => {
    try {
      return fhirPathLibrary() !== undefined;
    } catch {
      return false;
    }
  };

  test('load FHIRPath only if the project has profiles', async () => {
    const store = new MemoryStore();
    await system(store);
    for (const [asked, needed] of [
      [undefined, false],
      [[], false],
      [true, true],
      [['urn:a'], true],
    ] as const) {
      forgetFhirPath();
      await validationFor(store, CLINIC, [patient], asked, undefined);
      expect([asked, isLoaded()]).toEqual([asked, needed]);
    }
  });

  test('are not applied to kept elements, nor are rules of the whole resource', async () => {
    const constraint = (key: string, human: string, expression: string): object => {
      return { key, severity: 'error', human, expression };
    };
    const profile = definition({
      ...{ id: 'own', url: 'urn:own', name: 'Own', kind: 'resource', type: 'Basic', derivation: 'constraint' },
      baseDefinition: 'http://hl7.org/fhir/StructureDefinition/Basic',
      differential: {
        element: [
          { id: 'Basic', path: 'Basic', constraint: [constraint('own-1', 'An author', 'author.exists()')] },
          { id: 'Basic.code', path: 'Basic.code', constraint: [constraint('own-2', 'A text', 'text.exists()')] },
          { id: 'Basic.subject', path: 'Basic.subject', min: 1 },
        ],
      },
    });
    const model = await extendDefinitions(R4, { profiles: [profile] });
    await loadFhirPath();
    const places = (kept: readonly string[], listed = ['urn:own']): unknown => {
      const resource = { resourceType: 'Basic', code: { coding: [{ code: 'x' }] } } as never;
      const validation = { ...LENIENT, profiles: { claimed: false, listed } };
      try {
        inOneGo(validatingWrite(model, { key: { type: 'Basic' }, resource }, 3, validation, {}, new Set(kept)));
      } catch (error) {
        if (!(error instanceof FhirError)) throw error;
        return error.issues.map(({ code, expression }) => `${code} ${expression?.join()}`).toSorted();
      }
      return [];
    };
    expect(places([])).toEqual(['invariant Basic', 'invariant Basic.code', 'required Basic.subject']);
    expect(places(['subject'])).toEqual(['invariant Basic.code']);
    expect(places(['author'])).toEqual(['invariant Basic.code', 'required Basic.subject']);
    expect(places(['subject', 'code'])).toEqual([]);
    expect(places(['author'], ['urn:unknown'])).toEqual(['not-found Basic']);
  });
});

describe('the validation of a write', () => {
  const compartment = { reference: '%patient' };

  test('accepts a parameter as the owner of a compartment only in an AccessPolicy', () => {
    expect(findings({ compartment, resource: [{ resourceType: 'Patient', compartment }] }, [], 'AccessPolicy')).toEqual(
      [],
    );
    expect(findings({ compartment: { reference: '%' } }, [], 'AccessPolicy')).toEqual(['value AccessPolicy.compartment.reference']); // prettier-ignore
    expect(findings({ compartment }, [], 'Patient')).toEqual(['structure Patient.compartment']);
  });

  test('ignores the elements that are kept from the stored version, and no others', () => {
    const faulty = { gender: 1, birthDate: 'soon' };
    expect(findings(faulty)).toEqual(['value Patient.gender', 'value Patient.birthDate']);
    expect(findings(faulty, ['gender'])).toEqual(['value Patient.birthDate']);
    expect(findings(faulty, ['deceased'])).toHaveLength(2);
    expect(findings(faulty, ['gender', 'birthDate'])).toEqual([]);
    expect(findings(faulty, ['unknown'])).toHaveLength(2);
  });

  test('ignores kept parts of a list, inside an element, of a choice, and of contained resources', () => {
    expect(findings({ name: [{ family: 1 }] }, ['name'])).toEqual([]);
    expect(findings({ deceasedBoolean: 'no', gender: 1 }, ['deceasedBoolean'])).toEqual(['value Patient.gender']);
    const contained = [{ resourceType: 'Patient', id: 'x', gender: 1 }];
    expect(findings({ contained, link: [{ other: { reference: '#x' }, type: 'refer' }] }, ['contained'])).toEqual([]);
  });

  test('keeps a finding about the whole resource, whichever elements are kept', () => {
    const contradictory = {
      status: 'final',
      code: { text: 'Pulse' },
      valueString: '60',
      dataAbsentReason: { text: 'none' },
    };
    expect(findings(contradictory, ['status', 'dataAbsentReason'], 'Observation')).toEqual(['invariant Observation']);
  });

  test('stops at the usual number of findings if nothing is kept', () => {
    const name = Array.from({ length: 300 }, () => ({ family: 1 }));
    expect(findings({ name })).toHaveLength(100);
    expect(findings({ name }, ['gender'])).toHaveLength(300);
  });
});
