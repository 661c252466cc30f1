/** One finding, before it becomes an OperationOutcome issue. */
export interface OutcomeIssue {
  /** Default `error`. */
  readonly severity?: 'fatal' | 'error' | 'warning' | 'information' | undefined;
  /** A code of https://hl7.org/fhir/R4/valueset-issue-type.html. */
  readonly code: string;
  /** Human text, safe for clients. */
  readonly diagnostics?: string | undefined;
  /** A more specific code for programs, `OperationOutcome.issue.details.coding`. */
  readonly coding?: OutcomeCoding | undefined;
  /** FHIRPath locations, such as `Patient.name[0].family`. */
  readonly expression?: readonly string[] | undefined;
}

/** A machine-readable code, more specific than the code of the issue. */
export interface OutcomeCoding {
  readonly system: string;
  readonly code: string;
}

/** The OperationOutcome resource as this library writes it. See https://hl7.org/fhir/R4/operationoutcome.html. */
export interface OperationOutcome {
  resourceType: 'OperationOutcome';
  id?: string;
  issue: {
    severity: 'fatal' | 'error' | 'warning' | 'information';
    code: string;
    details?: { coding?: OutcomeCoding[]; text: string };
    expression?: string[];
  }[];
}
