import type { OutcomeIssue } from '../error.js';
import { shorten } from '../messages.js';

/** A step down from a resource: an element, as FHIRPath writes it (`name`, `value.ofType(Quantity)`), or an index. */
export type Step = string | number;

/**
 * Collects findings and tracks the current location while a resource is walked.
 *
 * Locations are FHIRPath from the resource that was handed in, as HL7's own validator writes them:
 * `Patient.name[0].given[1]`, `Bundle.entry[2].resource.status`. A choice is named by its type,
 * `Observation.value.ofType(Quantity).code`: the JSON name (`valueQuantity`) is not FHIRPath, and `value` alone would
 * name two nodes when two are there. Findings about the choice as a whole are located at `Observation.value`. See
 * https://hl7.org/fhir/R4/operationoutcome.html#loc.
 */
export class Findings {
  readonly #errors: OutcomeIssue[] = [];
  readonly #warnings: OutcomeIssue[] = [];
  readonly #limit: number;
  readonly #steps: Step[] = [];

  constructor(limit: number) {
    this.#limit = limit;
  }

  /** Errors first, so that warnings cannot crowd them out. */
  get issues(): OutcomeIssue[] {
    return [...this.#errors, ...this.#warnings].slice(0, this.#limit);
  }

  get any(): boolean {
    return this.#errors.length > 0 || this.#warnings.length > 0;
  }

  /** True once the limit is reached; the walk may stop. */
  get full(): boolean {
    return this.#errors.length >= this.#limit;
  }

  enter(step: Step): void {
    this.#steps.push(step);
  }

  leave(): void {
    this.#steps.pop();
  }

  /** Reports a finding that makes the resource invalid, at the current location or one step below. */
  error(code: string, diagnostics: string, below?: Step): void {
    if (!this.full) this.#errors.push({ code, diagnostics, ...this.#expression(below) });
  }

  /** Reports a finding that does not make the resource invalid. */
  warning(code: string, diagnostics: string): void {
    if (this.#warnings.length >= this.#limit) return;
    this.#warnings.push({ severity: 'warning', code, diagnostics, ...this.#expression(undefined) });
  }

  /** Without an expression before the walk has entered a resource: there is no root type yet. */
  #expression(below: Step | undefined): Pick<OutcomeIssue, 'expression'> {
    const steps = below === undefined ? this.#steps : [...this.#steps, below];
    return steps.length === 0 ? {} : { expression: [fhirPath(steps)] };
  }
}

/** A name from the input as a FHIRPath step: in backticks unless it is a plain identifier, cut at 64 characters. */
export function namedStep(name: string): string {
  const short = shorten(name, 64);
  return /^[A-Za-z_]\w*$/.test(short) ? short : `\`${JSON.stringify(short).slice(1, -1).replaceAll('`', '\\`')}\``;
}

/** The kind of a JSON value, for messages that must not show the value. */
export function kindOf(value: unknown): string {
  if (value === null || value === undefined) return String(value);
  if (Array.isArray(value)) return 'an array';
  return typeof value === 'object' ? 'an object' : `a ${typeof value}`;
}

function fhirPath(steps: readonly Step[]): string {
  return steps
    .map((step, index) => (typeof step === 'number' ? `[${step}]` : index === 0 ? step : `.${step}`))
    .join('');
}

/** A problem of a primitive value, without the value: an issue code and the end of the sentence "status must be …". */
export interface PrimitiveProblem {
  readonly code: string;
  readonly expectation: string;
}
