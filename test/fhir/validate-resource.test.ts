import { R4 } from '../../src/store.js';
import { describe, expect, it, vi } from 'vitest';
import { validateResource } from '../../src/fhir/validate-resource.js';

/** Code and place of each finding; warnings marked. */
function strictFindings(resource: unknown): string[] {
  return validateResource(R4, resource, { strict: true }).map(
    (issue) => `${issue.severity === 'warning' ? 'warning ' : ''}${issue.code} ${issue.expression?.[0] ?? '-'}`,
  );
}

const patient = (elements: object): object => ({ resourceType: 'Patient', ...elements });
const observation = (elements: object): object => ({
  resourceType: 'Observation',
  status: 'final',
  code: { text: 'a test' },
  ...elements,
});
const withExtension = (extension: object): object =>
  patient({ extension: [{ url: 'http://a.example/e', ...extension }] });
const withDiv = (div: unknown): object => patient({ text: { status: 'generated', div } });
const XHTML = 'xmlns="http://www.w3.org/1999/xhtml"';

type Row = readonly [rule: string, resource: unknown, ...findings: string[]];

const STRICT: readonly Row[] = [
  // Policies
  ['a compartment that a parameter of the policy names', { resourceType: 'AccessPolicy', compartment: { reference: '%patient' } }],
  ['a compartment that a parameter of the policy names, with its type', { resourceType: 'AccessPolicy', resource: [{ resourceType: 'Task', compartment: { reference: 'Patient/%patient.id' } }] }],
  ['a compartment of an invalid form', { resourceType: 'AccessPolicy', compartment: { reference: '%patient or so' } }, 'value AccessPolicy.compartment.reference'],
  ['a parameter of a policy elsewhere', patient({ managingOrganization: { reference: '%organization' } }), 'value Patient.managingOrganization.reference'],
  // Elements and JSON types
  ['an unknown element', patient({ nickname: 'x' }), 'structure Patient.nickname'],
  ['an unknown element of a data type', patient({ name: [{}, { last: 'x' }] }), 'invariant Patient.name[0]', 'structure Patient.name[1].last'],
  ['an unknown name that is not an identifier', patient({ 'a b`c': 1 }), 'structure Patient.`a b\\`c`'],
  ['resourceType inside a data type', patient({ name: [{ resourceType: 'HumanName', text: 'x' }] }), 'structure Patient.name[0].resourceType'],
  ['a choice without its type', observation({ value: 1 }), 'structure Observation.value'],
  ['a single value where an element repeats', patient({ name: { family: 'x' } }), 'structure Patient.name'],
  ['an array where an element does not repeat', patient({ gender: ['male'] }), 'structure Patient.gender'],
  ['an array of objects where an element does not repeat', patient({ maritalStatus: [{ text: 'x' }] }), 'structure Patient.maritalStatus'],
  ['an array within an array', patient({ name: [[{ family: 'x' }]] }), 'structure Patient.name[0]'],
  ['a primitive where an object is expected', patient({ maritalStatus: 'M' }), 'structure Patient.maritalStatus'],
  ['an object where a primitive is expected', patient({ birthDate: { value: '2000' } }), 'structure Patient.birthDate'],
  ['null for an element', patient({ birthDate: null }), 'structure Patient.birthDate'],
  ['null in an array of objects', patient({ name: [null, { text: 'x' }] }), 'structure Patient.name[0]'],
  // Cardinality
  ['a required element left out', { resourceType: 'Observation', status: 'final' }, 'required Observation.code'],
  ['a required element of a backbone element', patient({ link: [{ type: 'refer' }] }), 'required Patient.link[0].other'],
  ['an empty array', patient({ name: [] }), 'structure Patient.name'],
  ['an empty object', patient({ maritalStatus: {} }), 'invariant Patient.maritalStatus'],
  ['an element with an id only (ele-1)', patient({ maritalStatus: { id: 'a' } }), 'invariant Patient.maritalStatus'],
  ['two members of a choice', observation({ valueString: 'x', valueInteger: 1 }), 'structure Observation.value'],
  ['two members of a choice, one of them an extension only', patient({ deceasedBoolean: true, _deceasedDateTime: { extension: [{ url: 'http://a.example', valueCode: 'x' }] } }), 'structure Patient.deceased'],
  ['a required choice left out', { resourceType: 'MedicationRequest', status: 'active', intent: 'order', subject: { display: 'x' } }, 'required MedicationRequest.medication'],
  // Primitives
  ['a date in another form', patient({ birthDate: '01/02/2000' }), 'value Patient.birthDate'],
  ['a date that does not exist', patient({ birthDate: '2021-02-29' }), 'value Patient.birthDate'],
  ['a day that its month lacks', patient({ birthDate: '2021-04-31' }), 'value Patient.birthDate'],
  ['a date with time', patient({ birthDate: '2000-01-01T00:00:00Z' }), 'value Patient.birthDate'],
  ['year 0', patient({ birthDate: '0000' }), 'value Patient.birthDate'],
  ['a dateTime without zone', observation({ effectiveDateTime: '2020-01-01T10:00:00' }), 'value Observation.effective.ofType(dateTime)'],
  ['a dateTime without seconds', observation({ effectiveDateTime: '2020-01-01T10:00Z' }), 'value Observation.effective.ofType(dateTime)'],
  ['hour 24', observation({ effectiveDateTime: '2020-01-01T24:00:00Z' }), 'value Observation.effective.ofType(dateTime)'],
  ['an instant that is a date', observation({ issued: '2020-01-01' }), 'value Observation.issued'],
  ['a time with zone', observation({ valueTime: '10:00:00Z' }), 'value Observation.value.ofType(time)'],
  ['a boolean as text', patient({ active: 'true' }), 'value Patient.active'],
  ['a decimal as text', observation({ valueQuantity: { value: '1.5' } }), 'value Observation.value.ofType(Quantity).value'],
  ['an integer with a fraction', observation({ valueInteger: 1.5 }), 'value Observation.value.ofType(integer)'],
  ['an integer beyond 32 bits', observation({ valueInteger: 2 ** 31 }), 'value Observation.value.ofType(integer)'],
  ['a positiveInt of 0', patient({ telecom: [{ rank: 0 }] }), 'value Patient.telecom[0].rank'],
  ['an unsignedInt below 0', { resourceType: 'Bundle', type: 'searchset', total: -1 }, 'value Bundle.total'],
  ['an empty string', patient({ name: [{ family: '' }] }), 'value Patient.name[0].family'],
  ['a control character', patient({ name: [{ given: ['a', 'b\u0007'] }] }), 'value Patient.name[0].given[1]'],
  ['a string of more than 1 MiB', patient({ name: [{ text: 'x'.repeat(2 ** 20 + 1) }] }), 'too-long Patient.name[0].text'],
  ['a code with a blank at its end', patient({ identifier: [{ type: { coding: [{ code: 'MR ' }] } }] }), 'value Patient.identifier[0].type.coding[0].code'],
  ['an id with an underscore', patient({ id: 'a_b' }), 'value Patient.id'],
  ['an id of 65 characters', patient({ id: 'a'.repeat(65) }), 'value Patient.id'],
  ['a uri with a blank', patient({ identifier: [{ system: 'http://a b' }] }), 'value Patient.identifier[0].system'],
  ['an empty uri', patient({ implicitRules: '' }), 'value Patient.implicitRules'],
  ['an oid with a leading zero', withExtension({ valueOid: 'urn:oid:1.02' }), 'value Patient.extension[0].value.ofType(oid)'],
  ['a uuid in capitals', withExtension({ valueUuid: 'urn:uuid:C757873D-EC9A-4326-A141-556F43239520' }), 'value Patient.extension[0].value.ofType(uuid)'],
  ['base64 of a broken group', patient({ photo: [{ contentType: 'image/png', data: 'QUJ' }] }), 'value Patient.photo[0].data'],
  ['base64 padded in the middle', patient({ photo: [{ contentType: 'image/png', data: 'QQ==QUJD' }] }), 'value Patient.photo[0].data'],
  ['base64 with other characters', patient({ photo: [{ contentType: 'image/png', data: 'QUJ-' }] }), 'value Patient.photo[0].data'],
  ['meta.lastUpdated that is a date', patient({ meta: { lastUpdated: '2020-01-01' } }), 'value Patient.meta.lastUpdated'],
  // Siblings of primitives
  ['a sibling that is not an object', patient({ _birthDate: 'x' }), 'structure Patient.birthDate'],
  ['a sibling with an unknown element', patient({ birthDate: '2000', _birthDate: { note: 'x' } }), 'structure Patient.birthDate.note'],
  ['an empty sibling', patient({ birthDate: '2000', _birthDate: {} }), 'invariant Patient.birthDate'],
  ['a sibling with an id only and no value', patient({ _birthDate: { id: 'a' } }), 'invariant Patient.birthDate'],
  ['a sibling of a complex element', patient({ _maritalStatus: { id: 'a' } }), 'structure Patient._maritalStatus'],
  ['a sibling of Extension.url', withExtension({ valueCode: 'x', _url: { id: 'a' } }), 'structure Patient.extension[0]._url'],
  ['a sibling of Element.id', patient({ name: [{ text: 'x', _id: { id: 'a' } }] }), 'structure Patient.name[0]._id'],
  ['a single sibling of an array', patient({ name: [{ given: ['x'], _given: { id: 'a' } }] }), 'structure Patient.name[0].given'],
  ['an array beside a single value', patient({ birthDate: '2000', _birthDate: [{ id: 'a' }] }), 'structure Patient.birthDate'],
  ['neither value nor sibling', patient({ name: [{ given: ['x', null], _given: [null, null] }] }), 'structure Patient.name[0].given[1]'],
  ['null in an array without sibling', patient({ name: [{ given: [null, 'x'] }] }), 'structure Patient.name[0].given[0]'],
  ['null in siblings without values', patient({ name: [{ _given: [null] }] }), 'structure Patient.name[0].given[0]'],
  ['siblings of another length', patient({ name: [{ given: ['x', 'y'], _given: [{ id: 'a' }] }] }), 'structure Patient.name[0].given'],
  // Bindings
  ['a code outside its binding', patient({ gender: 'm' }), 'code-invalid Patient.gender'],
  ['a code outside a longer list', { resourceType: 'GraphDefinition', name: 'x', status: 'draft', start: 'Person1' }, 'code-invalid GraphDefinition.start'],
  ['a concept with a code outside its binding', { resourceType: 'Condition', subject: { display: 'x' }, clinicalStatus: { coding: [{ system: 'http://terminology.hl7.org/CodeSystem/condition-clinical', code: 'gone' }] } }, 'code-invalid Condition.clinicalStatus'],
  ['a concept with the code of another system', { resourceType: 'Condition', subject: { display: 'x' }, clinicalStatus: { coding: [{ system: 'http://a.example', code: 'active' }] } }, 'code-invalid Condition.clinicalStatus'],
  ['a concept with text where codes are required', { resourceType: 'Condition', subject: { display: 'x' }, clinicalStatus: { text: 'active' } }, 'code-invalid Condition.clinicalStatus'],
  // References
  ['a reference to a type not allowed', observation({ encounter: { reference: 'Patient/1' } }), 'value Observation.encounter.reference'],
  ['a foreign reference to a type not allowed', observation({ encounter: { reference: 'https://a.example/fhir/Patient/1' } }), 'value Observation.encounter.reference'],
  ['a reference to an unknown type', observation({ subject: { reference: 'Person1/1' } }), 'value Observation.subject.reference'],
  ['a reference that is none', observation({ subject: { reference: 'Patient one' } }), 'value Observation.subject.reference'],
  ['a search as reference, outside a transaction', observation({ subject: { reference: 'Patient?identifier=1' } }), 'value Observation.subject.reference'],
  ['a reference with type only', observation({ subject: { type: 'Patient' } }), 'invariant Observation.subject'],
  ['Reference.type not allowed', observation({ encounter: { type: 'Patient', display: 'x' } }), 'value Observation.encounter.type'],
  ['Reference.type other than the reference', observation({ subject: { type: 'Group', reference: 'Patient/1' } }), 'value Observation.subject.type'],
  ['a contained resource that is missing (ref-1)', observation({ subject: { reference: '#p' } }), 'not-found Observation.subject.reference'],
  ['a canonical of a contained resource that is missing', { resourceType: 'QuestionnaireResponse', status: 'completed', questionnaire: '#q' }, 'not-found QuestionnaireResponse.questionnaire'],
  ['# outside contained resources', observation({ derivedFrom: [{ reference: '#' }] }), 'not-found Observation.derivedFrom[0].reference'],
  ['a contained resource of a type not allowed', observation({ contained: [{ resourceType: 'Patient', id: 'p' }], encounter: { reference: '#p' } }), 'value Observation.encounter.reference'],
  // Contained resources
  ['a contained resource without id', patient({ contained: [{ resourceType: 'Organization', name: 'x' }] }), 'required Patient.contained[0].id'],
  ['contained resources with the same id', patient({ contained: [{ resourceType: 'Organization', id: 'o', name: 'O' }, { resourceType: 'Organization', id: 'o', name: 'O' }], managingOrganization: { reference: '#o' } }), 'duplicate Patient.contained[1].id'],
  ['contained in contained (dom-2)', patient({ contained: [{ resourceType: 'Organization', id: 'o', name: 'O', contained: [{ resourceType: 'Organization', id: 'i', name: 'O' }], partOf: { reference: '#' } }] }), 'value Patient.contained[0].partOf.reference', 'invariant Patient.contained[0].contained'],
  ['a contained resource with a version (dom-4)', patient({ contained: [{ resourceType: 'Organization', id: 'o', name: 'O', meta: { versionId: '1', lastUpdated: '2020-01-01T00:00:00Z' } }], managingOrganization: { reference: '#o' } }), 'invariant Patient.contained[0].meta.versionId', 'invariant Patient.contained[0].meta.lastUpdated'],
  ['a contained resource with security labels (dom-5)', patient({ contained: [{ resourceType: 'Organization', id: 'o', name: 'O', meta: { security: [{ code: 'R' }] } }], managingOrganization: { reference: '#o' } }), 'invariant Patient.contained[0].meta.security'],
  ['a contained resource without a reference to it (dom-3)', patient({ contained: [{ resourceType: 'Organization', id: 'o', name: 'O' }] }), 'warning invariant Patient.contained[0]'],
  ['a contained resource of an unknown type', patient({ contained: [{ resourceType: 'Organisation', id: 'o' }], managingOrganization: { reference: '#o' } }), 'structure Patient.contained[0]', 'value Patient.managingOrganization.reference'],
  ['a finding inside a contained resource', patient({ contained: [{ resourceType: 'Organization', id: 'o', name: 'O', active: 1 }], managingOrganization: { reference: '#o' } }), 'value Patient.contained[0].active'],
  // Extensions
  ['an extension with value and extensions (ext-1)', withExtension({ valueCode: 'x', extension: [{ url: 'a', valueCode: 'x' }] }), 'invariant Patient.extension[0]'],
  ['an extension with neither (ext-1)', withExtension({}), 'invariant Patient.extension[0]'],
  ['an extension without url', patient({ extension: [{ valueCode: 'x' }] }), 'required Patient.extension[0].url'],
  ['an extension within a sibling', patient({ birthDate: '2000', _birthDate: { extension: [{ url: 'a', valueBoolean: 1 }] } }), 'value Patient.birthDate.extension[0].value.ofType(boolean)'],
  // Narratives
  ['a narrative without status', patient({ text: { div: `<div ${XHTML}>x</div>` } }), 'required Patient.text.status'],
  ['a narrative without div', patient({ text: { status: 'empty' } }), 'required Patient.text.div'],
  ['a narrative whose div is not text', withDiv({}), 'structure Patient.text.div'],
  ['a narrative that is not a div', withDiv(`<p ${XHTML}>x</p>`), 'value Patient.text.div'],
  ['a narrative without namespace', withDiv('<div>x</div>'), 'value Patient.text.div'],
  ['a narrative with text beside its div', withDiv(`<div ${XHTML}>x</div>y`), 'value Patient.text.div'],
  ['a narrative with two roots', withDiv(`<div ${XHTML}>x</div><div ${XHTML}>y</div>`), 'value Patient.text.div'],
  ['a narrative that is not closed', withDiv(`<div ${XHTML}><p>x</p>`), 'value Patient.text.div'],
  ['a narrative with crossed tags', withDiv(`<div ${XHTML}><b><i>x</b></i></div>`), 'value Patient.text.div'],
  ['a narrative with an entity of HTML', withDiv(`<div ${XHTML}>a&nbsp;b</div>`), 'value Patient.text.div'],
  ['a narrative with a declaration', withDiv(`<!DOCTYPE div><div ${XHTML}>x</div>`), 'value Patient.text.div'],
  ['a narrative with an attribute given twice', withDiv(`<div ${XHTML}><p id="a" id="b">x</p></div>`), 'value Patient.text.div'],
  ['a narrative that hides markup in a comment', withDiv(`<div ${XHTML}>x<!--> <script>y</script>--></div>`), 'value Patient.text.div'],
  ['a narrative with a script (txt-1)', withDiv(`<div ${XHTML}><script>x</script></div>`), 'invariant Patient.text.div'],
  ['a narrative with an event attribute (txt-1)', withDiv(`<div ${XHTML}><p onclick="x">x</p></div>`), 'invariant Patient.text.div'],
  ['a narrative with a script URL (txt-1)', withDiv(`<div ${XHTML}><a href="java&#115;cript:x()">x</a></div>`), 'invariant Patient.text.div'],
  ['a narrative without content (txt-2)', withDiv(`<div ${XHTML}><p> </p></div>`), 'invariant Patient.text.div'],
  // Resources within resources
  ['a finding inside a Bundle', { resourceType: 'Bundle', type: 'collection', entry: [{ resource: patient({}) }, { resource: patient({ gender: 1 }) }] }, 'value Bundle.entry[1].resource.gender'],
  ['an unknown resource inside a Bundle', { resourceType: 'Bundle', type: 'collection', entry: [{ resource: { resourceType: 'DomainResource' } }] }, 'structure Bundle.entry[0].resource'],
  ['a finding inside Parameters', { resourceType: 'Parameters', parameter: [{ name: 'a', part: [{ name: 'b', resource: patient({ gender: 'm' }) }] }] }, 'code-invalid Parameters.parameter[0].part[0].resource.gender'],
  ['#id of another entry', { resourceType: 'Bundle', type: 'collection', entry: [{ resource: patient({ contained: [{ resourceType: 'Organization', id: 'o', name: 'O' }], managingOrganization: { reference: '#o' } }) }, { resource: patient({ managingOrganization: { reference: '#o' } }) }] }, 'not-found Bundle.entry[1].resource.managingOrganization.reference'],
  ["an element of Medplum's types", { resourceType: 'Project', strictMode: 'yes' }, 'value Project.strictMode'],
]; // prettier-ignore

const GOOD: readonly (readonly [title: string, resource: unknown])[] = [
  ['a resource without elements', patient({})],
  ['members that are undefined, as left out', patient({ name: undefined, nickname: undefined })],
  ['a primitive of an extension only where one is required', observation({ status: undefined, _status: { extension: [{ url: 'http://a.example', valueCode: 'unknown' }] } })],
  ['a sibling with an id beside a value', patient({ birthDate: '2000', _birthDate: { id: 'a' } })],
  ['values and siblings side by side', patient({ name: [{ given: ['x', null], _given: [null, { extension: [{ url: 'http://a.example', valueCode: 'masked' }] }] }] })],
  ['a member of a choice with its sibling', observation({ valueString: 'x', _valueString: { id: 'a' } })],
  ['a leap day and a leap second', observation({ effectiveDateTime: '2020-02-29T23:59:60.123+14:00' })],
  ['years alone', patient({ birthDate: '1980' })],
  ['lone surrogates', patient({ name: [{ text: '\ud800' }] })],
  ['blanks of other scripts', patient({ name: [{ text: 'a\u00a0b\u3000c' }] })],
  ['base64 in lines', patient({ photo: [{ contentType: 'image/png', data: 'QUJD\nQUI=' }] })],
  ['a concept with one coding of its binding', { resourceType: 'Condition', subject: { display: 'x' }, clinicalStatus: { coding: [{ code: 'A' }, { system: 'http://terminology.hl7.org/CodeSystem/condition-clinical', code: 'active' }] } }],
  ['units of UCUM that no list holds', { resourceType: 'EffectEvidenceSynthesis', status: 'draft', population: { display: 'x' }, exposure: { display: 'x' }, exposureAlternative: { display: 'x' }, outcome: { display: 'x' }, effectEstimate: [{ unitOfMeasure: { coding: [{ system: 'http://unitsofmeasure.org', code: 'mmol/(8.h.kg)' }] } }] }],
  ['references by URN, foreign URL, identifier and text', observation({ subject: { reference: 'urn:uuid:c757873d-ec9a-4326-a141-556f43239520' }, encounter: { reference: 'https://a.example/things/1' }, performer: [{ identifier: { value: 'x' } }, { display: 'x' }, { reference: 'Practitioner/1/_history/2', type: 'Practitioner' }] })],
  ['a search as reference in a transaction', { resourceType: 'Bundle', type: 'transaction', entry: [{ request: { method: 'POST', url: 'Observation' }, resource: observation({ subject: { reference: 'Patient?identifier=1' } }) }] }],
  ['contained resources that refer to each other and to their container', patient({ contained: [{ resourceType: 'Organization', id: 'a', name: 'O', partOf: { reference: '#b' } }, { resourceType: 'Organization', id: 'b', name: 'O' }, { resourceType: 'RelatedPerson', id: 'c', patient: { reference: '#' } }], managingOrganization: { reference: '#a' } })],
  ['a contained questionnaire', { resourceType: 'QuestionnaireResponse', status: 'completed', questionnaire: '#q', contained: [{ resourceType: 'Questionnaire', id: 'q', status: 'active' }] }],
  ['an extension of extensions', withExtension({ extension: [{ url: 'part', valueString: 'x' }] })],
  ['an extension whose value is absent for a reason', withExtension({ _valueString: { extension: [{ url: 'http://a.example', valueCode: 'unknown' }] } })],
  ['a rich narrative', withDiv(` <div ${XHTML} style='a'><!-- b --><p class="c">1 &lt; 2 &#160;<br/><a href="http://a.example?x&amp;y">d</a></p><table border="1"><tbody><tr><td colspan="2">e</td></tr></tbody></table></div> `)],
  ['a narrative of an image', withDiv(`<div ${XHTML}><img src="a.png" alt="b"/></div>`)],
  ["Medplum's additions to Meta", patient({ meta: { project: 'p', author: { reference: 'Practitioner/1' } } })],
]; // prettier-ignore

describe('strict validation', () => {
  it.each(STRICT)('finds %s', (_rule, resource, ...findings) => {
    expect(strictFindings(resource)).toEqual(findings);
  });

  it.each(GOOD)('accepts %s', (_title, resource) => {
    expect(strictFindings(resource)).toEqual([]);
  });

  it('misses no required element and no required choice of any resource type', () => {
    for (const resourceType of R4.resourceTypes) {
      const required = [...R4.typeDefinition(resourceType)!.elements.values()]
        .filter((element) => element.required)
        .map((element) => `required ${resourceType}.${element.choiceOf ?? element.name}`);
      const found = strictFindings({ resourceType }).filter((finding) => finding.startsWith('required'));
      expect(found).toEqual([...new Set(required)]);
    }
  });

  it('reads texts of megabytes to the end', () => {
    const long = 800_000;
    const resource = patient({
      implicitRules: `${'x'.repeat(long)} `,
      text: { status: 'generated', div: `<div ${XHTML}>${'<b>x</b>&amp;'.repeat(long / 30)}${'<i>'.repeat(long / 30)}</div>` },
      extension: [
        { url: 'a', valueCode: `${'a '.repeat(long / 2)} ` },
        { url: 'b', valueOid: `urn:oid:1${'.1'.repeat(long / 2)}.` },
        { url: 'c', valueBase64Binary: `${'QUJD\n'.repeat(long / 5)}Q` },
      ],
    }); // prettier-ignore
    expect(strictFindings(resource)).toEqual([
      'value Patient.implicitRules',
      'value Patient.text.div',
      'value Patient.extension[0].value.ofType(code)',
      'value Patient.extension[1].value.ofType(oid)',
      'value Patient.extension[2].value.ofType(base64Binary)',
    ]);
  });

  it('refuses a narrative with more than 100,000 tags and comments', () => {
    const narrative = (paragraphs: number): object =>
      patient({ text: { status: 'generated', div: `<div ${XHTML}>${'<p>a</p>'.repeat(paragraphs)}</div>` } });
    expect(strictFindings(narrative(49_999))).toEqual([]);
    expect(strictFindings(narrative(50_000))).toEqual(['too-costly Patient.text.div']);
  });

  it('names the rule and the expectation, never the content', () => {
    const issues = validateResource(
      R4,
      patient({
        birthDate: 'secret',
        gender: 'secret',
        maritalStatus: 'secret',
        active: 'secret',
        name: [{ use: 'secret' }],
      }),
      { strict: true },
    );
    expect(issues.map((issue) => issue.diagnostics)).toEqual([
      'birthDate must be a date (YYYY, YYYY-MM or YYYY-MM-DD) that exists',
      'gender must be one of male, female, other, unknown',
      'maritalStatus must be an object (CodeableConcept), not a string',
      'active must be true or false',
      'use must be one of usual, official, temp, nickname, anonymous, old, maiden',
    ]);
  });

  it('hints at the typed names of a choice', () => {
    const [issue] = validateResource(R4, observation({ value: 1 }), { strict: true });
    expect(issue!.diagnostics).toMatch(/a choice is named with its type, as in valueQuantity$/);
  });

  it('ends at maxIssues, 100 by default, and no warning hides an error', () => {
    const names = Array.from({ length: 150 }, () => ({ use: 'x' }));
    expect(validateResource(R4, patient({ name: names }), { strict: true })).toHaveLength(100);
    expect(validateResource(R4, patient({ name: names }), { strict: true, maxIssues: 7 })).toHaveLength(7);
    const unreferenced = patient({
      contained: [1, 2, 3].map((id) => ({ resourceType: 'Organization', id: `o${id}`, name: 'O' })),
    });
    const bundle = {
      resourceType: 'Bundle',
      type: 'collection',
      entry: [{ resource: unreferenced }, { resource: patient({ gender: 'x' }) }],
    };
    expect(validateResource(R4, bundle, { strict: true, maxIssues: 2 }).map((issue) => issue.code)).toEqual([
      'code-invalid',
      'invariant',
    ]);
  });
});

describe('validation of any resource', () => {
  const nested = (levels: number): unknown => (levels === 0 ? 'x' : { a: nested(levels - 1) });
  const cyclic: Record<string, unknown> = { resourceType: 'Patient' };
  cyclic['self'] = cyclic;
  let shared: unknown = 'x';
  for (let level = 0; level < 60; level++) shared = [shared, shared];

  const rows: readonly Row[] = [
    ['null', null, 'structure -'],
    ['an array', [], 'structure -'],
    ['a text', 'Patient', 'structure -'],
    ['nothing', undefined, 'structure -'],
    ['no resourceType', { id: 'a' }, 'structure -'],
    ['an unknown resourceType', { resourceType: 'Person1' }, 'structure -'],
    ['an abstract resourceType', { resourceType: 'DomainResource' }, 'structure -'],
    ['a data type', { resourceType: 'HumanName' }, 'structure -'],
    ['the name of a prototype', { resourceType: 'constructor' }, 'structure -'],
    ['a bad id', patient({ id: 'a/b' }), 'value Patient.id'],
    ['an id that is not text', patient({ id: 1 }), 'value Patient.id'],
    ['meta that is not an object', patient({ meta: [] }), 'structure Patient.meta'],
    ['parts of meta of a wrong type', patient({ meta: { versionId: 1, lastUpdated: 2, source: 3, profile: 'x', security: [1], tag: {} } }), 'structure Patient.meta.versionId', 'structure Patient.meta.lastUpdated', 'structure Patient.meta.source', 'structure Patient.meta.profile', 'structure Patient.meta.security', 'structure Patient.meta.tag'],
    ['contained that is not an array', patient({ contained: { resourceType: 'Patient' } }), 'structure Patient.contained'],
    ['contained without resourceType', patient({ contained: [{ resourceType: 'Patient' }, { id: 'a' }] }), 'structure Patient.contained[1]'],
    ['own __proto__', JSON.parse('{"resourceType":"Patient","name":[{"__proto__":{}}]}'), 'structure Patient.name[0].__proto__'],
    ['own constructor and prototype', patient({ a: { constructor: 1 }, prototype: 1 }), 'structure Patient.a.constructor', 'structure Patient.prototype'],
    ['a function', patient({ a: () => 1 }), 'structure Patient.a'],
    ['a BigInt', patient({ a: [1n] }), 'structure Patient.a[0]'],
    ['a symbol', patient({ a: Symbol('x') }), 'structure Patient.a'],
    ['NaN', patient({ a: NaN }), 'structure Patient.a'],
    ['an infinite number', patient({ a: -Infinity }), 'structure Patient.a'],
    ['a Date', patient({ birthDate: new Date(0) }), 'structure Patient.birthDate'],
    ['a Map', patient({ a: new Map() }), 'structure Patient.a'],
    ['undefined in an array', patient({ a: [undefined] }), 'structure Patient.a[0]'],
    ['nesting of 101 levels', patient({ a: nested(100) }), `structure Patient.a${'.a'.repeat(99)}`],
    ['a cycle', cyclic, `structure Patient${'.self'.repeat(100)}`],
  ]; // prettier-ignore

  it.each(rows)('refuses %s', (_rule, resource, ...findings) => {
    const found = validateResource(R4, resource).map((issue) => `${issue.code} ${issue.expression?.[0] ?? '-'}`);
    expect(found).toEqual(findings);
  });

  it('leaves other problems to the strict mode', () => {
    const loose = patient({
      nickname: 'x',
      gender: 1,
      name: { given: [[]] },
      contained: [{ resourceType: 'Thing' }],
      a: nested(99),
    });
    expect(validateResource(R4, loose)).toEqual([]);
  });

  it('accepts objects without prototype', () => {
    expect(validateResource(R4, Object.assign(Object.create(null) as object, { resourceType: 'Patient' }))).toEqual([]);
  });

  it('measures the JSON text exactly to the byte', () => {
    for (const text of ['plain', 'ä€😀', '\u0001"\\\n', '\ud800']) {
      const resource = patient({ name: [{ text: text.repeat(50) }], active: true, a: [1, null, 2.5] });
      const bytes = Buffer.byteLength(JSON.stringify(resource));
      expect(validateResource(R4, resource, { maxBytes: bytes })).toEqual([]);
      expect(validateResource(R4, resource, { maxBytes: bytes - 1 })).toEqual([
        {
          code: 'too-costly',
          diagnostics: `the resource is longer than ${bytes - 1} bytes of JSON text`,
          expression: ['Patient'],
        },
      ]);
    }
  });

  it('writes no JSON text for a resource of half the limit', () => {
    const resource = patient({
      name: Array.from({ length: 50 }, (_, n) => ({ text: `Name ${n}`, period: { start: '2020' } })),
    });
    const stringify = vi.spyOn(JSON, 'stringify');
    expect(validateResource(R4, resource, { maxBytes: 2 * JSON.stringify(resource).length })).toEqual([]);
    expect(stringify).toHaveBeenCalledTimes(1);
    stringify.mockRestore();
  });

  it('refuses the size that shared objects would grow to, without growing it', () => {
    const [issue] = validateResource(R4, patient({ a: shared }));
    expect(issue!.code).toBe('too-costly');
  });

  it('refuses unsafe values in strict mode too, and then stops', () => {
    expect(strictFindings(patient({ gender: 1, a: NaN }))).toEqual(['structure Patient.a']);
  });
});
