import { firstPlace, getOrCreate } from '../../platform/collections.js';
import { HEADER, type KnownParameters, type SegmentHeader } from './build-segment.js';
import { PositionSet } from './position-set.js';
import {
  directoryName,
  firstAbove,
  type PositionsRow,
  readDirectory,
  readPositions,
  rowName,
  type RunDirectory,
  setName,
  SIZES,
  type ValueBlock,
  ValuesRow,
} from './run-format.js';
import { readSet } from './bytes.js';
import { idsName, readIds } from './segment-ids.js';
import type { LoadedRows } from './segment-rows.js';

/** A segment as a search sees it. All members throw NOT_LOADED if a row must be read first. */
export class Segment {
  readonly #runs = new Map<string, Run>();
  readonly #idRows: (readonly string[] | undefined)[] = [];
  #header: SegmentHeader | undefined;

  /** @param live the positions of resources that were not written since */
  constructor(
    readonly id: string,
    readonly size: number,
    readonly live: PositionSet,
    readonly rows: LoadedRows,
  ) {}

  get header(): SegmentHeader {
    return (this.#header ??= this.rows.read(this.id, HEADER, (bytes) => {
      return JSON.parse(Buffer.from(bytes).toString()) as SegmentHeader;
    }));
  }

  /** Whether the runs of a parameter are complete, as defined by its fingerprint. */
  knows(code: string, fingerprints: KnownParameters): boolean {
    const { knows } = this.header;
    const known = Object.hasOwn(knows, code) ? knows[code] : undefined;
    return known !== undefined && Object.hasOwn(fingerprints, code) && known === fingerprints[code];
  }

  /** Undefined if no resource has a value. */
  run(name: string): Run | undefined {
    if (!this.hasRun(name)) return undefined;
    return getOrCreate(this.#runs, name, () => {
      const read = (bytes: Uint8Array): RunDirectory => readDirectory(bytes, this.size);
      return new Run(this, name, this.rows.read(this.id, directoryName(name), read));
    });
  }

  hasRun(name: string): boolean {
    return this.header.runs.includes(name);
  }

  idAt(position: number): string {
    return this.#ids(Math.floor(position / SIZES.ids))[position % SIZES.ids]!;
  }

  /** The position of an id; undefined if it is not in the segment. */
  positionOf(id: string): number | undefined {
    const position = this.firstAt(id);
    return position < this.size && this.idAt(position) === id ? position : undefined;
  }

  /** The first position whose id is not before this one; the size of the segment if there is none. */
  firstAt(id: string): number {
    const { firstIds } = this.header;
    const block = firstPlace(firstIds.length, (place) => firstIds[place]! <= id) - 1;
    if (block < 0) return 0;
    const ids = this.#ids(block);
    return block * SIZES.ids + firstPlace(ids.length, (place) => ids[place]! < id);
  }

  /** All ids in ascending order. */
  ids(): readonly string[] {
    const blocks = this.noteIds();
    return Array.from({ length: blocks }, (_, block) => this.#ids(block)).flat();
  }

  /** @returns the number of rows */
  noteIds(): number {
    const blocks = Math.ceil(this.size / SIZES.ids);
    for (let block = 0; block < blocks; block++) this.rows.note(this.id, idsName(block));
    return blocks;
  }

  #ids(block: number): readonly string[] {
    return (this.#idRows[block] ??= this.rows.read(this.id, idsName(block), readIds));
  }

  emptySet(): PositionSet {
    return new PositionSet(this.size);
  }
}

/** A run of a segment. */
export class Run {
  /** Rows that were read, by part. A name is made for each of them once. */
  readonly #positions: (PositionsRow | undefined)[][] = [];
  readonly #values: (ValuesRow | undefined)[][] = [];

  constructor(
    readonly segment: Segment,
    readonly name: string,
    readonly directory: RunDirectory,
  ) {}

  get kind(): RunDirectory['kind'] {
    return this.directory.kind;
  }

  /** The row of positions that an entry is in. */
  positions(part: number, entry: number): PositionsRow {
    const row = Math.floor(entry / SIZES.row);
    const { id, rows } = this.segment;
    return ((this.#positions[part] ??= [])[row] ??= rows.read(id, rowName(this.name, part, row, false), readPositions));
  }

  /** @returns false if it is loaded */
  notePositions(part: number, entry: number): boolean {
    const row = Math.floor(entry / SIZES.row);
    if (this.#positions[part]?.[row] !== undefined) return false;
    return this.segment.rows.note(this.segment.id, rowName(this.name, part, row, false));
  }

  /** The values of a block. */
  values(part: number, block: number): ValueBlock {
    const row = Math.floor(block / (SIZES.row / SIZES.block));
    const { id, rows } = this.segment;
    const read = (bytes: Uint8Array): ValuesRow => new ValuesRow(bytes, this.kind);
    const found = ((this.#values[part] ??= [])[row] ??= rows.read(id, rowName(this.name, part, row, true), read));
    return found.block(block % (SIZES.row / SIZES.block));
  }

  noteValues(part: number, block: number): void {
    const row = Math.floor(block / (SIZES.row / SIZES.block));
    if (this.#values[part]?.[row] !== undefined) return;
    this.segment.rows.note(this.segment.id, rowName(this.name, part, row, true));
  }

  /** The value that orders an entry. */
  valueAt(part: number, entry: number): string | number {
    const { lows, texts, ends } = this.values(part, Math.floor(entry / SIZES.block));
    return lows.length > 0 ? lows[entry % SIZES.block]! : texts[firstAbove(ends, entry % SIZES.block)]!;
  }

  /** Adds the resources of entries of a part. */
  addEntries(part: number, from: number, to: number, into: PositionSet): void {
    for (let entry = from; entry < to; entry += SIZES.row - (entry % SIZES.row)) this.notePositions(part, entry);
    for (let entry = from; entry < to;) {
      const start = entry % SIZES.row;
      const end = Math.min(SIZES.row, start + to - entry);
      if (end - start === SIZES.row) into.unite(this.#setOfRow(part, entry));
      else into.addAll(this.positions(part, entry).positions, start, end);
      entry += end - start;
    }
  }

  /** Searches by different values have most rows of a range in common. */
  #setOfRow(part: number, entry: number): PositionSet {
    const { id, rows } = this.segment;
    const name = `${id} ${rowName(this.name, part, Math.floor(entry / SIZES.row), false)} set`;
    const kept = rows.cache.get(name) as PositionSet | undefined;
    if (kept !== undefined) return kept;
    const set = this.segment.emptySet();
    set.addAll(this.positions(part, entry).positions);
    rows.cache.set(name, set, set.words.byteLength);
    return set;
  }

  /** Adds the resources with a frequent text. */
  addSet(part: number, text: string, into: PositionSet): void {
    const { id, rows, size } = this.segment;
    const { qualifier } = this.directory.parts[part]!;
    into.unite(rows.read(id, setName(this.name, qualifier!, text), (bytes) => readSet(bytes, size)));
  }
}
