import { toAuditEvent, type Mailer, type ResourceStore } from 'fhirgraph';
import { createFhirHandler, type FhirHandler } from 'fhirgraph/http';
import type { Tokens } from './tokens.js';

/** What a service is made of; everything that is not HTTP. */
export interface ServiceOptions {
  readonly store: ResourceStore;
  readonly tokens: Tokens;
  /** `https://fhir.example.org/fhir/R4`: where clients see the FHIR routes. */
  readonly baseUrl: string;
  readonly mailer?: Mailer | undefined;
  /** Receives the audit trail as FHIR AuditEvents. Default: it goes nowhere. */
  readonly trail?: ((event: object) => void) | undefined;
  /** Receives the causes of internal errors. Default: the console. */
  readonly onError?: ((error: unknown) => void) | undefined;
}

/** The whole service, to be mounted in any framework; the files beside this one show how. */
export function createService({ store, tokens, baseUrl, mailer, trail, onError }: ServiceOptions): FhirHandler {
  return createFhirHandler({
    store,
    baseUrl,
    maxBodyBytes: 5_000_000,
    mailer,
    signIn: (request) => tokens.callerOf(request.headers.get('authorization'), store),
    audit: trail === undefined ? false : (record) => trail(toAuditEvent(record)),
    onError: onError ?? ((error) => console.error(error)),
  });
}
