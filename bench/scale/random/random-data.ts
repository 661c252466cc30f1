import { createHash } from 'node:crypto';
import { Draw } from './draw.js';
import type { Composite, Field, TypeFields } from './fields.js';
import { type Place, randomSpread, type Spread, valuesAt } from './spread.js';
import { PEOPLE, RECORDS } from './types.js';
import { makeValue, sizesOf, type Value } from './values.js';

/** A search parameter of the data, and the distribution of its values. */
export interface DataField extends Field {
  readonly number: number;
  readonly spread: Spread;
}

/** The inputs that determine random data. */
export interface RandomSource {
  readonly seed: number;
  /**
   * Each optional element has its own chance to be missing, as in the records of a hospital. The resources of a type then have
   * values of hundreds or thousands of different sets of parameters. Otherwise most parameters have values in all resources or
   * in none.
   */
  readonly sparse?: boolean;
}

/** The resources of one type. */
export interface DataType {
  readonly type: string;
  readonly fields: readonly DataField[];
  readonly composites: readonly Composite[];
  readonly count: number;
}

interface Kind extends DataType {
  readonly number: number;
  /** The distribution of dates over the order of writing. */
  readonly dates: 'order' | 'reverse' | 'nothing';
  readonly ids: 'order' | 'reverse' | 'nothing';
  /** The lines of the type, out of a hundred. */
  readonly slots: readonly number[];
}

/**
 * Resources of random shape. Random are the types, the number of resources of each, the order of writing, and for each
 * search parameter the distribution of its values (see {@link Spread}). The source determines all of it.
 */
export class RandomData {
  readonly types: readonly DataType[];
  readonly #kinds: readonly Kind[];
  readonly #seed: number;
  readonly #size: number;

  constructor({ seed, sparse = false }: RandomSource, size: number) {
    this.#seed = seed;
    this.#size = size;
    const kinds = kindsOf(new Draw(seed), size);
    this.#kinds = sparse ? kinds.map((kind) => sparseKind(kind, new Draw(seed, kind.number))) : kinds;
    this.types = this.#kinds;
  }

  /**
   * Lines of NDJSON.
   *
   * @param version other values for the same resources
   */
  *lines(from = 0, to = this.#size, version = 0, every = 1): Generator<string> {
    const kindOfSlot = Array.from({ length: HUNDRED }, (_, slot) =>
      this.#kinds.find((kind) => kind.slots.includes(slot))!,
    );
    for (let index = from; index < to; index += every) {
      const [hundred, slot] = [Math.floor(index / HUNDRED), index % HUNDRED];
      const kind = kindOfSlot[slot]!;
      const ordinal = hundred * kind.slots.length + kind.slots.indexOf(slot);
      yield `${JSON.stringify(this.#resource(kind, ordinal, version))}\n`;
    }
  }

  type(name: string): DataType | undefined {
    return this.types.find(({ type }) => type === name);
  }

  /** The values of a resource of the type, by its number. */
  valuesOf(type: DataType, field: DataField, ordinal: number, version = 0): readonly Value[] {
    const kind = type as Kind;
    const place = this.#place(kind, ordinal);
    const draw = new Draw(this.#seed, kind.number, ordinal, field.number + 1, version);
    return valuesAt(field.spread, place, draw).map((number) => this.#value(field, number, draw));
  }

  /** Any of its values, frequent or rare. */
  anyValue(field: DataField, draw: Draw): Value {
    return this.#value(field, draw.below(field.spread.values), draw);
  }

  /** The id of a resource by its number; other ids if there is no such type. */
  idOf(type: string, ordinal: number): string {
    const kind = this.#kinds.find((one) => one.type === type);
    if (kind === undefined || kind.ids === 'nothing') {
      return createHash('md5').update(`${type}${ordinal}`).digest('hex').slice(0, 20);
    }
    const place = kind.ids === 'order' ? ordinal : 999_999_999 - ordinal;
    return `${type.toLowerCase()}-${String(place).padStart(9, '0')}`;
  }

  #value(field: DataField, number: number, draw: Draw): Value {
    const { spread, of, kind } = field;
    // The first system or unit is the most frequent. All forms of dates are equally frequent.
    const variant = kind === 'date' ? draw.below(of.length) : draw.isTrue(0.8) ? 0 : draw.below(spread.variants);
    return makeValue(field, number, spread.values, variant, draw, (target) => {
      const count = this.type(of[0]!)?.count ?? UNKNOWN;
      return `${of[0]}/${this.idOf(of[0]!, Math.floor((target / spread.values) * count))}`;
    });
  }

  #place(kind: Kind, ordinal: number): Place {
    const order = ordinal / kind.count;
    if (kind.dates === 'nothing') return { order, date: new Draw(this.#seed, kind.number, ordinal, 0).next() };
    return { order, date: kind.dates === 'order' ? order : 1 - order };
  }

  #resource(kind: Kind, ordinal: number, version: number): object {
    const parts = kind.fields.map((field) => {
      const values = this.valuesOf(kind, field, ordinal, version);
      return values.length === 0 ? {} : field.put(values.map(({ fhir }) => fhir));
    });
    return Object.assign({ resourceType: kind.type, id: this.idOf(kind.type, ordinal) }, ...parts);
  }
}

function kindsOf(draw: Draw, size: number): readonly Kind[] {
  const [observations, ...rest] = RECORDS;
  const others = draw.shuffled(rest).slice(0, 4 + draw.below(4));
  const records = draw.shuffled([observations!, ...others]);
  const chosen: readonly TypeFields[] = [...PEOPLE, ...records];
  const slots = slotsOf(draw, records.length);
  const counts = new Map(chosen.map(({ type }, at) => [type, countOf(slots[at]!, size)]));
  return chosen.map(({ type, fields, composites }, at) => ({
    type,
    number: at,
    count: counts.get(type)!,
    slots: slots[at]!,
    dates: draw.oneOf(['order', 'reverse', 'nothing', 'nothing']),
    ids: draw.oneOf(['order', 'reverse', 'nothing', 'nothing']),
    composites,
    fields: fields.map((field, number) => ({
      ...field,
      number,
      spread: spreadOf(field, field === fields[0], counts.get(type)!, counts.get(field.of[0] ?? '') ?? UNKNOWN, draw),
    })),
  }));
}

/** Makes a type sparse. Its first date, codes and identifiers are missing as often as before. */
function sparseKind(kind: Kind, draw: Draw): Kind {
  const fields = kind.fields.map((field, index) => {
    if (index === 0 || field.kind === 'code' || field.kind === 'identifier') return field;
    return { ...field, spread: { ...field.spread, missing: 0.02 + 0.96 * draw.next(), missingAtFirst: false } };
  });
  return { ...kind, fields };
}

/** Other values follow the first date of a type. Statuses are rarely missing. */
function spreadOf(field: Field, isFirst: boolean, resources: number, targets: number, draw: Draw): Spread {
  const spread = randomSpread(draw, draw.oneOf(sizesOf(field, resources, targets)), field.repeats);
  if (field.kind === 'identifier') return { ...spread, skew: 'even', missing: draw.oneOf([0, 0.3]) };
  if (field.kind === 'code') return { ...spread, missing: draw.oneOf([0, 0, 0.02]) };
  if (!isFirst || field.kind !== 'date') return spread;
  return {
    ...spread,
    skew: draw.oneOf(['even', 'even', 'few']),
    follows: 'dates',
    noise: 0,
    missing: draw.oneOf([0, 0, 0.02]),
  };
}

/** Five of a hundred resources are people, and one of the other types has about half of the rest. */
function slotsOf(draw: Draw, records: number): readonly (readonly number[])[] {
  const all = Array.from({ length: HUNDRED }, (_, slot) => slot);
  const order = draw.isTrue(0.5) ? all : draw.shuffled(all);
  const sizes = [3, 1, 1, 30 + draw.below(30), ...new Array<number>(records - 1).fill(0)];
  for (let slot = sizes.reduce((sum, size) => sum + size); slot < HUNDRED; slot++) {
    sizes[4 + Math.floor((records - 1) * draw.next() ** 2)]! += 1;
  }
  let from = 0;
  return sizes.map((size) => order.slice(from, (from += size)));
}

function countOf(slots: readonly number[], size: number): number {
  const rest = slots.filter((slot) => slot < size % HUNDRED).length;
  return Math.max(1, Math.floor(size / HUNDRED) * slots.length + rest);
}

const HUNDRED = 100;
/** Targets of a type that the data do not have. */
const UNKNOWN = 50;
