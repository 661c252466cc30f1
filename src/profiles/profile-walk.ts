import { FhirError } from '../fhir/error.js';
import type { FhirModel } from '../fhir/model/fhir-model.js';
import { Findings, type Step } from '../fhir/validation/findings.js';
import type { JsonObject } from '../fhir/resource.js';
import { inOneGo } from '../platform/pace.js';
import type { StepMeter } from '../fhirpath/step-budget.js';
import type { UncheckedRule } from './element-rules.js';
import type { ReferenceTargets } from './reference-targets.js';
import { getOrCreate } from '../platform/collections.js';

/** Maximum number of values that one validation visits, counted for each rule. */
const MAX_VISITS = 500_000;
/** Maximum number of FHIRPath steps in one validation. */
const MAX_STEPS = 2_000_000;
/** Maximum nesting of profiles that values must conform to. */
const MAX_NESTING = 20;

/** Checks and FHIRPath steps in one step of the walk: a few tenths of a millisecond. */
const STEP = 64;

/** The state of one validation: its location, its findings and its remaining budget. */
export class ProfileWalk {
  readonly #unchecked: Map<string, UncheckedRule>;
  readonly #open: Map<unknown, Set<string>>;
  readonly #work: { visits: number; steps: number; before: number };
  #nesting = 0;

  constructor(
    readonly model: FhirModel,
    readonly findings: Findings,
    readonly resource: JsonObject,
    readonly rootResource: JsonObject,
    readonly targets: ReferenceTargets,
    from?: ProfileWalk,
  ) {
    this.#open = from === undefined ? new Map() : from.#open;
    this.#unchecked = from === undefined ? new Map() : from.#unchecked;
    this.#work = from === undefined ? { visits: 0, steps: 0, before: 0 } : from.#work;
    this.#nesting = from === undefined ? 0 : from.#nesting;
  }

  /** Meters invariants. */
  readonly meter: StepMeter = {
    spend: (steps) => {
      this.#work.steps += steps;
      if (this.#work.steps > MAX_STEPS) throw new FhirError('too-costly', 'The invariants take too many steps');
    },
    spendExpression: () => undefined,
  };

  get unchecked(): readonly UncheckedRule[] {
    return [...this.#unchecked.values()];
  }

  noteUnchecked(rules: readonly UncheckedRule[]): void {
    for (const rule of rules) {
      const key = `${rule.profile}\n${rule.element}\n${rule.reason}`;
      if (this.#unchecked.size < 1_000 && !this.#unchecked.has(key)) this.#unchecked.set(key, rule);
    }
  }

  /** Counts checks of values. True when the walk must end. */
  isSpent(questions = 1): boolean {
    if (this.findings.full) return true;
    this.#work.visits += questions;
    return this.#work.visits > MAX_VISITS;
  }

  /** Whether a step of the walk is over. To stop at every value would take as long as the checks. */
  isStepOver(): boolean {
    const { visits, steps, before } = this.#work;
    if (visits + steps - before < STEP) return false;
    this.#work.before = visits + steps;
    return true;
  }

  /** Reports that the walk ended before it had checked everything. */
  reportLimit(): void {
    if (this.#work.visits <= MAX_VISITS) return;
    this.findings.error('too-costly', `the profiles ask more than ${MAX_VISITS} questions about this resource`);
  }

  /** Goes to a place below. A generator that did work there would cost as much as a small check. */
  enter(steps: readonly Step[]): void {
    for (const step of steps) this.findings.enter(step);
  }

  /** Back from {@link enter}. */
  leave(steps: readonly Step[]): void {
    for (let left = steps.length; left > 0; left -= 1) this.findings.leave();
  }

  /** Whether a profile must still be checked on a value; profiles can refer to each other. */
  open(url: string, value: unknown): boolean {
    const urls = getOrCreate(this.#open, value, () => new Set());
    if (urls.has(url) || this.#nesting >= MAX_NESTING) return false;
    urls.add(url);
    this.#nesting += 1;
    return true;
  }

  close(url: string, value: unknown): void {
    this.#open.get(value)?.delete(url);
    this.#nesting -= 1;
  }

  /** Whether a check finds no error. It shares the budget, and takes one step. */
  tries(check: (trial: ProfileWalk) => Generator<void>, resource = this.resource): boolean {
    const findings = new Findings(1);
    const targets = this.targets.of(resource);
    inOneGo(check(new ProfileWalk(this.model, findings, resource, targets.container, targets, this)));
    return !findings.issues.some(({ severity }) => severity === undefined);
  }

  /** The walk through a resource inside this one. It shares findings and budget. */
  inside(resource: JsonObject, rootResource: JsonObject, targets: ReferenceTargets): ProfileWalk {
    return new ProfileWalk(this.model, this.findings, resource, rootResource, targets, this);
  }
}
