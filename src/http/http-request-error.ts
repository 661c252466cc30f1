import { FhirError } from '../fhir/error.js';

/** A request error with a specific HTTP status, such as 405 and 415. */
export class HttpRequestError extends FhirError {
  readonly #status: number;

  constructor(
    status: number,
    message: string,
    /** Lower-case names. */
    readonly headers: { readonly [name: string]: string } = {},
  ) {
    super('invalid', message);
    this.#status = status;
  }

  override get status(): number {
    return this.#status;
  }
}
