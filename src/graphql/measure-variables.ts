import { MAX_RESOURCE_DEPTH } from '../fhir/resource.js';
import { LimitError, type Limits, SIZE_PER_VALUE } from './limits.js';

/**
 * Rejects variables that are too large or nest too deep, before other code walks them.
 *
 * @throws LimitError `variablesSize` - see {@link Limits}; also for too many variables
 */
export function assertVariablesSize(variables: object, limits: Limits): void {
  if (Object.keys(variables).length > MAX_VARIABLES) {
    const message = `There are more than ${MAX_VARIABLES} variables; send those that the query names`;
    throw new LimitError('variablesSize', MAX_VARIABLES, message);
  }
  measure(variables, MAX_RESOURCE_DEPTH + 1, { left: limits.variablesSize, limits });
}

/** Maximum number of variables; a document has room for fewer. */
const MAX_VARIABLES = 10_000;

interface Measured {
  left: number;
  readonly limits: Limits;
}

/** Counts each value before it visits its members. */
function measure(value: object, levels: number, measured: Measured): void {
  const { limits } = measured;
  if (levels === 0) throw tooLarge(limits, `nest deeper than ${MAX_RESOURCE_DEPTH} levels`);
  const names = Array.isArray(value) ? undefined : Object.keys(value);
  const count = names?.length ?? (value as readonly unknown[]).length;
  for (let index = 0; index < count; index++) {
    const name = names?.[index];
    const inner = (value as { readonly [key: string | number]: unknown })[name ?? index];
    measured.left -= SIZE_PER_VALUE + (name?.length ?? 0) + (typeof inner === 'string' ? inner.length : 0);
    if (measured.left < 0) {
      const { variablesSize } = limits;
      throw tooLarge(limits, `hold more than ${variablesSize} characters, where each value counts ${SIZE_PER_VALUE}`);
    }
    if (typeof inner === 'object' && inner !== null) measure(inner, levels - 1, measured);
  }
}

function tooLarge({ variablesSize }: Limits, what: string): LimitError {
  return new LimitError('variablesSize', variablesSize, `The variables ${what}; send less at once`);
}
