import type { FhirModel } from '../../fhir/model/fhir-model.js';
import { FhirError, type ErrorCode } from '../../fhir/error.js';
import { R4 } from '../../fhir/r4.js';
import { loadFhirPath } from '../../fhirpath/library.js';
import type { DocumentText } from '../documents/documents.js';
import { parseDialect, type Dialect } from '../dialect.js';
import { documentError } from '../execute/response-errors.js';
import { withDefaults, type LimitOptions } from '../limits.js';
import { prepareDocument } from '../prepare-document.js';
import { DocumentErrors } from '../prepared-document.js';
import { QUERY } from '../schema/fields.js';
import { modelWithHost } from '../schema/host/compile-host-fields.js';
import type { HostFields } from '../schema/host/host-fields.js';
import type { Location } from '../plan/plan.js';
import { listDocuments, type DocumentManifest, type ListedDocument } from './document-manifest.js';
import { validateOperation, type OperationSettings, type ValidatedOperation } from './validate-operation.js';

/** Options of `validateFhirGraphql`; all have defaults. */
export interface GraphqlValidationOptions {
  /** The definitions of the store that will answer: `store.model`. Default: FHIR R4 with Medplum's types. */
  readonly definitions?: FhirModel | undefined;
  /** The fields of the host, as `createFhirGraphql` takes them; they are not called. */
  readonly fields?: HostFields | undefined;
  /** The types of these fields, in SDL. */
  readonly types?: string | undefined;
  /** Whether the service has enums for codes. Default false. */
  readonly enums?: boolean | undefined;
  /** The dialect of the service. Default `standard`. */
  readonly dialect?: Dialect | undefined;
  /** The limits of the service; a document that exceeds one for any data is an error. */
  readonly limits?: LimitOptions | undefined;
  /** The resource type of the instance that the documents query (`focus`). Default: the whole service. */
  readonly focus?: string | undefined;
  /** Examples of variables, used where an operation declares them: for arguments and the estimated cost. */
  readonly variables?: { readonly [name: string]: unknown } | undefined;
  /**
   * Maximum estimated cost of an operation, in resources of few fields. Default: none for queries, because their cost
   * depends on the data; `limits.cost` for mutations, as in execution.
   */
  readonly maxEstimatedCost?: number | undefined;
}

/** What {@link validateFhirGraphql} found. */
export interface GraphqlValidation {
  /** Empty if every document can be executed. In the order of the documents. */
  readonly errors: readonly GraphqlFinding[];
  /** The operations that have a plan, including operations with errors in their arguments. */
  readonly operations: readonly ValidatedOperation[];
}

/** One error of a document. */
export interface GraphqlFinding {
  readonly code: ErrorCode;
  readonly message: string;
  /** The id in the manifest; absent for a document passed alone. */
  readonly document?: string;
  /** The name of the operation; absent for errors of the whole document. */
  readonly operation?: string;
  /** Positions in the text of the document, 1-based. */
  readonly locations?: readonly Location[];
}

/**
 * Validates documents without a store, for the build of a client or the tests of a host: GraphQL's rules, FHIR's rules,
 * limits, and the arguments that do not depend on variables (search values, `_sort`, `_filter`, FHIRPath). Execution
 * refuses a document without errors only because of its variables, the caller's access, or the stored data.
 *
 * @param documents the text of a document, a parsed one, or a manifest: documents by id, or Apollo's
 * @returns errors of the documents; it does not reject for them
 * @throws FhirError `invalid` - an option or the manifest itself is malformed
 *
 * @example
 * const { errors } = await validateFhirGraphql(JSON.parse(await readFile('persisted-documents.json', 'utf8')));
 * for (const { document, message, locations } of errors) console.error(document, locations?.[0]?.line, message);
 * process.exitCode = errors.length === 0 ? 0 : 1;
 */
export async function validateFhirGraphql(
  documents: DocumentText | DocumentManifest,
  options: GraphqlValidationOptions = {},
): Promise<GraphqlValidation> {
  const settings = settingsOf(options);
  const errors: GraphqlFinding[] = [];
  const operations: ValidatedOperation[] = [];
  for (const listed of listDocuments(documents)) {
    const found = await validateListed(listed, settings);
    errors.push(...found.errors);
    operations.push(...found.operations);
  }
  return { errors, operations };
}

interface Settings extends OperationSettings {
  readonly dialect: Dialect;
  readonly root: string;
}

function settingsOf(options: GraphqlValidationOptions): Settings {
  const { definitions = R4, focus, variables = {}, maxEstimatedCost } = options;
  const model = modelWithHost(definitions, options);
  if (focus !== undefined && !model.isResourceType(focus)) {
    throw new FhirError('invalid', 'focus must be a resource type, such as Patient');
  }
  if (maxEstimatedCost !== undefined && !(typeof maxEstimatedCost === 'number' && maxEstimatedCost > 0)) {
    throw new FhirError('invalid', 'maxEstimatedCost must be a number above 0');
  }
  return {
    model,
    dialect: parseDialect(options.dialect),
    limits: withDefaults(options.limits),
    root: focus ?? QUERY,
    variables,
    maxEstimatedCost,
  };
}

async function validateListed({ id, document }: ListedDocument, settings: Settings): Promise<GraphqlValidation> {
  const { model, limits, dialect, root } = settings;
  const place = id === undefined ? {} : { document: id };
  try {
    const prepared = await prepareDocument(model, document, limits, dialect, root);
    if (prepared.operations.length === 0) throw new FhirError('invalid', 'The document holds no operation');
    if (prepared.usesFhirPath) await loadFhirPath(model);
    const validated = await Promise.all(
      prepared.operations.map((operation) => validateOperation(prepared, operation, settings)),
    );
    return {
      errors: validated.flatMap(({ errors, name }) =>
        errors.map((error) => ({ ...place, ...(name === undefined ? {} : { operation: name }), ...error })),
      ),
      operations: validated.flatMap(({ operation }) => (operation === undefined ? [] : [{ ...place, ...operation }])),
    };
  } catch (error) {
    return { errors: documentFindings(error).map((finding) => ({ ...place, ...finding })), operations: [] };
  }
}

/** @throws any error that is not about the document */
function documentFindings(error: unknown): readonly GraphqlFinding[] {
  if (error instanceof DocumentErrors) {
    return error.errors.map(documentError).map(({ message, locations }) => ({
      code: error.code,
      message,
      ...(locations === undefined ? {} : { locations }),
    }));
  }
  if (error instanceof FhirError && error.code !== 'internal') return [{ code: error.code, message: error.message }];
  throw error;
}
