import { PARTS, sizeOf } from '../fhir/json/parts.js';
import { MAX_RESOURCE_DEPTH } from '../fhir/resource.js';
import { inTurns, Pace } from '../platform/pace.js';
import { LimitError, type Limits } from './limits.js';

/**
 * Rejects variables that are too large or nest too deep, before other code walks them.
 *
 * @returns for long variables, a promise: other work runs between their parts
 * @throws LimitError `variablesSize` - characters of texts and names, and values, together; the number of variables
 */
export function assertVariablesSize(variables: object, limits: Limits): Promise<void> | undefined {
  if (Object.keys(variables).length > MAX_VARIABLES) {
    const message = `There are more than ${MAX_VARIABLES} variables; send those that the query names`;
    throw new LimitError('variablesSize', MAX_VARIABLES, message);
  }
  const measuring = new Measurement(limits).measuring(variables, MAX_RESOURCE_DEPTH + 1);
  return measuring.next().done === true ? undefined : inTurns(measuring, new Pace());
}

/** Maximum number of variables; a document has room for fewer. */
const MAX_VARIABLES = 10_000;

/** Counts each value before it visits its members. */
class Measurement {
  #left: number;
  #valuesToTurn = PARTS.long;

  constructor(private readonly limits: Limits) {
    this.#left = limits.variablesSize;
  }

  /** Pauses after a long part, then after each part. */
  *measuring(value: object, levels: number): Generator<void, void> {
    if (levels === 0) throw tooLarge(this.limits, `nest deeper than ${MAX_RESOURCE_DEPTH} levels`);
    const names = Array.isArray(value) ? undefined : Object.keys(value);
    const count = names?.length ?? (value as readonly unknown[]).length;
    for (let index = 0; index < count; index++) {
      const name = names?.[index];
      const inner = (value as { readonly [key: string | number]: unknown })[name ?? index];
      this.#left -= 1 + (name?.length ?? 0) + (typeof inner === 'string' ? inner.length : 0);
      if (this.#left < 0) {
        throw tooLarge(this.limits, `hold more than ${this.limits.variablesSize} characters and values`);
      }
      if (typeof inner === 'object' && inner !== null) yield* this.measuring(inner, levels - 1);
      if (--this.#valuesToTurn > 0) continue;
      this.#valuesToTurn = PARTS.size;
      yield;
    }
  }
}

/** Maximum number of values in the lists of scalars of a request; a search takes 1,000. They are coerced in one turn. */
const MAX_LISTED = 100_000;

/**
 * Rejects lists of scalars that are too long together.
 *
 * @throws LimitError `variablesSize`
 */
export function assertListsShort(values: readonly unknown[]): void {
  let listed = 0;
  for (const value of values) {
    if (Array.isArray(value)) listed += sizeOf(value, MAX_LISTED + 2) - 1;
  }
  if (listed <= MAX_LISTED) return;
  const message = `The variables hold more than ${MAX_LISTED} values in lists of scalars; send less at once`;
  throw new LimitError('variablesSize', MAX_LISTED, message);
}

function tooLarge({ variablesSize }: Limits, what: string): LimitError {
  return new LimitError('variablesSize', variablesSize, `The variables ${what}; send less at once`);
}
