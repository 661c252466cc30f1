import { type Condition, quoted, type Written } from './conditions.js';
import { randomCondition, randomTree } from './criteria.js';
import { Draw } from './draw.js';
import { MEMBERS, type Member } from './random-members.js';
import type { DataType, RandomData } from './random-data.js';

/** A question of a random kind. Each run has different values. */
export interface RandomQuestion {
  readonly number: number;
  readonly form: Form;
  /** The kinds of the conditions. */
  readonly about: string;
  /** Most milliseconds of an answer at a million resources; undefined without a target. */
  readonly target: number | undefined;
  /** The member that asks, with criteria in its access. */
  readonly member: Member | undefined;
  readonly text: (run: number) => string;
  /** The page that gives the cursor of the question, after `$offset` resources. */
  readonly first: ((run: number) => string) | undefined;
}

export type Form =
  | 'one sort key'
  | 'two sort keys'
  | 'by a reference'
  | 'count of one condition'
  | 'count of several conditions'
  | 'page and count'
  | 'deep cursor'
  | 'list of a parent';

export function randomQuestions(data: RandomData, seed: number, count: number): RandomQuestion[] {
  return Array.from({ length: count }, (_, number) => randomQuestion(data, number, new Draw(seed, 1, number)));
}

function randomQuestion(data: RandomData, number: number, draw: Draw): RandomQuestion {
  const type = draw.oneOf(weighted(data.types));
  const conditions = randomConditions(data, type, draw);
  const about = conditions.length === 0 ? 'nothing' : conditions.map(({ name }) => name).join(' + ');
  const member = draw.isTrue(0.15) ? draw.oneOf(MEMBERS) : undefined;
  const written = (run: number): Written[] => conditions.map(({ write }) => write(new Draw(number, run, 7)));
  const common = { number, about, member, first: undefined };
  if (draw.isTrue(0.2)) {
    const isOne = conditions.length < 2 && conditions[0]?.name !== 'mixture' && member === undefined;
    const text = (run: number): string =>
      `{ ${type.type}Connection${inBrackets(...argumentsOf(written(run)))} { count } }`;
    return { ...common, form: isOne ? 'count of one condition' : 'count of several conditions', target: COUNT, text };
  }
  const sort = randomSort(type, draw);
  const rest = [sort.argument, `_count: ${draw.oneOf([1, 10, 10, 20, 50])}`];
  const list = (run: number): string => inBrackets(...argumentsOf(written(run)), ...rest);
  const parents = parentsOf(data, type);
  if (parents.length > 0 && draw.isTrue(0.1)) {
    const field = draw.oneOf(parents);
    const text = (run: number): string => {
      const own = new Draw(number, run, 8);
      const parent = data.valuesOf(type, field, own.below(type.count))[0] ?? data.anyValue(field, own);
      const [of, id] = parent.search.split('/');
      const inner = inBrackets(
        `_reference: ${field.parameter.replaceAll('-', '_')}`,
        ...argumentsOf(written(run)),
        ...rest,
      );
      return `{ ${of}(id: ${quoted(id!)}) { ${type.type}List${inner} { id } } }`;
    };
    return { ...common, form: 'list of a parent', target: sort.target, text };
  }
  const shown = '{ next edges { resource { id } } }';
  if (draw.isTrue(0.08)) {
    const first = (run: number): string =>
      `query ($offset: Int) { ${type.type}Connection${inBrackets(...argumentsOf(written(run)), ...rest, '_offset: $offset')} ${shown} }`;
    const text = (): string => `query ($cursor: String) { ${type.type}Connection(cursor: $cursor) ${shown} }`;
    return { ...common, form: 'deep cursor', target: sort.target, text, first };
  }
  if (draw.isTrue(0.06)) {
    const text = (run: number): string => `{ ${type.type}Connection${list(run)} { count edges { resource { id } } } }`;
    return { ...common, form: 'page and count', target: COUNT, text };
  }
  return { ...common, form: sort.form, target: sort.target, text: (run) => `{ ${type.type}List${list(run)} { id } }` };
}

function randomConditions(data: RandomData, type: DataType, draw: Draw): Condition[] {
  if (draw.isTrue(0.12)) return [randomTree(data, type, draw)];
  const count = draw.oneOf([0, 1, 1, 1, 1, 1, 2, 2, 3]);
  return Array.from({ length: count }, () => randomCondition(data, type, draw));
}

/** Most questions are about the types with the most resources. */
function weighted(types: readonly DataType[]): readonly DataType[] {
  return [...types, ...types.toSorted((a, b) => b.count - a.count).slice(0, 3)];
}

function parentsOf(data: RandomData, { fields }: DataType): DataType['fields'] {
  return fields.filter(({ kind, of }) => kind === 'reference' && data.type(of[0]!) !== undefined);
}

function randomSort(type: DataType, draw: Draw): { argument: string; form: Form; target: number | undefined } {
  const count = draw.oneOf([0, 1, 1, 1, 1, 2, 2]);
  const own = ['_id', '_lastUpdated'].map((parameter) => ({ parameter, kind: 'own' }));
  const sortable = [...type.fields.filter(({ kind }) => kind !== 'component'), ...own];
  const keys = draw.shuffled(sortable).slice(0, count);
  const text = keys.map(({ parameter }) => `${draw.isTrue(0.5) ? '-' : ''}${parameter}`).join(',');
  const argument = count === 0 ? '' : `_sort: ${quoted(text)}`;
  if (keys.some(({ kind }) => kind === 'reference')) return { argument, form: 'by a reference', target: undefined };
  return count === 2
    ? { argument, form: 'two sort keys', target: TWO_KEYS }
    : { argument, form: 'one sort key', target: PAGE };
}

/** Conditions become arguments if they can, unless another condition has that name. */
function argumentsOf(conditions: readonly Written[]): string[] {
  const named = new Map<string, string>();
  const filters: string[] = [];
  for (const { argument, filter } of conditions) {
    if (argument !== undefined && !named.has(argument[0])) named.set(...argument);
    else filters.push(filter);
  }
  const whole = filters.length === 1 ? filters[0]! : filters.map((filter) => `(${filter})`).join(' and ');
  return [...[...named].map(([name, value]) => `${name}: ${value}`), whole === '' ? '' : `_filter: ${quoted(whole)}`];
}

function inBrackets(...parts: readonly string[]): string {
  const some = parts.filter((part) => part !== '');
  return some.length === 0 ? '' : `(${some.join(', ')})`;
}

const PAGE = 20;
const TWO_KEYS = 100;
const COUNT = 100;
