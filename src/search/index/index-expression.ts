import { FhirError } from '../../fhir/error.js';
import type { FhirModel } from '../../fhir/model/fhir-model.js';
import type { PathExpression, SearchParameterType } from '../../fhir/model/definition-types.js';
import { referenceStub } from '../../fhir/reference.js';
import { extensionsOf, OWN_EXTENSIONS } from '../../fhir/own-extensions.js';
import { isJsonObject, type JsonObject, withoutSecretHolders } from '../../fhir/resource.js';
import { compileTypedFhirPath } from '../../fhirpath/compile.js';
import type { Visitor } from './element-path.js';
import { valueIndexer } from './index-values.js';
import type { IndexWriter } from './index-writer.js';

/**
 * Indexes the results of an expression other than a plain path.
 *
 * Common expressions have a native function here; all others use the FHIRPath library. An evaluation error on malformed
 * data counts as an empty result.
 */
export function compileExpression(
  model: FhirModel,
  type: string,
  expression: string,
  parameterType: SearchParameterType,
): Visitor<IndexWriter> | undefined {
  const native = NATIVE.get(expression);
  return native === undefined
    ? compileByFhirPath(model, type, expression, parameterType)
    : compileNative(model, native, parameterType);
}

/** True for an expression with a native function, which needs no FHIRPath library. */
export function isNative(expression: string): boolean {
  return NATIVE.has(expression);
}

/** The paths from the resource that a native function reads; undefined for other expressions. */
export function pathsOfNative(expression: string): PathExpression | undefined {
  return NATIVE.get(expression)?.reads;
}

interface NativeExpression {
  /** Paths from the resource to the elements that decide the result. */
  readonly reads: PathExpression;
  /** FHIR type of the result. */
  readonly type: string;
  /** @param value the input: the resource, or for a component its composite value */
  readonly evaluate: (value: JsonObject, resource: JsonObject) => unknown;
}

// Synthea-like data is full of MedicationRequests, and the FHIRPath library is 100 times slower.
const NATIVE: ReadonlyMap<string, NativeExpression> = new Map([
  [
    'Patient.deceased.exists() and Patient.deceased != false',
    { reads: [['deceased']], type: 'boolean', evaluate: isDeceased },
  ],
  ['Binary.securityContext.exists()', { reads: [['securityContext']], type: 'boolean', evaluate: hasSecurityContext }],
  [
    'Bot.sourceCode.url | Bot.executableCode.url',
    { reads: ['sourceCode', 'executableCode'].map((name) => [name, 'url']), type: 'Reference', evaluate: codeBinaries },
  ],
  ['ProjectMembership.profile.resolve().resourceType', { reads: [['profile']], type: 'code', evaluate: profileType }],
  ...[OWN_EXTENSIONS.invitationExpires, OWN_EXTENSIONS.accessExpires].map((url): [string, NativeExpression] => [
    `ProjectMembership.extension.where(url = '${url}').value`,
    {
      reads: [['extension', { path: ['url'], equals: url }, 'value']],
      type: 'instant',
      evaluate: (membership) => instantsIn(membership, url),
    },
  ]),
  [
    "iif(priority = 'stat', 50, iif(priority = 'asap', 40, iif(priority = 'urgent', 30, iif(priority = 'routine', 20, 10))))",
    { reads: [['priority']], type: 'integer', evaluate: priorityOrder },
  ],
  ['%resource.referenceSeq.chromosome', ofReferenceSequence('chromosome')],
  ['%resource.referenceSeq.referenceSeqId', ofReferenceSequence('referenceSeqId')],
]);

function compileNative(
  model: FhirModel,
  native: NativeExpression,
  parameterType: SearchParameterType,
): Visitor<IndexWriter> | undefined {
  const index = valueIndexer(model, parameterType, native.type);
  if (index === undefined) return undefined;
  return (value, writer) => {
    if (!isJsonObject(value)) return;
    const result = native.evaluate(value, writer.resource);
    for (const one of Array.isArray(result) ? (result as readonly unknown[]) : [result]) index(one, writer);
  };
}

/** An extension in place of the date of death counts too. */
function isDeceased(patient: JsonObject): boolean {
  const deceased = patient.deceasedBoolean ?? patient.deceasedDateTime;
  if (deceased !== undefined && deceased !== null) return deceased !== false;
  return isJsonObject(patient._deceasedBoolean) || isJsonObject(patient._deceasedDateTime);
}

/** Any value counts, including unresolvable references. */
function hasSecurityContext(binary: JsonObject): boolean {
  return Object.hasOwn(binary, 'securityContext') || Object.hasOwn(binary, '_securityContext');
}

/**
 * References to the Binaries at the URLs of a Bot's code: `Binary/1` below any base, of any version. The service's own
 * base is unknown here; a false match only protects a Binary from changes.
 */
function codeBinaries(bot: JsonObject): readonly { readonly reference: string }[] {
  return [bot.sourceCode, bot.executableCode].flatMap((attachment) => {
    const url = isJsonObject(attachment) ? attachment.url : undefined;
    const id = typeof url === 'string' ? BINARY_ADDRESS.exec(url)?.[1] : undefined;
    return id === undefined ? [] : [{ reference: `Binary/${id}` }];
  });
}
const BINARY_ADDRESS = /(?:^|\/)Binary\/([A-Za-z0-9\-.]{1,64})(?:[/?#]|$)/;

function profileType(membership: JsonObject): string | undefined {
  return referenceStub(membership.profile)?.resourceType;
}

function instantsIn(membership: JsonObject, url: string): readonly unknown[] {
  return extensionsOf(membership, url).map(({ valueInstant }) => valueInstant);
}

const PRIORITIES: ReadonlyMap<unknown, number> = new Map([
  ['stat', 50],
  ['asap', 40],
  ['urgent', 30],
  ['routine', 20],
]);

/** Components of MolecularSequence read an element of the resource, not of the variant. */
function ofReferenceSequence(name: string): NativeExpression {
  return {
    reads: [['referenceSeq', name]],
    type: 'CodeableConcept',
    evaluate: (_, { referenceSeq }) => (isJsonObject(referenceSeq) ? referenceSeq[name] : undefined),
  };
}

function priorityOrder(request: JsonObject): number {
  return PRIORITIES.get(request.priority) ?? 10;
}

function compileByFhirPath(
  model: FhirModel,
  type: string,
  expression: string,
  parameterType: SearchParameterType,
): Visitor<IndexWriter> {
  const evaluate = compileTypedFhirPath(model, expression, type);
  return (value, writer) => {
    const resource = withoutSecretHolders(writer.resource);
    const input = value === writer.resource ? resource : isJsonObject(value) ? withoutSecretHolders(value) : value;
    for (const result of resultsOf(() => evaluate(input, { resource }))) {
      // Contained resources are found only by paths, which access rules can follow.
      if (model.isA(result.type, 'Resource')) continue;
      valueIndexer(model, parameterType, result.type)?.(result.value, writer);
    }
  };
}

function resultsOf<Result>(evaluate: () => readonly Result[]): readonly Result[] {
  try {
    return evaluate();
  } catch (error) {
    // Not an error caused by the data.
    if (error instanceof FhirError && error.code === 'internal') throw error;
    return [];
  }
}
