import { readdir, readFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { FhirError } from '../fhir/error.js';
import { isJsonObject, type AnyResource, type JsonObject } from '../fhir/resource.js';

/** The definitions in a FHIR package. Pass it to `extendDefinitions` unchanged. */
export interface FhirPackage {
  /** From `package.json`: `hl7.fhir.us.core`; undefined in a folder without it. */
  readonly name?: string;
  readonly version?: string;
  readonly searchParameters: readonly AnyResource[];
  /** StructureDefinitions: profiles and extensions. */
  readonly profiles: readonly AnyResource[];
  readonly codeSystems: readonly AnyResource[];
  readonly valueSets: readonly AnyResource[];
}

/**
 * Reads the definitions of an unpacked FHIR package, such as US Core, from a folder.
 *
 * Resources of other types and folders inside, such as `example`, are left out. See
 * https://hl7.org/fhir/packages.html.
 *
 * @param folder where the package was unpacked: the folder `package` with the `*.json` files, or its parent
 * @throws FhirError `invalid` - the folder cannot be read or has no definitions, or a file is not JSON
 * @throws FhirError `unsupported` - the package is for another version of FHIR than R4
 * @example
 * const model = await extendDefinitions(R4, await readFhirPackage('./node_modules/hl7.fhir.us.core'));
 */
export async function readFhirPackage(folder: string): Promise<FhirPackage> {
  const { path, files } = await definitionFiles(folder);
  const manifest = files.includes(MANIFEST) ? await readObject(path, MANIFEST) : {};
  assertR4(manifest);
  const byType = Map.groupBy(
    await Promise.all(files.filter((file) => file !== MANIFEST).map((file) => readObject(path, file))),
    (resource) => resource['resourceType'],
  );
  const ofType = (type: string): readonly AnyResource[] =>
    (byType.get(type) ?? []) as unknown as readonly AnyResource[];
  return {
    ...(typeof manifest['name'] === 'string' ? { name: manifest['name'] } : {}),
    ...(typeof manifest['version'] === 'string' ? { version: manifest['version'] } : {}),
    searchParameters: ofType('SearchParameter'),
    profiles: ofType('StructureDefinition'),
    codeSystems: ofType('CodeSystem'),
    valueSets: ofType('ValueSet'),
  };
}

const MANIFEST = 'package.json';

/** The JSON files of the package, in the order of their names, so that every process reads them alike. */
async function definitionFiles(folder: string): Promise<{ readonly path: string; readonly files: readonly string[] }> {
  for (const path of basename(folder) === 'package' ? [folder] : [join(folder, 'package'), folder]) {
    const files = await readdir(path).catch(() => []);
    const json = files.filter((file) => file.endsWith('.json') && !file.startsWith('.')).sort();
    if (json.some((file) => file !== MANIFEST)) return { path, files: json };
  }
  throw new FhirError(
    'invalid',
    `No definitions (*.json) in ${folder}: name the folder where the FHIR package was unpacked`,
  );
}

async function readObject(path: string, file: string): Promise<JsonObject> {
  try {
    const content: unknown = JSON.parse(await readFile(join(path, file), 'utf8'));
    if (isJsonObject(content)) return content;
  } catch (cause) {
    throw new FhirError('invalid', `${file} of the FHIR package cannot be read as JSON`, { cause });
  }
  throw new FhirError('invalid', `${file} of the FHIR package is not a JSON object`);
}

function assertR4(manifest: JsonObject): void {
  const versions = manifest['fhirVersions'] ?? manifest['fhir-version-list'];
  if (!Array.isArray(versions) || versions.length === 0) return;
  if (versions.some((version) => typeof version === 'string' && version.startsWith('4.0'))) return;
  throw new FhirError(
    'unsupported',
    `The FHIR package is for FHIR ${versions.join(', ')}; only R4 (4.0.1) is supported`,
  );
}
