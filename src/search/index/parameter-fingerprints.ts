import { type FhirModel, perModel } from '../../fhir/model/fhir-model.js';
import { sha256Of } from '../../platform/crypto.js';
import { isHeldApart } from '../criteria/parameters-of.js';

/** Resource type, code of a search parameter, fingerprint: what the index rows of each parameter are made with. */
export interface ParameterFingerprints {
  readonly [type: string]: { readonly [code: string]: string };
}

/**
 * A short text per search parameter that is equal in every process in which the parameter has the same index rows, and
 * differs as soon as the parameter, any type or the extraction changes.
 *
 * All types count for every parameter, because an expression can lead through any of them (extensions, contained resources,
 * `Bundle.entry.resource`), and because they change with releases of FHIR and of Medplum's types only.
 *
 * It reads all definitions, once per model and process, which takes about 20 ms.
 */
export const parameterFingerprints = perModel((model): ParameterFingerprints => {
  const shared = `${INDEX_VERSION} ${model.typesFingerprint}`;
  return Object.fromEntries(
    model.resourceTypes.map((type) => [
      type,
      Object.fromEntries(
        [...model.searchParameters(type).values()]
          .filter(({ code }) => !isHeldApart(code))
          .map((parameter) => [parameter.code, digest(shared, { ...parameter, short: '', url: undefined })]),
      ),
    ]),
  );
});

/**
 * One text for all parameters, found without reading them one by one. If it is equal, so are the fingerprints of all
 * parameters; models that differ only in human-readable texts have different ones.
 */
export function indexFingerprint(model: FhirModel): string {
  return `${INDEX_VERSION}.${model.fingerprint}`;
}

/** A digest of 72 bits. */
function digest(shared: string, parameter: object): string {
  return sha256Of(`${shared} ${JSON.stringify(parameter)}`, 'base64url').slice(0, 12);
}

/**
 * The version of the extraction of index rows from resources. It is raised whenever the rows of the same resource
 * change, which a test over fixed resources detects; stores with a lower version are re-indexed.
 */
export const INDEX_VERSION = 5;
