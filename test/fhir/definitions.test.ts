import { readdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import {
  isResourceType,
  patientCompartment,
  resourceTypes,
  searchParameter,
  searchParameters,
  typeDefinition,
} from '../../src/fhir/definitions.js';

const typings = dirname(createRequire(import.meta.url).resolve('@medplum/fhirtypes/dist/Patient.d.ts'));

describe('types', () => {
  it('holds the elements of a resource in the order of the specification, inherited ones first', () => {
    const names = [...typeDefinition('Patient')!.elements.keys()];
    expect(names.slice(0, 12)).toEqual([
      'id', 'meta', 'implicitRules', 'language', 'text', 'contained', 'extension', 'modifierExtension', 'identifier',
      'active', 'name', 'telecom',
    ]); // prettier-ignore
  });

  it('describes an element: type, repetition, cardinality, codes and text', () => {
    expect(typeDefinition('Patient')!.elements.get('gender')).toEqual({
      name: 'gender',
      type: 'code',
      array: false,
      required: false,
      codes: ['male', 'female', 'other', 'unknown'],
      codeSystem: 'http://hl7.org/fhir/administrative-gender',
      short: 'male | female | other | unknown',
    });
    expect(typeDefinition('Observation')!.elements.get('status')).toMatchObject({ required: true, array: false });
    expect(typeDefinition('Patient')!.elements.get('name')).toMatchObject({ type: 'HumanName', array: true });
  });

  it('expands choices and says of which group they are', () => {
    const elements = typeDefinition('Observation')!.elements;
    expect(elements.get('valueQuantity')).toMatchObject({ type: 'Quantity', choiceOf: 'value', array: false });
    expect(elements.has('value')).toBe(false);
    expect([...elements.values()].filter((element) => element.choiceOf === 'value')).toHaveLength(11);
  });

  it('names the targets of references, and leaves them out where any type may follow', () => {
    expect(typeDefinition('Observation')!.elements.get('encounter')!.targets).toEqual(['Encounter']);
    expect(typeDefinition('Observation')!.elements.get('focus')!.targets).toBeUndefined();
    expect(typeDefinition('MedicationRequest')!.elements.get('medicationReference')!.targets).toEqual(['Medication']);
    expect(typeDefinition('ProjectMembership')!.elements.get('project')!.targets).toEqual(['Project']);
  });

  it('gives codes to the coded members of a choice only', () => {
    const elements = typeDefinition('AllergyIntolerance')!.elements;
    expect(elements.get('clinicalStatus')!.codes).toEqual(['active', 'inactive', 'resolved']);
    expect(elements.get('code')!.codes).toBeUndefined();
  });

  it('resolves content references to the backbone type they mean', () => {
    expect(typeDefinition('QuestionnaireItem')!.elements.get('item')!.type).toBe('QuestionnaireItem');
    expect(typeDefinition('BundleEntry')!.elements.get('link')!.type).toBe('BundleLink');
    expect(typeDefinition('BundleEntry')!.elements.get('resource')!.type).toBe('Resource');
  });

  it('tells where a backbone element stands', () => {
    expect(typeDefinition('PatientContact')!.path).toBe('Patient.contact');
    expect(typeDefinition('TimingRepeat')!.path).toBe('Timing.repeat');
    expect(typeDefinition('HumanName')!.path).toBeUndefined();
  });

  it('maps the system types of FHIRPath and the profiles on types to FHIR types', () => {
    expect(typeDefinition('Patient')!.elements.get('id')!.type).toBe('id');
    expect(typeDefinition('HumanName')!.elements.get('id')!.type).toBe('string');
    expect(typeDefinition('Extension')!.elements.get('url')!.type).toBe('uri');
    expect(typeDefinition('ObservationReferenceRange')!.elements.get('low')!.type).toBe('Quantity');
  });

  it('refers to known types only', () => {
    const unknown = allTypeNames().flatMap((name) =>
      [...typeDefinition(name)!.elements.values()].filter((element) => typeDefinition(element.type) === undefined),
    );
    expect(unknown).toEqual([]);
  });

  it('names types as @medplum/fhirtypes does', () => {
    const interfaces = readdirSync(typings)
      .filter((file) => file.endsWith('.d.ts'))
      .flatMap((file) => [...readFileSync(join(typings, file), 'utf8').matchAll(/^export interface (\w+)/gm)])
      .map((match) => match[1]!);
    const ours = allTypeNames().filter((name) => typeDefinition(name)!.kind !== 'primitive');
    const difference = {
      onlyOurs: ours.filter((name) => !interfaces.includes(name)),
      onlyTheirs: interfaces.filter((name) => !ours.includes(name)),
    };
    expect(difference).toEqual({
      // Type aliases there.
      onlyOurs: ['Resource', 'DomainResource'],
      // Profiles on Quantity, and logical models, which no resource of R4 contains.
      onlyTheirs: [
        'MetadataResource',
        'MoneyQuantity',
        'SimpleQuantity',
        'ViewDefinition',
        'ViewDefinitionConstant',
        'ViewDefinitionSelect',
        'ViewDefinitionSelectColumn',
        'ViewDefinitionSelectColumnTag',
        'ViewDefinitionWhere',
      ],
    });
  });

  it('lists concrete resource types, Medplum ones included, sorted', () => {
    const names = resourceTypes();
    expect(names).toEqual([...names].sort());
    expect(names).toEqual(expect.arrayContaining(['Patient', 'ProjectMembership', 'AccessPolicy', 'User', 'Bot']));
    expect(names).not.toContain('DomainResource');
    expect(isResourceType('Bundle')).toBe(true);
    expect(isResourceType('HumanName')).toBe(false);
    expect(isResourceType('Resource')).toBe(false);
  });

  it('does not know the names of object prototypes', () => {
    for (const name of ['__proto__', 'constructor', 'toString', 'hasOwnProperty']) {
      expect(typeDefinition(name)).toBeUndefined();
      expect(isResourceType(name)).toBe(false);
      expect(searchParameters(name).size).toBe(0);
      expect(searchParameter('Patient', name)).toBeUndefined();
      expect(patientCompartment(name)).toEqual([]);
    }
  });
});

describe('search parameters', () => {
  it('keeps only the alternatives that apply to the type', () => {
    expect(searchParameter('Patient', 'phone')).toEqual({
      code: 'phone',
      type: 'token',
      expression: "Patient.telecom.where(system='phone')",
      path: [['telecom', { path: ['system'], equals: 'phone' }]],
      short: 'A value in a phone contact',
    });
    expect(searchParameter('Observation', 'patient')).toMatchObject({
      path: [['subject', { resolvesTo: 'Patient' }]],
      targets: ['Patient'],
    });
  });

  it('adds the parameters of every resource', () => {
    expect([...searchParameters('Slot').keys()]).toEqual(
      expect.arrayContaining(['_id', '_lastUpdated', '_tag', '_profile', '_security', '_source', 'schedule']),
    );
    expect(searchParameter('Slot', '_tag')).toMatchObject({ type: 'token', path: [['meta', 'tag']] });
  });

  it('has no parameter without expression', () => {
    for (const type of resourceTypes()) {
      expect(searchParameter(type, '_text')).toBeUndefined();
      for (const parameter of searchParameters(type).values()) expect(parameter.expression).not.toBe('');
    }
  });

  it('tells the parts of a composite', () => {
    expect(searchParameter('Observation', 'code-value-quantity')).toMatchObject({
      path: [[]],
      components: [
        { code: 'code', type: 'token', path: [['code']] },
        { code: 'value-quantity', type: 'quantity', path: [['value', { ofType: 'Quantity' }]] },
      ],
    });
    expect(searchParameter('Observation', 'code-value-date')!.components![1]!.expression).toBe(
      'value.ofType(dateTime) | value.ofType(Period)',
    );
  });

  it('leaves uncompiled only what is no plain path', () => {
    const expressions = resourceTypes()
      .flatMap((type) => [...searchParameters(type).values()])
      .filter((parameter) => parameter.path === undefined)
      .map((parameter) => parameter.expression);
    expect([...new Set(expressions)].sort()).toEqual([
      'Binary.securityContext.exists()',
      'Bot.sourceCode.url | Bot.executableCode.url',
      'Patient.deceased.exists() and Patient.deceased != false',
      'ProjectMembership.profile.resolve().resourceType',
      "iif(priority = 'stat', 50, iif(priority = 'asap', 40, iif(priority = 'urgent', 30, iif(priority = 'routine', 20, 10))))",
    ]);
  });

  it('narrows the targets of a reference to what its elements allow', () => {
    expect(searchParameter('Observation', 'subject')!.targets).toEqual(['Device', 'Group', 'Location', 'Patient']);
    expect(searchParameter('Observation', 'focus')!.targets).toBeUndefined();
    expect(searchParameter('ProjectMembership', 'profile-type')!.targets).toBeUndefined();
    expect(searchParameter('ResearchStudy', 'eligibility')!.targets).toEqual(['EvidenceVariable', 'Group']);
  });
});

describe('patient compartment', () => {
  it('names the parameters by which a resource belongs to a patient', () => {
    expect(patientCompartment('Observation')).toEqual(['subject', 'performer']);
    expect(patientCompartment('Patient')).toEqual(['link']);
    expect(patientCompartment('Organization')).toEqual([]);
  });

  it('names parameters that exist and are references', () => {
    for (const type of resourceTypes()) {
      for (const code of patientCompartment(type)) expect(searchParameter(type, code)?.type).toBe('reference');
    }
  });
});

/** Every type reachable from the resources, with the abstract ones and the data types that no element names. */
function allTypeNames(): string[] {
  const names = new Set([...resourceTypes(), 'Resource', 'DomainResource', 'Element', 'BackboneElement']);
  for (const name of names)
    for (const element of typeDefinition(name)?.elements.values() ?? []) names.add(element.type);
  return [...names];
}
