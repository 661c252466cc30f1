import type { FhirModel } from '../../fhir/model/fhir-model.js';
import { SEARCH_CONTROLS } from './arguments.js';
import type { FieldDescriptor } from './fields.js';

/**
 * How many of the fields and arguments that queries may use appear in a schema for tools. All elements, inputs and root
 * fields of its types always appear.
 *
 * - `whole`: all of them; in schemas of more than 20 types, reverse lists by a parameter with any target type
 *   (`ProvenanceList`, `TaskList`) take `_filter` instead of search parameters: there are 12,000 of them.
 * - `brief`: for the introspection of all types, which would have 30 MB otherwise. Below a resource there are lists and no
 *   connections, of parameters that name the type of the resource or between common types; their search parameters are
 *   shown below Patient, elsewhere `_filter` says the same; so it does for changes of less common types. Extensions are
 *   filtered by `url`, elements of less common types by `fhirpath`. Filters and inputs have no descriptions: the fields
 *   have them, and the lists at the root. Fields like `_birthDate` have none.
 */
export type SchemaDetail = 'whole' | 'brief';

/** The rules for the fields and arguments that a schema for tools leaves out. */
export interface DetailRules {
  readonly model: FhirModel;
  readonly detail: SchemaDetail;
  /** The number of resource types in the schema. */
  readonly types: number;
}

/** Whether a schema shows a field of a type. */
export function showsField({ model, detail }: DetailRules, parent: string, field: FieldDescriptor): boolean {
  if (detail === 'whole' || !isReverse(field)) return true;
  if (field.kind === 'connection') return false;
  return (COMMON_TYPES.has(parent) && COMMON_TYPES.has(field.type)) || isMeantFor(model, parent, field.type);
}

/** Whether a schema shows an argument of a field. */
export function showsArgument(rules: DetailRules, parent: string, field: FieldDescriptor): (name: string) => boolean {
  const { model, detail, types } = rules;
  if (isReverse(field)) {
    if (detail === 'brief' && parent !== 'Patient') return (name) => BRIEF_CONTROLS.has(name);
    if (types <= MANY || isMeantFor(model, parent, field.type)) return ALL;
    return (name) => SEARCH_CONTROLS.has(name);
  }
  if (detail === 'brief' && field.kind === 'changes' && !COMMON_TYPES.has(field.type))
    return (name) => name === '_filter';
  if (detail === 'whole' || field.kind !== 'element') return ALL;
  if (field.element.type === 'Extension') return (name) => name === 'url';
  return isCommon(model, parent) ? ALL : (name) => name === 'fhirpath';
}

const ALL = (): boolean => true;

const BRIEF_CONTROLS: ReadonlySet<string> = new Set(['_reference', '_filter', '_sort', '_count']);

/** Up to this many types need no reduction. */
const MANY = 20;

type ReverseField = FieldDescriptor & { readonly kind: 'list' | 'connection' };

function isReverse(field: FieldDescriptor): field is ReverseField {
  return (field.kind === 'list' || field.kind === 'connection') && field.reverse;
}

/** True for data types, common resource types and their backbone elements. */
function isCommon(model: FhirModel, type: string): boolean {
  const resource = model.typeDefinition(type)?.path?.split('.')[0] ?? type;
  return !model.isResourceType(resource) || COMMON_TYPES.has(resource);
}

/** Whether a reference parameter of `type` names the target, rather than any resource. */
function isMeantFor(model: FhirModel, target: string, type: string): boolean {
  return [...model.searchParameters(type).values()].some(
    ({ type: kind, targets }) => kind === 'reference' && targets?.includes(target) === true,
  );
}

/**
 * The resource types of most records. The schema for tools has every detail of them, whereas that of all 150 types would
 * be larger than tools can read.
 */
export const COMMON_TYPES: ReadonlySet<string> = new Set([
  ...['Patient', 'Practitioner', 'PractitionerRole', 'RelatedPerson', 'Organization', 'Location', 'Device'],
  ...['Encounter', 'Appointment', 'Observation', 'DiagnosticReport', 'Specimen', 'Condition', 'Procedure'],
  ...[
    'AllergyIntolerance',
    'Immunization',
    'Medication',
    'MedicationRequest',
    'ServiceRequest',
    'CarePlan',
    'CareTeam',
  ],
  ...['Goal', 'Task', 'Communication', 'DocumentReference', 'Questionnaire', 'QuestionnaireResponse', 'Coverage'],
  ...['Consent', 'Provenance'],
]);
