import { MAX_RESOURCE_DEPTH } from '../fhir/resource.js';
import { LimitError, type Limits } from './limits.js';

/**
 * Rejects variables that are too large or nest too deep, before other code walks them.
 *
 * @throws LimitError `variablesSize` - characters of texts and names, and values, together
 */
export function assertVariablesSize(variables: object, limits: Limits): void {
  let left = limits.variablesSize;
  const visit = (value: unknown, levels: number): void => {
    left -= 1;
    if (typeof value === 'string') left -= value.length;
    else if (typeof value === 'object' && value !== null) {
      if (levels === 0) throw tooLarge(limits, `nest deeper than ${MAX_RESOURCE_DEPTH} levels`);
      if (Array.isArray(value)) for (const item of value) visit(item, levels - 1);
      else {
        for (const name of Object.keys(value)) {
          left -= name.length;
          visit((value as { readonly [name: string]: unknown })[name], levels - 1);
        }
      }
    }
    if (left < 0) throw tooLarge(limits, `hold more than ${limits.variablesSize} characters and values`);
  };
  // The variables object itself counts neither as a value nor as a level.
  left += 1;
  visit(variables, MAX_RESOURCE_DEPTH + 1);
}

function tooLarge({ variablesSize }: Limits, what: string): LimitError {
  return new LimitError('variablesSize', variablesSize, `The variables ${what}; send less at once`);
}
