import { createHash } from 'node:crypto';

/**
 * Generated resources that are hard to order and to find:
 *
 * - Skewed: nearly all Observations are final and nearly all ServiceRequests are orders; a few codes are frequent.
 * - Correlated: the dates of Observations follow their ids, the newest are preliminary, a tenth near the beginning is
 *   registered. The status and the length of Encounters follow their dates, but neither ids nor the order of writing.
 * - Not correlated: the dates of Encounters, Conditions and ServiceRequests are random.
 * - Half of the Observations have a method and the other half a device, so no resource meets conditions on both.
 * - Values repeat within resources and among them; units differ.
 * - Missing: one of 40 Observations has no date, two of three Conditions no onset, and no Observation has a `value-date`.
 * - Most resources refer to one practitioner and one organization.
 */
export function* skewedLines(size: number, from = 0, to = size): Generator<string> {
  const patients = Math.max(10, Math.floor(size / 20));
  for (let index = from; index < to; index++) {
    const chance = randomOf(index);
    const subject = { reference: `Patient/${patientId(chance(patients))}` };
    const kind = index % 20;
    if (kind === 0) yield line(patient(index / 20, chance));
    else if (kind < 15) yield line({ ...observation(index, index / size, chance), subject });
    else if (kind < 17) yield line({ ...encounter(index, chance), subject });
    else if (kind < 19) yield line({ ...condition(index, chance), subject });
    else yield line({ ...serviceRequest(index, chance), subject });
  }
}

export function patientId(number: number): string {
  return uuid('p', number);
}

/** Integers from 0 to below the bound. */
type Chance = (bound: number) => number;

function patient(number: number, chance: Chance): object {
  return {
    resourceType: 'Patient',
    id: patientId(number),
    gender: number % 2 === 0 ? 'female' : 'male',
    birthDate: day(-25_000 + chance(30_000)),
    name: [
      {
        family: `${FAMILIES[chance(FAMILIES.length)]!}${chance(3) === 0 ? '' : chance(500)}`,
        given: ['Ann', `B${chance(90)}`],
      },
    ],
    address: [{ city: CITIES[chance(CITIES.length)] }],
    ...(chance(50) === 0 ? { deceasedDateTime: day(chance(DAYS)) } : {}),
  };
}

/** @param at position in the data, from 0 to 1 */
function observation(index: number, at: number, chance: Chance): object {
  const days = Math.floor(at * DAYS) + chance(3);
  return {
    resourceType: 'Observation',
    id: `o${String(index).padStart(9, '0')}`,
    status: statusOf(at, chance),
    ...(index % 2 === 0 ? { device: { reference: 'Device/d1' } } : { method: coding('method', 'manual') }),
    performer: [{ reference: `Practitioner/p${chance(5) === 0 ? chance(50) : 1}` }],
    category: [
      coding('category', chance(4) === 0 ? 'vital-signs' : 'laboratory'),
      ...(chance(10) === 0 ? [] : [coding('category', 'exam')]),
    ],
    code: coding('http://loinc.org', `c${Math.floor((chance(1000) * chance(1000)) / 5_000)}`),
    ...(chance(40) === 0
      ? {}
      : chance(20) === 0
        ? { effectivePeriod: { start: day(days), end: day(days + chance(5)) } }
        : { effectiveDateTime: `${day(days)}T${String(chance(24)).padStart(2, '0')}:00:00Z` }),
    valueQuantity: quantity(chance(2_000) / 10, UNITS[chance(100)] ?? 'mg'),
    ...(index % 7 === 0
      ? { component: [component('8480-6', 90 + chance(90)), component('8462-4', 50 + chance(60))] }
      : {}),
  };
}

function statusOf(at: number, chance: Chance): string {
  if (at >= 0.99) return 'preliminary';
  if (at >= 0.1 && at < 0.2) return 'registered';
  return chance(200) === 0 ? 'amended' : 'final';
}

function component(code: string, pressure: number): object {
  return { code: coding('http://loinc.org', code), valueQuantity: quantity(pressure, 'mm[Hg]') };
}

function quantity(value: number, code: string): object {
  return { value, code, system: 'http://unitsofmeasure.org' };
}

/** The units of ten in a hundred values. The other values are in milligrams. */
const UNITS: readonly string[] = ['ug', ...new Array<string>(9).fill('g')];

function encounter(index: number, chance: Chance): object {
  const start = chance(DAYS);
  return {
    resourceType: 'Encounter',
    id: uuid('e', index),
    status: chance(100) === 0 ? 'planned' : start < 2_000 ? 'cancelled' : 'finished',
    length: quantity(Math.floor(start / 10) + chance(20), 'min'),
    class: { system: 'urn:class', code: chance(5) === 0 ? 'IMP' : 'AMB' },
    serviceProvider: { reference: `Organization/o${chance(10) === 0 ? chance(50) : 1}` },
    period: {
      start: day(start),
      ...(chance(20) === 0 ? {} : { end: day(start + (chance(10) === 0 ? chance(30) : 0)) }),
    },
  };
}

function condition(index: number, chance: Chance): object {
  return {
    resourceType: 'Condition',
    id: uuid('c', index),
    clinicalStatus: coding('clinical', chance(10) < 3 ? 'resolved' : 'active'),
    code: coding('http://snomed.info/sct', String(chance(3_000))),
    ...(chance(3) === 0 ? { onsetDateTime: day(chance(DAYS)) } : {}),
    ...(chance(1_000) === 0 ? {} : { recordedDate: day(chance(DAYS)) }),
  };
}

function serviceRequest(index: number, chance: Chance): object {
  return {
    resourceType: 'ServiceRequest',
    id: uuid('s', index),
    status: chance(3) === 0 ? 'active' : 'completed',
    intent: chance(1_000) === 0 ? 'plan' : 'order',
    authoredOn: day(chance(DAYS)),
    ...(chance(2) === 0 ? { instantiatesUri: [`urn:protocol:${chance(100)}`, `urn:protocol:${chance(100)}`] } : {}),
  };
}

function coding(system: string, code: string): object {
  return { coding: [{ system, code }] };
}

function line(resource: object): string {
  return `${JSON.stringify(resource)}\n`;
}

/** Days since 2000. */
function day(number: number): string {
  return new Date(Date.UTC(2000, 0, 1) + number * 86_400_000).toISOString().slice(0, 10);
}

function uuid(kind: string, number: number): string {
  return createHash('md5')
    .update(`${kind}${number}`)
    .digest('hex')
    .replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
}

/** Gives the same numbers for the same resource. */
function randomOf(seed: number): Chance {
  let state = (seed + 1) * 0x9e3779b1;
  return (bound) => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) % bound;
  };
}

/** Range of the dates. */
const DAYS = 8_000;
const FAMILIES = ['Müller', 'Smith', 'Kulas', "O'Hara", 'Zieme', 'Adams', 'Brown', 'Jones-Lee', 'Ärger', 'de Vries'];
const CITIES = ['Boston', 'Salem', 'Springfield', 'Zürich', 'Ulm'];
