import type { FhirModel } from './model/fhir-model.js';
import { andMore } from './messages/quote.js';
import { FhirError } from './error.js';
import type { OutcomeIssue } from './operation-outcome.js';
import type { AnyResource } from './resource.js';
import { validateResource, validateStorable, type ValidationOptions } from './validate-resource.js';

export interface AssertOptions extends ValidationOptions {
  /** Findings against the definitions that do not cause a rejection. Default: none. */
  readonly except?: ((issue: OutcomeIssue) => boolean) | undefined;
}

/**
 * Lets a resource through only if it can be stored and, with `strict`, agrees with the R4 definitions.
 * `validateResource` lists the checks. Warnings do not refuse a resource.
 *
 * @throws FhirError `too-costly` - it is larger than `maxBytes` or has more than `maxValues`.
 * @throws FhirError `invalid` - no project could store it; `issues` has every reason.
 * @throws FhirError `unprocessable` - with `strict`: it breaks the definitions; `issues` has every finding, warnings too.
 */
export function assertValidResource(
  model: FhirModel,
  resource: unknown,
  { except, strict = false, ...options }: AssertOptions,
): void {
  refuse('invalid', 'The resource cannot be stored', validateResource(model, resource, options));
  if (!strict) return;
  // Ignored findings must not count against the limit.
  const all = except === undefined ? options : { maxIssues: 10_000, ...options };
  const issues = validateStorable(model, resource as AnyResource, all);
  const counted = except === undefined ? issues : issues.filter((issue) => !except(issue));
  refuse('unprocessable', 'The resource breaks the R4 definitions', counted);
}

function refuse(code: 'invalid' | 'unprocessable', summary: string, issues: readonly OutcomeIssue[]): void {
  const errors = issues.filter((issue) => issue.severity === undefined || issue.severity === 'error');
  const [first] = errors;
  if (first === undefined) return;
  if (first.code === 'too-costly') throw new FhirError('too-costly', `${summary}: ${first.diagnostics}`, { issues });
  const place = first.expression === undefined ? '' : ` at ${first.expression[0]}`;
  throw new FhirError(code, `${summary}: ${first.diagnostics}${place}${andMore(errors)}`, { issues });
}
