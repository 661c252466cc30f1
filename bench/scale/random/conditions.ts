import type { Draw } from './draw.js';
import type { Composite } from './fields.js';
import type { DataField, DataType, RandomData } from './random-data.js';
import type { Value } from './values.js';

/** A condition of a certain kind; each call of `write` uses different values. */
export interface Condition {
  readonly name: string;
  readonly write: (draw: Draw) => Written;
}

/** The same condition in both forms. */
export interface Written {
  /** An argument of a list: its name, and its value in GraphQL. Not every condition has this form. */
  readonly argument?: readonly [string, string];
  /** A part of `_filter`. */
  readonly filter: string;
  /** Whether the filter is one comparison, which can be at the end of a chain. */
  readonly isOne: boolean;
}

/** Conditions on one parameter of the type. */
export function fieldCondition(data: RandomData, type: DataType, field: DataField, draw: Draw): Condition {
  const forms = FORMS[field.kind];
  const [form, write] = draw.oneOf(Object.entries(field.kind === 'component' ? forms : { ...forms, ...ANY_KIND }));
  const value = (run: Draw): Value => someValue(data, type, field, run);
  return { name: `${field.kind} ${form}`, write: (run) => write(field.parameter, () => value(run), run) };
}

/** `_id` and `_lastUpdated`. */
export function ownCondition(data: RandomData, { type, count }: DataType, draw: Draw): Condition {
  const id = (run: Draw): string => data.idOf(type, run.below(count));
  if (draw.isTrue(0.5)) {
    const write = (run: Draw): Written =>
      list(
        '_id',
        Array.from({ length: 1 + run.below(5) }, () => id(run)),
      );
    return { name: 'id', write };
  }
  const text = new Date(Date.now() - draw.below(3) * 1_000).toISOString();
  return {
    name: 'last updated',
    write: (run) => comparison('_lastUpdated', run.oneOf(['ge', 'lt']), text),
  };
}

/** A composite of two values of one resource, or of two independent values. */
export function compositeCondition(data: RandomData, type: DataType, { parameter, of }: Composite): Condition {
  const [code, quantity] = of.map((name) => type.fields.find((field) => field.parameter === name)!);
  return {
    name: 'composite',
    write: (run) => pair(parameter, someValue(data, type, code!, run), someValue(data, type, quantity!, run), run),
  };
}

/** The value of a random resource, which favors frequent values, or a random one of all values. */
function someValue(data: RandomData, type: DataType, field: DataField, run: Draw): Value {
  const found = run.isTrue(0.6) ? data.valuesOf(type, field, run.below(type.count)) : [];
  return found[0] ?? data.anyValue(field, run);
}

type Write = (parameter: string, value: () => Value, run: Draw) => Written;

const ANY_KIND: { readonly [form: string]: Write } = {
  missing: (parameter) => ({ filter: `${parameter} pr false`, isOne: true }),
  present: (parameter) => ({ filter: `${parameter} pr true`, isOne: true }),
};

const TOKENS: { readonly [form: string]: Write } = {
  eq: (parameter, value) => equal(parameter, value().search),
  'eq without system': (parameter, value) => equal(parameter, value().short),
  'eq one of': (parameter, value, run) => list(parameter, several(value, run)),
  ne: (parameter, value) => ({ filter: `${parameter} ne ${quoted(value().search)}`, isOne: true }),
  not: (parameter, value) => ({ filter: `not (${parameter} eq ${quoted(value().search)})`, isOne: false }),
};

const ORDERED: { readonly [form: string]: Write } = {
  above: (parameter, value, run) => comparison(parameter, run.oneOf(['gt', 'ge', 'sa']), numberOf(value(), run)),
  below: (parameter, value, run) => comparison(parameter, run.oneOf(['lt', 'le', 'eb']), numberOf(value(), run)),
  eq: (parameter, value, run) => comparison(parameter, run.oneOf(['eq', 'eq', 'ap']), numberOf(value(), run)),
  ne: (parameter, value, run) => comparison(parameter, 'ne', numberOf(value(), run)),
  between: (parameter, value) => {
    const [low, high] = [value(), value()].sort((a, b) => a.number - b.number);
    return { filter: `${parameter} ge ${quoted(low!.short)} and ${parameter} lt ${quoted(high!.short)}`, isOne: false };
  },
};

const FORMS: { readonly [kind in DataField['kind']]: { readonly [form: string]: Write } } = {
  code: TOKENS,
  concept: { ...TOKENS, 'eq system': (parameter, value) => equal(parameter, `${value().system}|`) },
  identifier: TOKENS,
  quantity: ORDERED,
  number: ORDERED,
  date: {
    above: (parameter, value, run) => comparison(parameter, run.oneOf(['gt', 'ge', 'sa']), dateOf(value(), run)),
    below: (parameter, value, run) => comparison(parameter, run.oneOf(['lt', 'le', 'eb']), dateOf(value(), run)),
    eq: (parameter, value, run) => comparison(parameter, run.oneOf(['eq', 'eq', 'ap']), dateOf(value(), run)),
    ne: (parameter, value, run) => comparison(parameter, 'ne', dateOf(value(), run)),
    between: ORDERED['between']!,
  },
  string: {
    'starts with': (parameter, value, run) => {
      const text = part(value().short, run, 0);
      return { argument: argumentOf(parameter, quoted(text)), filter: `${parameter} sw ${quoted(text)}`, isOne: true };
    },
    eq: (parameter, value) => ({ filter: `${parameter} eq ${quoted(value().short)}`, isOne: true }),
    ne: (parameter, value) => ({ filter: `${parameter} ne ${quoted(value().short)}`, isOne: true }),
    contains: (parameter, value, run) => ({
      filter: `${parameter} co ${quoted(part(value().short, run))}`,
      isOne: true,
    }),
    'ends with': (parameter, value) => ({ filter: `${parameter} ew ${quoted(value().short.slice(-3))}`, isOne: true }),
  },
  uri: {
    eq: (parameter, value) => equal(parameter, value().short),
    ne: (parameter, value) => ({ filter: `${parameter} ne ${quoted(value().short)}`, isOne: true }),
    'starts with': (parameter, value) => ({
      filter: `${parameter} sw ${quoted(value().short.slice(0, -1))}`,
      isOne: true,
    }),
  },
  reference: {
    eq: TOKENS['eq']!,
    'eq one of': TOKENS['eq one of']!,
    ne: TOKENS['ne']!,
    not: TOKENS['not']!,
  },
  component: { eq: (parameter, value, run) => pair(parameter, value(), value(), run) },
};

function equal(parameter: string, text: string): Written {
  return { argument: argumentOf(parameter, quoted(text)), filter: `${parameter} eq ${quoted(text)}`, isOne: true };
}

function list(parameter: string, texts: readonly string[]): Written {
  const filter = texts.map((text) => `${parameter} eq ${quoted(text)}`).join(' or ');
  return { argument: argumentOf(parameter, `[${texts.map(quoted).join(', ')}]`), filter, isOne: texts.length === 1 };
}

function comparison(parameter: string, operator: string, text: string): Written {
  const argument = argumentOf(parameter, quoted(`${operator}${text}`));
  return { argument, filter: `${parameter} ${operator} ${quoted(text)}`, isOne: true };
}

function pair(parameter: string, code: Value, quantity: Value, run: Draw): Written {
  const [of, prefix] = [run.oneOf([code.search, code.short]), run.oneOf(['gt', 'lt', 'ge', ''])];
  return equal(parameter, `${of}$${prefix}${quantity.number}`);
}

function several(value: () => Value, run: Draw): string[] {
  return Array.from({ length: 2 + run.below(3) }, () => value().search);
}

function numberOf({ short, search }: Value, run: Draw): string {
  return run.isTrue(0.3) ? search : short;
}

function dateOf({ number }: Value, run: Draw): string {
  const text = new Date(number).toISOString();
  return run.isTrue(0.2) ? text : text.slice(0, run.oneOf([4, 7, 10, 10]));
}

/** Some neighboring letters. */
function part(text: string, run: Draw, from = run.below(Math.max(1, text.length - 3))): string {
  return text.slice(from, from + 2 + run.below(4));
}

function argumentOf(parameter: string, value: string): readonly [string, string] {
  return [parameter.replaceAll('-', '_'), value];
}

/** A string literal of GraphQL and `_filter`. */
export function quoted(text: string): string {
  return JSON.stringify(text);
}
