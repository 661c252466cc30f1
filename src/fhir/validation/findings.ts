import { shorten } from '../messages/quote.js';
import type { OutcomeIssue } from '../operation-outcome.js';

/** A step down from a resource: an element, as FHIRPath writes it (`name`, `value.ofType(Quantity)`), or an index. */
export type Step = string | number;

/**
 * Collects findings while a resource is walked, and knows where the walk stands.
 *
 * Locations are FHIRPath from the resource that was handed in, as HL7's own validator writes them:
 * `Patient.name[0].given[1]`, `Bundle.entry[2].resource.status`. A choice is named by its type,
 * `Observation.value.ofType(Quantity).code`: the JSON name (`valueQuantity`) is no FHIRPath, and `value` alone would
 * name two nodes when two are there. What belongs to the choice as a whole stands at `Observation.value`.
 * See https://hl7.org/fhir/R4/operationoutcome.html#loc.
 */
export class Findings {
  readonly #errors: OutcomeIssue[] = [];
  readonly #warnings: OutcomeIssue[] = [];
  readonly #limit: number;
  readonly #steps: Step[] = [];

  constructor(limit: number) {
    this.#limit = limit;
  }

  /** Errors first: no number of warnings can hide one. */
  get issues(): OutcomeIssue[] {
    return [...this.#errors, ...this.#warnings].slice(0, this.#limit);
  }

  get any(): boolean {
    return this.#errors.length > 0 || this.#warnings.length > 0;
  }

  /** True when no more is wanted; the walk may end. */
  get full(): boolean {
    return this.#errors.length >= this.#limit;
  }

  enter(step: Step): void {
    this.#steps.push(step);
  }

  leave(): void {
    this.#steps.pop();
  }

  /** A finding that makes the resource unacceptable, at the place of the walk or at a step below it. */
  error(code: string, diagnostics: string, below?: Step): void {
    if (!this.full) this.#errors.push({ code, diagnostics, ...this.#expression(below) });
  }

  /** A finding that its author should know but that refuses nothing. */
  warning(code: string, diagnostics: string, below?: Step): void {
    if (this.#warnings.length >= this.#limit) return;
    this.#warnings.push({ severity: 'warning', code, diagnostics, ...this.#expression(below) });
  }

  /** None before the walk has entered a resource: without a type there is no root to start from. */
  #expression(below: Step | undefined): Pick<OutcomeIssue, 'expression'> {
    const steps = below === undefined ? this.#steps : [...this.#steps, below];
    return steps.length === 0 ? {} : { expression: [fhirPath(steps)] };
  }
}

/**
 * A name out of the input as a FHIRPath step: delimited by backticks where it is no plain identifier, cut at 64
 * characters.
 */
export function namedStep(name: string): string {
  const short = shorten(name, 64);
  return /^[A-Za-z_]\w*$/.test(short) ? short : `\`${JSON.stringify(short).slice(1, -1).replaceAll('`', '\\`')}\``;
}

/** What kind of JSON value was found, for messages that must not show it. */
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
