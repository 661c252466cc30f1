import type { SearchParameterDefinition } from '../../fhir/model/definition-types.js';
import { type FhirModel, perModel } from '../../fhir/model/fhir-model.js';
import { sha256Of } from '../../platform/crypto.js';
import { getOrCreate } from '../../platform/collections.js';
import { isHeldApart } from '../criteria/parameters-of.js';

/** Resource type, code of a search parameter, fingerprint: what the index rows of each parameter are made with. */
export interface ParameterFingerprints {
  readonly [type: string]: { readonly [code: string]: string };
}

/** Code of a search parameter and fingerprint. */
type Fingerprints = ParameterFingerprints[string];

/**
 * A short text per search parameter that is equal in every process in which the parameter has the same index rows, and
 * differs as soon as the parameter, any type or the extraction changes; for references, also as soon as the base URL does.
 *
 * All types count for every parameter, because an expression can lead through any of them (extensions, contained resources,
 * `Bundle.entry.resource`), and because they change with releases of FHIR and of Medplum's types only.
 *
 * It reads all definitions, once per model and process, which takes about 20 ms.
 */
export const parameterFingerprints = perModel((model): ParameterFingerprints =>
  Object.fromEntries(model.resourceTypes.map((type) => [type, fingerprintsOfType(model, type)])),
);

/** Those of one type. The first search of a process needs those of its types alone. */
export function fingerprintsOfType(model: FhirModel, type: string): Fingerprints {
  return getOrCreate(knownTypes(model), type, () => {
    const shared = `${INDEX_VERSION} ${model.typesFingerprint}`;
    const parameters = [...model.searchParameters(type).values()].filter(({ code }) => !isHeldApart(code));
    return Object.fromEntries(
      parameters.map((parameter) => {
        const baseUrl = readsReferences(parameter) ? model.baseUrl : undefined;
        return [parameter.code, digest(shared, { ...parameter, short: '', url: undefined, baseUrl })];
      }),
    );
  });
}

function readsReferences({ type, components = [] }: SearchParameterDefinition): boolean {
  return type === 'reference' || components.some((component) => component.type === 'reference');
}

const knownTypes = perModel(() => new Map<string, Fingerprints>());

/**
 * One text for all parameters, found without reading them one by one. If it is equal, so are the fingerprints of all
 * parameters; models that differ only in human-readable texts have different ones.
 */
export function indexFingerprint(model: FhirModel): string {
  const { fingerprint, baseUrl } = model;
  return `${INDEX_VERSION}.${fingerprint}${baseUrl === undefined ? '' : ` ${baseUrl}`}`;
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
