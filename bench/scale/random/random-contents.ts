import { Readable } from 'node:stream';
import { importNdjson, type ResourceStore, systemCaller } from 'fhirgraph';
import type { Contents } from '../broad-store.js';
import { RandomData, type RandomSource } from './random-data.js';
import { randomMembers } from './random-members.js';

/** Questions are about this project. */
export const PROJECT = 'north';

/** The share of resources in that project; the rest is in another project. */
export function randomDataOf(source: RandomSource, size: number): RandomData {
  return new RandomData(source, Math.ceil(size * 0.9));
}

/**
 * Random data in two projects of one store. The second project is written after two thirds of the first. At the end, one of a
 * hundred resources gets other values.
 */
export function randomContents(source: RandomSource): Contents {
  const { seed, sparse } = source;
  return {
    name: `random${seed}${sparse ? 'sparse' : ''}`,
    lines: (size) => randomDataOf(source, size).lines(),
    async fill(store, size) {
      const data = randomDataOf(source, size);
      const ours = Math.ceil(size * 0.9);
      const half = Math.floor(ours * 0.67);
      await store.commit(randomMembers(PROJECT, data, seed));
      await load(store, PROJECT, data.lines(0, half));
      await load(store, 'south', new RandomData(source, size - ours).lines());
      await load(store, PROJECT, data.lines(half));
      await load(store, PROJECT, data.lines(0, ours, 1, 101));
    },
  };
}

async function load(store: ResourceStore, project: string, lines: Iterable<string>): Promise<void> {
  const { failed, errors } = await importNdjson(Readable.from(lines), { store, caller: systemCaller(project) });
  if (failed > 0) throw new Error(`${failed} lines were refused: ${JSON.stringify(errors).slice(0, 1_000)}`);
}
