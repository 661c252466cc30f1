import type { Draw } from './draw.js';
import type { Field } from './fields.js';

/** One value of a search parameter. */
export interface Value {
  /** The value in the resource. */
  readonly fhir: unknown;
  /** The value in a search for exactly this value. */
  readonly search: string;
  /** The same without its system or unit. */
  readonly short: string;
  /** The system of a code or an identifier; the system and the code of a unit. */
  readonly system: string;
  /** The number of a quantity, the instant of a date. */
  readonly number: number;
}

/** The most different values of a parameter. */
export function sizesOf({ kind, of }: Field, resources: number, targets: number): readonly number[] {
  switch (kind) {
    case 'code':
      return [of.length];
    case 'concept':
      return [2, 12, 200, 3_000];
    case 'identifier':
      return [resources];
    case 'date':
      return [DAYS];
    case 'quantity':
      return [10, 300, 20_000];
    case 'number':
      return [20, 1_000];
    case 'string':
      return [15, 400, 20_000, 500_000];
    case 'uri':
      return [5, 200];
    case 'reference':
      return [3, 60, targets, targets];
    case 'component':
      return [40, 400];
  }
}

/**
 * @param number of the value, from 0 to below `values`
 * @param variant of its system, unit or form, from 0
 * @param target the reference by the number of its target
 */
export function makeValue(
  field: Field,
  number: number,
  values: number,
  variant: number,
  draw: Draw,
  target: (number: number) => string,
): Value {
  switch (field.kind) {
    case 'code':
      return plain(field.of[number]!);
    case 'concept':
      return concept(`urn:${field.parameter}:${variant}`, `c${number}`);
    case 'identifier': {
      const [system, value] = [`urn:ids:${variant}`, `n${number}`];
      return { fhir: { system, value }, search: `${system}|${value}`, short: value, system, number };
    }
    case 'date':
      return date(field.of[variant % field.of.length]!, number, draw);
    case 'quantity':
      return quantity(number / 10, UNITS[variant]!);
    case 'number':
      return { ...plain(String(number / values)), fhir: number / values, number: number / values };
    case 'string':
      return plain(word(number));
    case 'uri':
      return plain(`http://example.org/${number % 3}/p${number}`);
    case 'reference': {
      const reference = target(number);
      return { ...plain(reference), fhir: { reference } };
    }
    case 'component': {
      const [code, value] = [concept('urn:component', `c${variant}`), quantity(number, UNITS[0]!)];
      const fhir = { code: code.fhir, valueQuantity: value.fhir };
      return { ...value, fhir, search: code.short, short: code.short };
    }
  }
}

function plain(text: string): Value {
  return { fhir: text, search: text, short: text, system: '', number: 0 };
}

function concept(system: string, code: string): Value {
  const fhir = { coding: [{ system, code }], text: `Text of ${code}` };
  return { fhir, search: `${system}|${code}`, short: code, system, number: 0 };
}

function quantity(value: number, code: string): Value {
  const fhir = { value, unit: code, system: UCUM, code };
  return { fhir, search: `${value}|${UCUM}|${code}`, short: String(value), system: `${UCUM}|${code}`, number: value };
}

/** A tenth of the dates have only a year or a month, and some periods have no end. */
function date(form: string, day: number, draw: Draw): Value {
  const number = START + day * DAY + draw.below(24) * 3_600_000 + draw.below(60) * 60_000;
  const text = new Date(number).toISOString();
  const short = text.slice(0, form === 'instant' || draw.isTrue(0.5) ? 16 : 10);
  if (form === 'instant') return { fhir: text, search: text, short, system: '', number };
  if (form !== 'period') {
    const digits = draw.isTrue(0.05) ? 4 : draw.isTrue(0.05) ? 7 : form === 'date' || draw.isTrue(0.4) ? 10 : 0;
    const fhir = digits === 0 ? text : text.slice(0, digits);
    return { fhir, search: fhir, short, system: '', number };
  }
  const length = draw.isTrue(0.1) ? draw.below(400) : draw.below(5);
  const end = new Date(number + length * DAY).toISOString();
  const fhir = { start: text, ...(draw.isTrue(0.1) ? {} : { end }) };
  return { fhir, search: text.slice(0, 10), short, system: '', number };
}

/** A word by its number, some with accents, capitals and spaces. */
export function word(number: number): string {
  let [text, rest] = ['', number];
  do {
    text += SYLLABLES[rest % SYLLABLES.length]!;
    rest = Math.floor(rest / SYLLABLES.length);
  } while (rest > 0);
  const capital = text[0]!.toUpperCase() + text.slice(1);
  return number % 11 === 3 ? `de ${capital}` : number % 13 === 5 ? text.toUpperCase() : capital;
}

/** Range of the dates, since 2000. */
const DAYS = 8_000;
const DAY = 86_400_000;
const START = Date.UTC(2000, 0, 1);
const UCUM = 'http://unitsofmeasure.org';
const UNITS = ['mg', 'g', 'ug'];
const SYLLABLES = 'mül an ber ó ki sø la tan ré o’h vi ñu do ge st ham por ay le zie'.split(' ');
