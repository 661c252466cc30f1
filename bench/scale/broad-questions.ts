/** A question whose matches grow with the data, and what its answer should cost all the same. */
export interface BroadQuestion {
  readonly name: string;
  readonly text: string;
  /** Milliseconds that 19 of 20 answers take at most at a million resources. */
  readonly target: number;
  /** Asked by a member whose policy has criteria. */
  readonly underPolicy?: boolean;
  /** Asked again from its middle, by a cursor: this many pages further. */
  readonly pages?: number;
}

const PAGE = 20;
const TWO_KEYS = 100;
const COUNT = 100;

function page(name: string, list: string, target = PAGE): BroadQuestion {
  return { name, text: `{ ${list.slice(0, -1)}, _count: 10) { id } }`, target };
}

function count(name: string, conditions: string): BroadQuestion {
  return { name, text: `{ ObservationConnection(${conditions}) { count } }`, target: COUNT };
}

/** At least one for each kind of sort: date, token, string, number, instant of change, id; up, down and by two keys. */
export const BROAD_QUESTIONS: readonly BroadQuestion[] = [
  page('latest by date', 'ObservationList(_sort: "-date")'),
  page('earliest by date', 'ObservationList(_sort: "date")'),
  page('latest updated', 'ObservationList(_sort: "-_lastUpdated")'),
  page('last ids', 'ObservationList(_sort: "-_id")'),
  page('final, by id', 'ObservationList(status: "final")'),
  page('final, latest by date', 'ObservationList(status: "final", _sort: "-date")'),
  page('final, latest updated', 'ObservationList(status: "final", _sort: "-_lastUpdated")'),
  page('amended, latest by date', 'ObservationList(status: "amended", _sort: "-date")'),
  page('amended, by id', 'ObservationList(status: "amended")'),
  page('preliminary, earliest', 'ObservationList(status: "preliminary", _sort: "date")'),
  page('not final, latest', 'ObservationList(_filter: "not (status eq final)", _sort: "-date")'),
  page('status ne final, latest', 'ObservationList(_filter: "status ne final", _sort: "-date")'),
  page(
    'mixture in _filter',
    'ObservationList(_filter: "status eq final and not (category eq vital-signs)", _sort: "-date")',
  ),
  page('by status', 'ObservationList(_sort: "status")'),
  page('by code', 'ObservationList(_sort: "code")'),
  page('by category, repeating', 'ObservationList(_sort: "-category")'),
  page('lowest values', 'ObservationList(_sort: "value-quantity")'),
  page('above 100, highest first', 'ObservationList(value_quantity: "gt100", _sort: "-value-quantity")'),
  page('above 100, latest', 'ObservationList(value_quantity: "gt100", _sort: "-date")'),
  page('since 2020, from the first', 'ObservationList(date: "ge2020", _sort: "date")'),
  page('before 2002, latest', 'ObservationList(date: "lt2002", _sort: "-date")'),
  page('of a code, latest', 'ObservationList(code: "c3", _sort: "-date")'),
  page('of a rare code, by value', 'ObservationList(code: "c190", _sort: "value-quantity")'),
  page('without date, by value', 'ObservationList(_filter: "date pr false", _sort: "value-quantity")'),
  page('a tenth far from the latest', 'ObservationList(status: "registered", _sort: "-date")'),
  page('a tenth, by value', 'ObservationList(status: "registered", _sort: "-value-quantity")'),
  page('since 2015, by id', 'ObservationList(date: "ge2015")'),
  page('before 2005, last updated', 'ObservationList(date: "lt2005", _sort: "-_lastUpdated")'),
  page('conditions that exclude each other', 'ObservationList(method: "manual", device: "Device/d1", _sort: "-date")'),
  page('halves that exclude each other, by id', 'ObservationList(method: "manual", device: "Device/d1")'),
  page('since 2015, by instant of change', 'ObservationList(date: "ge2015", _sort: "_lastUpdated")'),
  page('since 2015 and above 190, by id', 'ObservationList(date: "ge2015", value_quantity: "gt190")'),
  page('a tenth of a code, latest', 'ObservationList(status: "registered", code: "c3", _sort: "-date")'),
  page('planned encounters, latest', 'EncounterList(status: "planned", _sort: "-date")'),
  page('cancelled encounters, all old, latest', 'EncounterList(status: "cancelled", _sort: "-date")'),
  page('long encounters, all new, earliest', 'EncounterList(length: "gt700", _sort: "date")'),
  page('old encounters, all short, longest', 'EncounterList(date: "lt2005", _sort: "-length")'),
  page('cancelled and long encounters, by id', 'EncounterList(status: "cancelled", length: "gt700")'),
  page('cancelled encounters by class, latest', 'EncounterList(status: "cancelled", _sort: "class,-date")', TWO_KEYS),
  page('three conditions', 'ObservationList(status: "final", date: "ge2015", code: "c3", _sort: "value-quantity")'),
  page(
    'nested or in _filter',
    'ObservationList(_filter: "(status eq amended or status eq preliminary) and not (category eq exam)", _sort: "date")',
  ),
  page('of a gender, by a chain', 'ObservationList(_filter: "subject.gender eq male", _sort: "-date")'),
  page('pressures by a composite', 'ObservationList(component_code_value_quantity: "8480-6$gt170", _sort: "-date")'),
  page('a rare unit', 'ObservationList(value_quantity: "gt199|http://unitsofmeasure.org|ug", _sort: "-date")'),
  page('changed before all others', 'ObservationList(_lastUpdated: "lt2020", _sort: "-date")'),
  page('of a broad performer', 'ObservationList(performer: "Practitioner/p1", _sort: "-date")'),
  page('patients by family', 'PatientList(_sort: "family")'),
  page('patients by family, last first', 'PatientList(_sort: "-family")'),
  page('male patients by birthdate', 'PatientList(gender: "male", _sort: "birthdate")'),
  page('patients whose family contains', 'PatientList(_filter: "family co ari", _sort: "birthdate")'),
  page('patients by a date that few have', 'PatientList(_sort: "death-date")'),
  page('encounters by date', 'EncounterList(_sort: "-date")'),
  page('finished encounters by date', 'EncounterList(status: "finished", _sort: "-date")'),
  page('encounters since 2020', 'EncounterList(date: "ge2020", _sort: "-date")'),
  page('conditions by onset, mostly missing', 'ConditionList(_sort: "onset-date")'),
  page('active conditions, latest recorded', 'ConditionList(clinical_status: "active", _sort: "-recorded-date")'),
  page('by status, then date', 'ObservationList(_sort: "status,-date")', TWO_KEYS),
  page('by date, then code', 'ObservationList(_sort: "-date,code")', TWO_KEYS),
  page('by code, then date', 'ObservationList(_sort: "code,-date")', TWO_KEYS),
  page('patients by gender, then family', 'PatientList(_sort: "gender,family")', TWO_KEYS),
  { name: 'number of all', text: '{ ObservationConnection { count } }', target: COUNT },
  count('number of final', 'status: "final"'),
  count('number not final', '_filter: "not (status eq final)"'),
  count('number above 100', 'value_quantity: "gt100"'),
  count('number since 2020', 'date: "ge2020"'),
  count('number of a repeating code', 'category: "exam"'),
  count('number of two repeating codes', 'category: ["exam", "laboratory"]'),
  count('number with another code', '_filter: "category ne exam"'),
  count('number of a broad performer', 'performer: "Practitioner/p1"'),
  count('number of halves that exclude each other', 'method: "manual", device: "Device/d1"'),
  count('number of two conditions', 'status: "final", value_quantity: "gt100"'),
  count('number of two halves', 'status: "final", method: "manual"'),
  { ...page('under a policy, latest', 'ObservationList(_sort: "-date")'), underPolicy: true },
  {
    ...page('under a policy, above 100', 'ObservationList(value_quantity: "gt100", _sort: "-date")'),
    underPolicy: true,
  },
  {
    name: 'deep cursor by date',
    text: 'query ($cursor: String) { ObservationConnection(_sort: "-date", _count: 10, _cursor: $cursor) { next edges { resource { id } } } }',
    target: PAGE,
    pages: 200,
  },
];
