import { R4 } from '../../src/store.js';
import { readdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';

const typings = dirname(createRequire(import.meta.url).resolve('@medplum/fhirtypes/dist/Patient.d.ts'));

describe('types', () => {
  it('have the elements of a resource in the order of the specification, inherited elements first', () => {
    const names = [...R4.typeDefinition('Patient')!.elements.keys()];
    expect(names.slice(0, 12)).toEqual([
      'id', 'meta', 'implicitRules', 'language', 'text', 'contained', 'extension', 'modifierExtension', 'identifier',
      'active', 'name', 'telecom',
    ]); // prettier-ignore
  });

  it('describe an element: type, repetition, cardinality, codes and text', () => {
    expect(R4.typeDefinition('Patient')!.elements.get('gender')).toEqual({
      name: 'gender',
      type: 'code',
      array: false,
      required: false,
      codes: ['male', 'female', 'other', 'unknown'],
      codeSystem: 'http://hl7.org/fhir/administrative-gender',
      short: 'male | female | other | unknown',
    });
    expect(R4.typeDefinition('Observation')!.elements.get('status')).toMatchObject({ required: true, array: false });
    expect(R4.typeDefinition('Patient')!.elements.get('name')).toMatchObject({ type: 'HumanName', array: true });
  });

  it('expand choices and have their group', () => {
    const elements = R4.typeDefinition('Observation')!.elements;
    expect(elements.get('valueQuantity')).toMatchObject({ type: 'Quantity', choiceOf: 'value', array: false });
    expect(elements.has('value')).toBe(false);
    expect([...elements.values()].filter((element) => element.choiceOf === 'value')).toHaveLength(11);
  });

  it('have the targets of references, unless any type is allowed', () => {
    expect(R4.typeDefinition('Observation')!.elements.get('encounter')!.targets).toEqual(['Encounter']);
    expect(R4.typeDefinition('Observation')!.elements.get('focus')!.targets).toBeUndefined();
    expect(R4.typeDefinition('MedicationRequest')!.elements.get('medicationReference')!.targets).toEqual([
      'Medication',
    ]);
    expect(R4.typeDefinition('ProjectMembership')!.elements.get('project')!.targets).toEqual(['Project']);
  });

  it('have codes only for the coded members of a choice', () => {
    const elements = R4.typeDefinition('AllergyIntolerance')!.elements;
    expect(elements.get('clinicalStatus')!.codes).toEqual(['active', 'inactive', 'resolved']);
    expect(elements.get('code')!.codes).toBeUndefined();
  });

  it('resolve content references to their backbone type', () => {
    expect(R4.typeDefinition('QuestionnaireItem')!.elements.get('item')!.type).toBe('QuestionnaireItem');
    expect(R4.typeDefinition('BundleEntry')!.elements.get('link')!.type).toBe('BundleLink');
    expect(R4.typeDefinition('BundleEntry')!.elements.get('resource')!.type).toBe('Resource');
  });

  it('have the path of a backbone element', () => {
    expect(R4.typeDefinition('PatientContact')!.path).toBe('Patient.contact');
    expect(R4.typeDefinition('TimingRepeat')!.path).toBe('Timing.repeat');
    expect(R4.typeDefinition('HumanName')!.path).toBeUndefined();
  });

  it('map the system types of FHIRPath and the profiles on types to FHIR types', () => {
    expect(R4.typeDefinition('Patient')!.elements.get('id')!.type).toBe('id');
    expect(R4.typeDefinition('HumanName')!.elements.get('id')!.type).toBe('string');
    expect(R4.typeDefinition('Extension')!.elements.get('url')!.type).toBe('uri');
    expect(R4.typeDefinition('ObservationReferenceRange')!.elements.get('low')!.type).toBe('Quantity');
  });

  it('refer to known types only', () => {
    const unknown = allTypeNames().flatMap((name) =>
      [...R4.typeDefinition(name)!.elements.values()].filter(
        (element) => R4.typeDefinition(element.type) === undefined,
      ),
    );
    expect(unknown).toEqual([]);
  });

  it('have the names of @medplum/fhirtypes', () => {
    const interfaces = readdirSync(typings)
      .filter((file) => file.endsWith('.d.ts'))
      .flatMap((file) => [...readFileSync(join(typings, file), 'utf8').matchAll(/^export interface (\w+)/gm)])
      .map((match) => match[1]!);
    const ours = allTypeNames().filter((name) => R4.typeDefinition(name)!.kind !== 'primitive');
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

  it('list concrete resource types, including those of Medplum, sorted', () => {
    const names = R4.resourceTypes;
    expect(names).toEqual([...names].sort());
    expect(names).toEqual(expect.arrayContaining(['Patient', 'ProjectMembership', 'AccessPolicy', 'User', 'Bot']));
    expect(names).not.toContain('DomainResource');
    expect(R4.isResourceType('Bundle')).toBe(true);
    expect(R4.isResourceType('HumanName')).toBe(false);
    expect(R4.isResourceType('Resource')).toBe(false);
  });

  it('do not include the names of object prototypes', () => {
    for (const name of ['__proto__', 'constructor', 'toString', 'hasOwnProperty']) {
      expect(R4.typeDefinition(name)).toBeUndefined();
      expect(R4.isResourceType(name)).toBe(false);
      expect(R4.searchParameters(name).size).toBe(0);
      expect(R4.searchParameter('Patient', name)).toBeUndefined();
      expect(R4.patientCompartment(name)).toEqual([]);
    }
  });
});

describe('search parameters', () => {
  it('keep only the alternatives that apply to the type', () => {
    expect(R4.searchParameter('Patient', 'phone')).toEqual({
      code: 'phone',
      type: 'token',
      expression: "Patient.telecom.where(system='phone')",
      path: [['telecom', { path: ['system'], equals: 'phone' }]],
      short: 'A value in a phone contact',
    });
    expect(R4.searchParameter('Observation', 'patient')).toMatchObject({
      path: [['subject', { resolvesTo: 'Patient' }]],
      targets: ['Patient'],
    });
  });

  it('include the parameters of every resource', () => {
    expect([...R4.searchParameters('Slot').keys()]).toEqual(
      expect.arrayContaining(['_id', '_lastUpdated', '_tag', '_profile', '_security', '_source', 'schedule']),
    );
    expect(R4.searchParameter('Slot', '_tag')).toMatchObject({ type: 'token', path: [['meta', 'tag']] });
  });

  it('include no parameter without expression', () => {
    for (const type of R4.resourceTypes) {
      expect(R4.searchParameter(type, '_text')).toBeUndefined();
      for (const parameter of R4.searchParameters(type).values()) expect(parameter.expression).not.toBe('');
    }
  });

  it('have the components of a composite', () => {
    expect(R4.searchParameter('Observation', 'code-value-quantity')).toMatchObject({
      path: [[]],
      components: [
        { code: 'code', type: 'token', path: [['code']] },
        { code: 'value-quantity', type: 'quantity', path: [['value', { ofType: 'Quantity' }]] },
      ],
    });
    expect(R4.searchParameter('Observation', 'code-value-date')!.components![1]!.expression).toBe(
      'value.ofType(dateTime) | value.ofType(Period)',
    );
  });

  it('have uncompiled expressions only if they are not plain paths', () => {
    const expressions = R4.resourceTypes
      .flatMap((type) => [...R4.searchParameters(type).values()])
      .filter((parameter) => parameter.path === undefined)
      .map((parameter) => parameter.expression);
    expect([...new Set(expressions)].sort()).toEqual([
      'Binary.securityContext.exists()',
      'Bot.sourceCode.url | Bot.executableCode.url',
      'Patient.deceased.exists() and Patient.deceased != false',
      "ProjectMembership.extension.where(url = 'https://fhirgraph.org/fhir/StructureDefinition/access-expires').value",
      "ProjectMembership.extension.where(url = 'https://fhirgraph.org/fhir/StructureDefinition/invitation-expires').value",
      'ProjectMembership.profile.resolve().resourceType',
      "iif(priority = 'stat', 50, iif(priority = 'asap', 40, iif(priority = 'urgent', 30, iif(priority = 'routine', 20, 10))))",
    ]);
  });

  it('narrow the targets of a reference to those that its elements allow', () => {
    expect(R4.searchParameter('Observation', 'subject')!.targets).toEqual(['Device', 'Group', 'Location', 'Patient']);
    expect(R4.searchParameter('Observation', 'focus')!.targets).toBeUndefined();
    expect(R4.searchParameter('ProjectMembership', 'profile-type')!.targets).toBeUndefined();
    expect(R4.searchParameter('ResearchStudy', 'eligibility')!.targets).toEqual(['EvidenceVariable', 'Group']);
  });
});

describe('patient compartment', () => {
  it('names the parameters by which a resource belongs to a patient', () => {
    expect(R4.patientCompartment('Observation')).toEqual(['subject', 'performer']);
    expect(R4.patientCompartment('Patient')).toEqual(['link']);
    expect(R4.patientCompartment('Organization')).toEqual([]);
  });

  it('names parameters that exist and are references', () => {
    for (const type of R4.resourceTypes) {
      for (const code of R4.patientCompartment(type)) expect(R4.searchParameter(type, code)?.type).toBe('reference');
    }
  });
});

/** Every type reachable from the resources, with the abstract ones and the data types that no element names. */
function allTypeNames(): string[] {
  const names = new Set([...R4.resourceTypes, 'Resource', 'DomainResource', 'Element', 'BackboneElement']);
  for (const name of names)
    for (const element of R4.typeDefinition(name)?.elements.values() ?? []) names.add(element.type);
  return [...names];
}
