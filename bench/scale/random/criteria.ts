import { type Condition, compositeCondition, fieldCondition, ownCondition, type Written } from './conditions.js';
import type { Draw } from './draw.js';
import type { DataField, DataType, RandomData } from './random-data.js';

/** One condition of any kind: on a value, on a target of the searched resource, or on a resource that refers to it. */
export function randomCondition(data: RandomData, type: DataType, draw: Draw): Condition {
  const links = referencesFrom(data, type);
  const backward = referencesTo(data, type);
  if (links.length > 0 && draw.isTrue(0.12)) return chain(data, draw.oneOf(links), draw);
  if (backward.length > 0 && draw.isTrue(0.12)) return has(data, draw.oneOf(backward), draw);
  if (type.composites.length > 0 && draw.isTrue(0.08)) {
    return compositeCondition(data, type, draw.oneOf(type.composites));
  }
  if (draw.isTrue(0.04)) return ownCondition(data, type, draw);
  return fieldCondition(data, type, draw.oneOf(type.fields), draw);
}

/** `and`, `or` and `not` around conditions. */
export function randomTree(data: RandomData, type: DataType, draw: Draw): Condition {
  const parts = Array.from({ length: 2 + draw.below(2) }, () => ({
    ...randomCondition(data, type, draw),
    isNegated: draw.isTrue(0.3),
  }));
  const words = parts.map(() => draw.oneOf([' and ', ' or ']));
  return {
    name: 'mixture',
    write: (run) => {
      const texts = parts.map(({ write, isNegated }) => {
        const { filter } = write(run);
        return isNegated ? `not (${filter})` : `(${filter})`;
      });
      // Every further `and` or `or` takes everything to its left as one operand.
      const filter = texts.reduce((left, text, at) => `(${left})${words[at]!}${text}`);
      return { filter, isOne: false };
    },
  };
}

interface Link {
  readonly from: DataType;
  readonly field: DataField;
  readonly to: DataType;
}

function referencesFrom(data: RandomData, from: DataType): Link[] {
  return from.fields.flatMap((field) => {
    const to = field.kind === 'reference' ? data.type(field.of[0]!) : undefined;
    return to === undefined ? [] : [{ from, field, to }];
  });
}

export function referencesTo(data: RandomData, to: DataType): Link[] {
  return data.types.flatMap((from) => referencesFrom(data, from).filter((link) => link.to === to));
}

function chain(data: RandomData, { field, to }: Link, draw: Draw): Condition {
  const { name, write } = conditionOfLink(data, to, draw);
  const start = `${field.parameter}:${to.type}.`;
  return { name: `chain to ${name}`, write: (run) => prefixed(start, write(run)) };
}

function has(data: RandomData, { from, field }: Link, draw: Draw): Condition {
  const { name, write } = conditionOfLink(data, from, draw);
  const start = `_has:${from.type}:${field.parameter}:`;
  return { name: `has ${name}`, write: (run) => prefixed(start, write(run)) };
}

/** One comparison, or a chain with one more link. */
function conditionOfLink(data: RandomData, type: DataType, draw: Draw): Condition {
  const links = referencesFrom(data, type);
  if (links.length > 0 && draw.isTrue(0.15)) {
    const { write } = chain(data, draw.oneOf(links), draw);
    return { name: 'a chain', write };
  }
  for (;;) {
    const condition = fieldCondition(data, type, draw.oneOf(type.fields), draw);
    if (condition.write(draw).isOne) return { ...condition, name: condition.name.split(' ')[0]! };
  }
}

function prefixed(start: string, { filter, isOne }: Written): Written {
  return { filter: `${start}${filter}`, isOne };
}
