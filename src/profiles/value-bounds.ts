import { compareDates } from '../fhir/date.js';
import { isJsonObject, type JsonObject } from '../fhir/resource.js';

/** The `minValue[x]` and `maxValue[x]` of an element. */
export interface ValueBounds {
  readonly min: unknown;
  readonly max: unknown;
}

/** @returns undefined without bounds */
export function boundsIn(definition: JsonObject): ValueBounds | undefined {
  const min = boundIn(definition, 'minValue');
  const max = boundIn(definition, 'maxValue');
  return min === undefined && max === undefined ? undefined : { min, max };
}

function boundIn(definition: JsonObject, base: string): unknown {
  const name = Object.keys(definition).find((key) => key.startsWith(base) && /^[A-Z]/.test(key.slice(base.length)));
  return name === undefined ? undefined : definition[name];
}

/** Whether bounds can be compared with any value: numbers, dates, times, and quantities with a unit. */
export function areComparable({ min, max }: ValueBounds): boolean {
  return [min, max].every((bound) => bound === undefined || compare(bound, bound) === 0);
}

/**
 * Which bound a value violates. Dates of less precision than the bound violate it only if all of their time does.
 *
 * @returns `unknown` for values that cannot be compared, such as quantities in another unit
 */
export function violatedBound(value: unknown, { min, max }: ValueBounds): 'min' | 'max' | 'unknown' | undefined {
  const below = min === undefined ? 0 : compare(value, min);
  const above = max === undefined ? 0 : compare(value, max);
  if (below === undefined || above === undefined) return 'unknown';
  return below < 0 ? 'min' : above > 0 ? 'max' : undefined;
}

/** Negative: before all of the bound; positive: after it; undefined: not comparable. */
function compare(value: unknown, bound: unknown): number | undefined {
  if (typeof value === 'number' && typeof bound === 'number') return value - bound;
  if (typeof value === 'string' && typeof bound === 'string') return compareTexts(value, bound);
  if (!isJsonObject(value) || !isJsonObject(bound)) return undefined;
  const isSameUnit = value['code'] === bound['code'] && value['system'] === bound['system'];
  return isSameUnit && bound['code'] !== undefined ? compare(value['value'], bound['value']) : undefined;
}

function compareTexts(value: string, bound: string): number | undefined {
  if (TIME.test(value) && TIME.test(bound)) return value === bound ? 0 : value < bound ? -1 : 1;
  return compareDates(value, bound);
}

const TIME = /^\d{2}:\d{2}:\d{2}(?:\.\d+)?$/;
