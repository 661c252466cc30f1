import { FhirError, type OutcomeIssue } from '../../fhir/error.js';
import { andMore } from '../../fhir/messages.js';

/** Collects the problems of definitions, so that their author sees all of them at once. */
export class DefinitionProblems {
  readonly #issues: OutcomeIssue[] = [];

  /**
   * @param place FHIRPath location, `searchParameters[0].expression`
   * @param code `not-supported` for definitions that FHIR allows and this library does not support
   */
  add(place: string, message: string, code: 'invalid' | 'not-supported' = 'invalid'): void {
    // A parameter of every resource type has the same problem in each.
    if (this.#issues.some((issue) => issue.diagnostics === message && issue.expression?.[0] === place)) return;
    this.#issues.push({ code, diagnostics: message, expression: [place] });
  }

  /** Runs a step; its FhirError becomes a problem of the place. @returns undefined after an error */
  attempt<Result>(place: string, subject: string, step: () => Result): Result | undefined {
    try {
      return step();
    } catch (error) {
      if (!(error instanceof FhirError) || error.code === 'internal') throw error;
      this.add(place, `${subject}: ${error.message}`, error.code === 'unsupported' ? 'not-supported' : 'invalid');
      return undefined;
    }
  }

  get count(): number {
    return this.#issues.length;
  }

  /** @throws FhirError `unsupported` if no problem is of another kind, otherwise `invalid` - any problem was added */
  assertNone(): void {
    const [first] = this.#issues;
    if (first === undefined) return;
    const code = this.#issues.every((issue) => issue.code === 'not-supported') ? 'unsupported' : 'invalid';
    throw new FhirError(code, `${first.diagnostics!}${andMore(this.#issues)}`, { issues: this.#issues });
  }
}
