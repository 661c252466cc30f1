import type { TypeParameter } from '../../search/criteria/parameters-of.js';
import { FhirError } from '../../fhir/error.js';
import type { FhirModel } from '../../fhir/model/fhir-model.js';
import {
  INDEX_VERSION,
  indexFingerprint,
  type ParameterFingerprints,
  parameterFingerprints,
} from '../../search/index/parameter-fingerprints.js';
import {
  changedParameters,
  codesOf,
  type CodesByType,
  includesCode,
  jsonOf,
  readCodesByType,
} from './index-changes.js';

/**
 * The state of a database's index, valid while the database keeps its epoch. The epoch changes when a process with other
 * definitions takes the database over, and when a type has been indexed in all projects.
 */
export interface IndexState {
  readonly epoch: string;
  /** True if rows are written with the definitions of this process. */
  readonly isOurs: boolean;
  /** Parameters that the database defines differently from this process. Empty if `isOurs`. */
  readonly foreign: CodesByType;
  /** Parameters with incomplete rows in some project. */
  readonly pending: CodesByType;
}

/** The index state as stored in the database. */
interface StoredIndexState {
  readonly epoch: string;
  /** The version of the extraction that the rows are made with; null or undefined: unknown, and older. */
  readonly version: string | null | undefined;
  /** The `indexFingerprint` of the definitions that the rows are made with. */
  readonly definitions: string;
  /** The fingerprints of all parameters, as JSON; called only if the definitions differ. */
  readonly parameters: () => string | undefined;
  /** {@link CodesByType}, as JSON. */
  readonly pending: string;
}

/** @param own definitions of this process, and the fingerprints of its parameters */
export function indexState(
  { epoch, version, definitions, parameters, pending }: StoredIndexState,
  own: { readonly definitions: string; readonly parameters: () => ParameterFingerprints },
): IndexState {
  const isSame = version === String(INDEX_VERSION);
  const foreign =
    isSame && definitions === own.definitions
      ? {}
      : changedParameters(isSame ? readFingerprints(parameters()) : undefined, own.parameters());
  return {
    epoch,
    foreign,
    isOurs: Object.keys(foreign).length === 0,
    pending: readCodesByType(pending),
  };
}

/**
 * Whether the rows of a database were made by this version of the extraction; false for an older one.
 *
 * @param version the index version stored in the database; undefined if none is stored
 * @throws FhirError `unavailable` - the rows were made by a newer version
 */
export function isOfThisVersion(version: string | null | undefined): boolean {
  const stored = Number(version ?? 0);
  if (stored <= INDEX_VERSION) return stored === INDEX_VERSION;
  throw new FhirError(
    'unavailable',
    `The database has index version ${stored}, written by a newer fhirgraph; this one knows up to ${INDEX_VERSION}`,
  );
}

/**
 * Whether the rows of a database were made by this version with these definitions. It needs both entries, because an
 * older version of this library does not know the other entries, and keeps them.
 *
 * @throws as {@link isOfThisVersion}
 */
export function isMadeWith(model: FhirModel, version: string | undefined, definitions: string | undefined): boolean {
  return isOfThisVersion(version) && definitions === indexFingerprint(model);
}

/** The entries of a database whose rows are made with these definitions from now on. */
export function definitionEntries(model: FhirModel): { readonly [name: string]: string } {
  return {
    index_version: String(INDEX_VERSION),
    index_definitions: indexFingerprint(model),
    index_parameters: JSON.stringify(parameterFingerprints(model)),
  };
}

/** Whether every search can rely on the index. */
export function isComplete({ isOurs, pending }: IndexState): boolean {
  return isOurs && Object.keys(pending).length === 0;
}

export function isForeign({ foreign }: IndexState, { type, parameter }: TypeParameter): boolean {
  if (parameter.startsWith('#')) return codesOf(foreign, parameter.slice(1)).length > 0;
  return includesCode(codesOf(foreign, type), parameter);
}

/** True if the parameter's rows may be incomplete in some project; the state of the project decides. */
export function mayBePending({ pending }: IndexState, { type, parameter }: TypeParameter): boolean {
  return includesCode(codesOf(pending, type), parameter);
}

/** The parameters of a model, and the pending parameters that represent contained resources. */
export function searchableParameters(model: FhirModel, { pending }: IndexState): readonly TypeParameter[] {
  const fingerprints = parameterFingerprints(model);
  return model.resourceTypes.flatMap((type) =>
    [...Object.keys(fingerprints[type] ?? {}), ...codesOf(pending, type).filter((code) => code.startsWith('#'))].map(
      (parameter) => ({ type, parameter }),
    ),
  );
}

/** Undefined if the definitions of the rows are unknown. */
export function readFingerprints(text: string | undefined): ParameterFingerprints | undefined {
  return text === undefined ? undefined : jsonOf<ParameterFingerprints>(text);
}
