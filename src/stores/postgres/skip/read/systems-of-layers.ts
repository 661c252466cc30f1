import { SETS, systemsName, type SystemsOf, wholeName } from '../../rows/skip-row.js';
import type { RowName } from './skip-rows.js';

/** Values of a system, with a code if one is given. */
export interface InSystem {
  readonly system: string;
  readonly code: string | undefined;
}

/** The parts of the name of a row; undefined for other rows. */
export function readInSystem(value: string): InSystem | undefined {
  if (!value.startsWith('w')) return undefined;
  const [system, code] = [value.slice(1, 1 + UUID_LENGTH), value.slice(1 + UUID_LENGTH)];
  return { system, code: code === '' ? undefined : code };
}

/** The systems of a code or parameter in some layers. Undefined if a layer has too many. */
export function systemsOfLayers(layers: readonly SystemsOf[]): SystemsOf | undefined {
  if (layers.length === 1) return layers[0];
  if (layers.some(({ areMany }) => areMany === true)) return undefined;
  const all = new Set(layers.flatMap(({ same, own }) => [...same, ...own]));
  const isSame = (system: string): boolean => layers.every(({ same }) => same.includes(system));
  return { same: [...all].filter(isSame), own: [...all].filter((one) => !isSame(one)) };
}

/** Adds the rows to read instead for layers in which all values are of the system. */
export function withWhole(name: RowName): readonly RowName[] {
  const inSystem = name.sort === SETS ? readInSystem(name.value) : undefined;
  if (inSystem === undefined) return [name];
  return [name, { ...name, value: systemsName(inSystem.code) }, { ...name, value: wholeName(inSystem.code) }];
}

const UUID_LENGTH = 36;
