import { isJsonObject, type JsonObject } from '../../fhir/resource.js';
import type { QuantityValue } from './index-entry.js';
import type { ValueIndexer, IndexWriter } from './index-writer.js';

/** Represents an open end. */
const UNBOUNDED = 1e300;

const CURRENCIES = 'urn:iso:std:iso:4217';

/** Number values: numbers and Ranges. See https://hl7.org/fhir/R4/search.html#number. */
export function indexNumber(type: string): ValueIndexer | undefined {
  return NUMBER_INDEXERS.get(type);
}

/**
 * Quantity values. See https://hl7.org/fhir/R4/search.html#quantity.
 *
 * A comparator widens the value: `< 5` is everything up to 5. Money uses its currency as code, a Range the unit of its
 * ends, SampledData its origin.
 */
export function indexQuantity(type: string): ValueIndexer | undefined {
  return QUANTITY_INDEXERS.get(type);
}

const NUMBER_INDEXERS: ReadonlyMap<string, ValueIndexer> = new Map<string, ValueIndexer>([
  ...['integer', 'positiveInt', 'unsignedInt', 'decimal'].map((type): [string, ValueIndexer] => [type, indexPoint]),
  ['Range', indexNumberRange],
]);

const QUANTITY_INDEXERS: ReadonlyMap<string, ValueIndexer> = new Map<string, ValueIndexer>([
  ...['Quantity', 'Age', 'Duration', 'Count', 'Distance'].map((type): [string, ValueIndexer] => [type, indexMeasure]),
  ['Money', indexMoney],
  ['Range', indexQuantityRange],
  ['SampledData', (value, writer) => isJsonObject(value) && indexMeasure(value.origin, writer)],
]);

function indexPoint(value: unknown, writer: IndexWriter): void {
  if (isNumber(value)) writer.add({ kind: 'number', low: value, high: value });
}

function indexNumberRange(range: unknown, writer: IndexWriter): void {
  const ends = rangeEnds(range);
  if (ends !== undefined) writer.add({ kind: 'number', low: ends.low, high: ends.high });
}

function indexMeasure(quantity: unknown, writer: IndexWriter): void {
  if (!isJsonObject(quantity) || !isNumber(quantity.value)) return;
  const { value, comparator } = quantity;
  const low = comparator === '<' || comparator === '<=' ? -UNBOUNDED : value;
  const high = comparator === '>' || comparator === '>=' ? UNBOUNDED : value;
  writer.add(quantityValue(low, high, text(quantity.system), text(quantity.code), text(quantity.unit)));
}

function indexMoney(money: unknown, writer: IndexWriter): void {
  if (!isJsonObject(money) || !isNumber(money.value)) return;
  const currency = text(money.currency);
  writer.add(quantityValue(money.value, money.value, currency && CURRENCIES, currency, currency));
}

function indexQuantityRange(range: unknown, writer: IndexWriter): void {
  const ends = rangeEnds(range);
  if (ends === undefined) return;
  const { low, high, unit } = ends;
  writer.add(quantityValue(low, high, text(unit.system), text(unit.code), text(unit.unit)));
}

/** A Range with at least one end, in order; `unit` is the end with the unit. */
function rangeEnds(range: unknown): { low: number; high: number; unit: JsonObject } | undefined {
  if (!isJsonObject(range)) return undefined;
  const low = isJsonObject(range.low) && isNumber(range.low.value) ? range.low : undefined;
  const high = isJsonObject(range.high) && isNumber(range.high.value) ? range.high : undefined;
  const unit = low ?? high;
  if (unit === undefined) return undefined;
  const from = (low?.value as number | undefined) ?? -UNBOUNDED;
  const to = (high?.value as number | undefined) ?? UNBOUNDED;
  return from <= to ? { low: from, high: to, unit } : undefined;
}

function quantityValue(
  low: number,
  high: number,
  system: string | undefined,
  code: string | undefined,
  unit: string | undefined,
): QuantityValue {
  return {
    kind: 'quantity',
    low,
    high,
    ...(system === undefined ? {} : { system }),
    ...(code === undefined ? {} : { code }),
    ...(unit === undefined ? {} : { unit }),
  };
}

/** JSON.parse reads 1e999 as Infinity; Infinity and NaN are not values. */
function isNumber(value: unknown): value is number {
  return typeof value === 'number' && Number.isFinite(value);
}

function text(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}
