import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { gunzip } from 'node:zlib';
import { FhirError } from 'fhirgraph';
import { parseJson } from 'fhirgraph/http';
import { generateSample } from '../sample-data.js';
import { UsageError } from './arguments.js';

/** Bundles to import, one at a time. */
export interface BundleSource {
  /** In words, for the screen. */
  readonly description: string;
  /** How many Bundles there are. */
  readonly size: number;
  /** Each Bundle with a name for messages. */
  bundles(): AsyncIterable<readonly [name: string, bundle: object]>;
}

export function generatedBundles(patients: number): BundleSource {
  return {
    description: `made-up data of ${patients} ${patients === 1 ? 'patient' : 'patients'}`,
    size: patients + 1,

    async *bundles() {
      let position = 0;
      for (const bundle of generateSample({ patients })) yield [`Bundle ${position++}`, bundle];
    },
  };
}

/** @throws UsageError - no such directory, or nothing in it that could be a Bundle */
export async function bundlesInDirectory(directory: string): Promise<BundleSource> {
  const names = (await list(directory)).filter((name) => /\.json(\.gz)?$/.test(name)).sort();
  if (names.length === 0) throw new UsageError(`No .json or .json.gz files in ${directory}`);
  return {
    description: `${names.length} ${names.length === 1 ? 'Bundle' : 'Bundles'} of ${directory}`,
    size: names.length,
    async *bundles() {
      for (const name of names) yield [name, await readBundle(join(directory, name))];
    },
  };
}

const unzip = promisify(gunzip);

async function list(directory: string): Promise<readonly string[]> {
  try {
    return await readdir(directory);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    const reason = code === 'ENOENT' ? 'does not exist' : code === 'ENOTDIR' ? 'is not a directory' : 'cannot be read';
    throw new UsageError(`${directory} ${reason}`);
  }
}

async function readBundle(file: string): Promise<object> {
  try {
    const bytes = await readFile(file);
    const text = (file.endsWith('.gz') ? await unzip(bytes) : bytes).toString('utf8');
    return parseJson(text) as object;
  } catch (error) {
    throw new UsageError(`${file}: ${error instanceof FhirError ? error.message : 'cannot be read'}`);
  }
}
