import { isBefore } from '../sql/pages/value-range.js';
import type { MarkedEntries } from '../sql/extremes.js';
import type { Dictionaries } from './dictionary.js';
import type { IndexOwner } from './index-rows.js';
import type { Statements } from './statements.js';

/**
 * Keeps the table `zone`: per block of neighboring resource keys, the smallest and largest values of each date and number, of
 * the ids and of the instants of change. A search skips the blocks where nothing can match. Only inside a transaction,
 * which must end with {@link flush} or {@link clear}.
 *
 * A zone is never narrower than the values of its block. It may be wider: updates and deletions leave it as it is. An
 * erasure rebuilds the zones of its block, so that nothing of the resource is left in them.
 */
export class Zones {
  readonly #statements: Statements;
  readonly #dictionaries: Dictionaries;
  /** By block and parameter. */
  readonly #widened = new Map<number, Map<number, Zone>>();
  #held = 0;
  readonly #erased = new Set<number>();

  constructor(statements: Statements, dictionaries: Dictionaries) {
    this.#statements = statements;
    this.#dictionaries = dictionaries;
  }

  /** Includes the values of a resource. */
  add({ collection, resource }: IndexOwner, { entries }: MarkedEntries): void {
    for (const { parameter, group, value } of entries) {
      if (group !== 0 || (value.kind !== 'date' && value.kind !== 'number' && value.kind !== 'quantity')) continue;
      this.#widen(this.#dictionaries.parameters.intern(collection, parameter), resource, value.low, value.high);
    }
  }

  /** Includes a resource itself. @param updated milliseconds since 1970 */
  addResource(collection: number, resource: number, id: string, updated: number): void {
    this.#widen(zoneOfIds(collection), resource, id, id);
    this.#widen(zoneOfInstants(collection), resource, updated, updated);
  }

  /** Rebuilds the zones around a resource from the remaining resources. */
  remake(resource: number): void {
    this.#erased.add(blockOf(resource));
  }

  /** Writes the zones. All index rows must be written. */
  flush(): void {
    this.#writeWidened();
    for (const block of this.#erased) {
      this.#statements.write('DELETE FROM zone WHERE block = ?').run(block);
      const [from, to] = rangeOfBlock(block);
      for (const text of REMAKE) this.#statements.write(text).run(block, from, to);
    }
    this.clear();
  }

  /** Forgets them, after a rollback. */
  clear(): void {
    this.#forgetWidened();
    this.#erased.clear();
  }

  #writeWidened(): void {
    for (const [block, zones] of this.#widened) {
      for (const [parameter, { low, last, high }] of zones) {
        this.#statements.write(WIDEN).run(parameter, block, low, last, high);
      }
    }
    this.#forgetWidened();
  }

  #forgetWidened(): void {
    this.#widened.clear();
    this.#held = 0;
  }

  #widen(parameter: number, resource: number, low: string | number, high: string | number): void {
    const block = blockOf(resource);
    const zone = this.#widened.get(block)?.get(parameter);
    if (zone === undefined) {
      this.#hold(block, parameter, { low, last: low, high });
      return;
    }
    if (isBefore(low, zone.low)) zone.low = low;
    if (isBefore(zone.last, low)) zone.last = low;
    if (isBefore(zone.high, high)) zone.high = high;
  }

  #hold(block: number, parameter: number, zone: Zone): void {
    if (this.#held >= MAX_HELD) this.#writeWidened();
    this.#held += 1;
    const zones = this.#widened.get(block);
    if (zones === undefined) this.#widened.set(block, new Map([[parameter, zone]]));
    else zones.set(parameter, zone);
  }
}

/** Zones held until they are written. */
const MAX_HELD = 10_000;

interface Zone {
  low: string | number;
  last: string | number;
  high: string | number;
}

/** Resource keys in a block. A file keeps to it; tests with few resources change it before they make one. */
export const BLOCK = { size: 1_024 };

function blockOf(resource: number): number {
  return Math.floor(resource / BLOCK.size);
}

/** The first and last key of a block. */
export function rangeOfBlock(block: number): readonly [from: number, to: number] {
  return [block * BLOCK.size, (block + 1) * BLOCK.size - 1];
}

/** The number for the ids of a type, in the place of a parameter's number. */
export function zoneOfIds(collection: number): number {
  return -2 * collection;
}

/** The same for the instants of change. */
export function zoneOfInstants(collection: number): number {
  return -2 * collection - 1;
}

const WIDEN = `INSERT INTO zone (parameter, block, low, last, high) VALUES (?, ?, ?, ?, ?)
  ON CONFLICT (parameter, block) DO UPDATE
  SET low = min(low, excluded.low), last = max(last, excluded.last), high = max(high, excluded.high)
  WHERE excluded.low < low OR excluded.last > last OR excluded.high > high`;

function ofValues(table: 'date' | 'quantity'): string {
  return `INSERT INTO zone (parameter, block, low, last, high)
    SELECT parameter, ?, min(low), max(low), max(high) FROM ${table} WHERE resource BETWEEN ? AND ? AND grp = 0 GROUP BY parameter`;
}

function ofResources(parameter: string, value: string): string {
  return `INSERT INTO zone (parameter, block, low, last, high)
    SELECT ${parameter}, ?, min(${value}), max(${value}), max(${value}) FROM resource
    WHERE key BETWEEN ? AND ? AND content IS NOT NULL GROUP BY collection`;
}

const REMAKE = [
  ofValues('date'),
  ofValues('quantity'),
  ofResources('-2 * collection', 'id'),
  ofResources('-2 * collection - 1', 'updated'),
];

/** The entry of `meta` that says that zones may hold values of versions that were removed. */
const TO_NARROW = 'zones_to_narrow';

/**
 * Earlier versions were removed, and zones may hold their values. To make the zones of their blocks again with each step of a
 * purge would read the file many times over, so it is done once, by {@link narrowZones}.
 */
export function noteNarrowing(statements: Statements): void {
  statements.write(`INSERT OR REPLACE INTO meta (name, value) VALUES ('${TO_NARROW}', '1')`).run();
}

/** Rebuilds all zones after {@link noteNarrowing}, so that they hold only values of current versions. */
export function narrowZones(statements: Statements): void {
  if (statements.write(`DELETE FROM meta WHERE name = '${TO_NARROW}'`).run().changes === 0) return;
  statements.write('DELETE FROM zone').run();
  for (const text of allZones()) statements.write(text).run();
}

function allZones(): readonly string[] {
  const ofTable = (table: string): string => `INSERT INTO zone (parameter, block, low, last, high)
    SELECT parameter, resource / ${BLOCK.size}, min(low), max(low), max(high) FROM ${table} WHERE grp = 0 GROUP BY 1, 2`;
  return [ofTable('date'), ofTable('quantity'), ...resourceZones()];
}

/** Makes the zones of ids and instants of all resources, for a file without zones. */
export function resourceZones(): readonly string[] {
  const zones = (parameter: string, value: string): string => `INSERT INTO zone (parameter, block, low, last, high)
    SELECT ${parameter}, key / ${BLOCK.size}, min(${value}), max(${value}), max(${value}) FROM resource
    WHERE content IS NOT NULL GROUP BY 1, 2`;
  return [zones('-2 * collection', 'id'), zones('-2 * collection - 1', 'updated')];
}
