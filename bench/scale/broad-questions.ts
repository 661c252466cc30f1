/** A question with matches that grow with the data, and the target for its answer at any size. */
export interface BroadQuestion {
  readonly name: string;
  /** The text for a run. Runs have different values if the question has values. */
  readonly text: (run: number) => string;
  /** Most milliseconds of 19 of 20 answers at a million resources; undefined without a target. */
  readonly target: number | undefined;
  /** The member that asks, with criteria in its access. */
  readonly member?: Member;
  /** The page that gives the cursor of the question, after `$offset` resources. */
  readonly first?: string;
}

/** `final` sees final Observations, `performer` the Observations of one practitioner, `patient` its own compartment. */
export type Member = 'final' | 'performer' | 'patient';

const PAGE = 20;
const TWO_KEYS = 100;
const COUNT = 100;

/** Arguments of a list, constant or computed from the number of the run. */
type Arguments = string | ((run: number) => string);

function page(name: string, type: string, list: Arguments, sort = ''): BroadQuestion {
  return {
    name,
    text: (run) => `{ ${type}List(${joined(argumentsOf(list, run), sorted(sort), '_count: 10')}) { id } }`,
    target: sort.includes(',') ? TWO_KEYS : PAGE,
  };
}

function count(name: string, conditions: Arguments, type = 'Observation'): BroadQuestion {
  const text = (run: number): string => {
    const list = argumentsOf(conditions, run);
    return `{ ${type}Connection${list === '' ? '' : `(${list})`} { count } }`;
  };
  return { name: `count: ${name}`, text, target: COUNT };
}

function deep(name: string, conditions: string, sort: string): BroadQuestion {
  const list = joined(conditions, sorted(sort), '_count: 10');
  const shown = '{ next edges { resource { id } } }';
  return {
    name: `deep cursor: ${name}`,
    first: `query ($offset: Int) { ObservationConnection(${list}, _offset: $offset) ${shown} }`,
    text: () => `query ($cursor: String) { ObservationConnection(${list}, _cursor: $cursor) ${shown} }`,
    target: sort.includes(',') ? TWO_KEYS : PAGE,
  };
}

function byMember(member: Member, question: BroadQuestion): BroadQuestion {
  return { ...question, name: `policy ${member}: ${question.name}`, member };
}

/** Removes the target of a question. Its cost grows with the data: an order by a reference, a count by several conditions. */
function withoutTarget(question: BroadQuestion): BroadQuestion {
  return { ...question, target: undefined };
}

function argumentsOf(list: Arguments, run: number): string {
  return typeof list === 'string' ? list : list(run);
}

function sorted(sort: string): string {
  return sort === '' ? '' : `_sort: "${sort}"`;
}

function joined(...parts: readonly string[]): string {
  return parts.filter((part) => part !== '').join(', ');
}

/** A year of the data: 2000 to 2021. */
function year(run: number): number {
  return 2000 + (run % 21);
}

/** A code of LOINC; the first ones are frequent. */
function code(run: number): string {
  return `c${run * run}`;
}

/** At least one for each kind of sort, ascending and descending: date, token, string, quantity, URI, reference, instant, id. */
const ORDERS: readonly BroadQuestion[] = [
  page('latest by date', 'Observation', '', '-date'),
  page('earliest by date', 'Observation', '', 'date'),
  page('most recently updated', 'Observation', '', '-_lastUpdated'),
  page('last ids', 'Observation', '', '-_id'),
  page('by status', 'Observation', '', 'status'),
  page('by code', 'Observation', '', 'code'),
  page('by category, repeating', 'Observation', '', '-category'),
  page('lowest values', 'Observation', '', 'value-quantity'),
  page('by a date that no resource has', 'Observation', '', 'value-date'),
  page('final, by a date that no resource has', 'Observation', 'status: "final"', '-value-date'),
  page('patients by family name', 'Patient', '', 'family'),
  page('patients by family name, last first', 'Patient', '', '-family'),
  page('patients by a date that few have', 'Patient', '', 'death-date'),
  page('encounters by date', 'Encounter', '', '-date'),
  page('conditions by onset, mostly missing', 'Condition', '', 'onset-date'),
  page('requests by URI, repeating, half missing', 'ServiceRequest', '', 'instantiates-uri'),
  page('active requests by URI, last first', 'ServiceRequest', 'status: "active"', '-instantiates-uri'),
  withoutTarget(page('by subject', 'Observation', '', 'subject')),
  withoutTarget(page('final, by performer', 'Observation', 'status: "final"', '-performer')),
  page('by status, then date', 'Observation', '', 'status,-date'),
  page('by date, then code', 'Observation', '', '-date,code'),
  page('by code, then date', 'Observation', '', 'code,-date'),
  page('patients by gender, then family name', 'Patient', '', 'gender,family'),
  page('requests by intent, then date', 'ServiceRequest', '', 'intent,-authored'),
];

const CONDITIONS: readonly BroadQuestion[] = [
  page('final, by id', 'Observation', 'status: "final"'),
  page('final, latest by date', 'Observation', 'status: "final"', '-date'),
  page('final, most recently updated', 'Observation', 'status: "final"', '-_lastUpdated'),
  page('amended, latest by date', 'Observation', 'status: "amended"', '-date'),
  page('amended, by id', 'Observation', 'status: "amended"'),
  page('preliminary, earliest', 'Observation', 'status: "preliminary"', 'date'),
  page('not final, latest', 'Observation', '_filter: "not (status eq final)"', '-date'),
  page('status ne final, latest', 'Observation', '_filter: "status ne final"', '-date'),
  page('mixture in _filter', 'Observation', '_filter: "status eq final and not (category eq vital-signs)"', '-date'),
  page('above a value, highest first', 'Observation', (run) => `value_quantity: "gt${run * 10}"`, '-value-quantity'),
  page('above a value, latest', 'Observation', (run) => `value_quantity: "gt${run * 10}"`, '-date'),
  page('since a given year, earliest first', 'Observation', (run) => `date: "ge${year(run)}"`, 'date'),
  page('before a given year, latest', 'Observation', (run) => `date: "lt${year(run)}"`, '-date'),
  page('of a code, latest', 'Observation', (run) => `code: "${code(run)}"`, '-date'),
  page('of a code, by value', 'Observation', (run) => `code: "${code(run)}"`, 'value-quantity'),
  page('without date, by value', 'Observation', '_filter: "date pr false"', 'value-quantity'),
  page('registered, all old, latest', 'Observation', 'status: "registered"', '-date'),
  page('registered, by value', 'Observation', 'status: "registered"', '-value-quantity'),
  page('since a given year, by id', 'Observation', (run) => `date: "ge${year(run)}"`),
  page('before a given year, most recently updated', 'Observation', (run) => `date: "lt${year(run)}"`, '-_lastUpdated'),
  page('conditions that exclude each other', 'Observation', 'method: "manual", device: "Device/d1"', '-date'),
  page('halves that exclude each other, by id', 'Observation', 'method: "manual", device: "Device/d1"'),
  page('since a given year, by last update', 'Observation', (run) => `date: "ge${year(run)}"`, '_lastUpdated'),
  page(
    'since a given year and above 190, by id',
    'Observation',
    (run) => `date: "ge${year(run)}", value_quantity: "gt190"`,
  ),
  page('registered, of a code, latest', 'Observation', (run) => `status: "registered", code: "${code(run)}"`, '-date'),
  page('of male patients, by a chain', 'Observation', '_filter: "subject.gender eq male"', '-date'),
  page(
    'blood pressures by a composite',
    'Observation',
    (run) => `component_code_value_quantity: "8480-6$gt${150 + run}"`,
    '-date',
  ),
  page('a rare unit', 'Observation', (run) => `value_quantity: "gt${180 + run}|http://unitsofmeasure.org|ug"`, '-date'),
  page('updated before all others', 'Observation', '_lastUpdated: "lt2020"', '-date'),
  page('of a performer, latest', 'Observation', (run) => `performer: "Practitioner/p${run + 1}"`, '-date'),
  page(
    'three conditions',
    'Observation',
    (run) => `status: "final", date: "ge${year(run)}", code: "${code(run)}"`,
    'value-quantity',
  ),
  page(
    'nested or in _filter',
    'Observation',
    '_filter: "(status eq amended or status eq preliminary) and not (category eq exam)"',
    'date',
  ),
  page('planned encounters, latest', 'Encounter', 'status: "planned"', '-date'),
  page('cancelled encounters, all old, latest', 'Encounter', 'status: "cancelled"', '-date'),
  page('long encounters, all new, earliest', 'Encounter', (run) => `length: "gt${400 + run * 20}"`, 'date'),
  page('old encounters, all short, longest', 'Encounter', (run) => `date: "lt${year(run)}"`, '-length'),
  page('cancelled and long encounters, by id', 'Encounter', 'status: "cancelled", length: "gt700"'),
  page('cancelled encounters by class, latest', 'Encounter', 'status: "cancelled"', 'class,-date'),
  page('finished encounters by date', 'Encounter', 'status: "finished"', '-date'),
  page('encounters since a given year', 'Encounter', (run) => `date: "ge${year(run)}"`, '-date'),
  page('active conditions, latest recorded', 'Condition', 'clinical_status: "active"', '-recorded-date'),
  page('male patients by birthdate', 'Patient', 'gender: "male"', 'birthdate'),
  page(
    'patients whose family name contains a text',
    'Patient',
    (run) => `_filter: "family co ${['ari', 'ulle', 'row', 'jone', 'vries'][run % 5]!}"`,
    'birthdate',
  ),
];

const COUNTS: readonly BroadQuestion[] = [
  count('all', ''),
  count('final', 'status: "final"'),
  count('not final', '_filter: "not (status eq final)"'),
  count('above a value', (run) => `value_quantity: "gt${run * 10}"`),
  count('since a given year', (run) => `date: "ge${year(run)}"`),
  count('of a repeating code', 'category: "exam"'),
  count('of one of two repeating codes', 'category: ["exam", "laboratory"]'),
  count('with another code', '_filter: "category ne exam"'),
  count('of a performer', (run) => `performer: "Practitioner/p${run + 1}"`),
  count('without a date', '_filter: "date pr false"'),
  count('orders', 'intent: "order"', 'ServiceRequest'),
  count('halves that exclude each other', 'method: "manual", device: "Device/d1"'),
  withoutTarget(count('two conditions', (run) => `status: "final", value_quantity: "gt${run * 10}"`)),
  withoutTarget(count('two halves', 'status: "final", method: "manual"')),
];

const RESTRICTED: readonly BroadQuestion[] = [
  byMember('final', page('latest', 'Observation', '', '-date')),
  byMember(
    'final',
    page('above a value, latest', 'Observation', (run) => `value_quantity: "gt${run * 10}"`, '-date'),
  ),
  byMember('final', page('amended, all hidden', 'Observation', 'status: "amended"', '-date')),
  byMember('performer', page('latest', 'Observation', '', '-date')),
  byMember('performer', page('by value', 'Observation', '', 'value-quantity')),
  byMember('patient', page('latest', 'Observation', '', '-date')),
  byMember(
    'patient',
    page('since a given year, by id', 'Observation', (run) => `date: "ge${year(run)}"`),
  ),
];

const DEEP: readonly BroadQuestion[] = [
  deep('by date', '', '-date'),
  deep('by id', '', ''),
  deep('final, by value', 'status: "final"', 'value-quantity'),
  deep('by status, then date', '', 'status,-date'),
];

export const BROAD_QUESTIONS: readonly BroadQuestion[] = [...ORDERS, ...CONDITIONS, ...COUNTS, ...RESTRICTED, ...DEEP];
