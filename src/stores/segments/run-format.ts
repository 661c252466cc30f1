import { nodeCrypto } from '../../platform/crypto.js';
import { cutsCharacter } from '../../platform/texts.js';
import { firstPlace } from '../../platform/collections.js';
import { ByteReader, bytesOf, ByteWriter, readSet, setBytes } from './bytes.js';
import type { PositionSet } from './position-set.js';
import { escapePart, isInterval, type RunKind } from './value.js';

// A run is stored as rows:
//   date             the directory: see RunDirectory
//   date.0.3         the positions of entries 3 * 8192 … of part 0, and their marks
//   date.0.3v        their values, in blocks of 512
//   code=loinc|1-8   the set of a frequent text of a part

/** Sizes of blocks and rows. Only tests change them. */
export const SIZES = {
  /** Entries per block. A qualifier with as many entries has a part of its own. */
  block: 512,
  /** Entries per row: a whole number of blocks. */
  row: 8_192,
  /** A text with so many entries in a part has a set. */
  frequent: 1_024,
  /** Ids per row. */
  ids: 512,
};

/** Marks of an entry: its value is the smallest or the largest of its resource, under any qualifier. */
export const SMALLEST = 1;
export const LARGEST = 2;

/** The values of one parameter in a segment. */
export interface RunDirectory {
  readonly kind: RunKind;
  /** Whether the values are pairs of a composite. */
  readonly isPair: boolean;
  /** The resources with a value. */
  readonly present: PositionSet;
  /** The resources with values of which none has an order, such as tokens without a code. */
  readonly unordered: PositionSet;
  /** Whether a text is stored in part, so that its order is not known. */
  readonly hasCut: boolean;
  /** Resources with values that are not in the run. */
  readonly partial: PositionSet;
  /** The qualifiers of the entries of a mixed part, by their number there. */
  readonly qualifiers: readonly string[];
  readonly parts: readonly RunPart[];
}

/** The entries with one qualifier in the order of their values, or those of all rare qualifiers. */
export interface RunPart {
  /** Undefined: mixed. */
  readonly qualifier: string | undefined;
  readonly size: number;
  /** The marks that any entry has. Of a code with an implied system, the entries without the system have none. */
  readonly marks: number;
  /** Of intervals: the smallest and largest low, the smallest and largest high of each block. */
  readonly bounds: Float64Array;
  /** Of texts: the first of each block. */
  readonly firsts: readonly string[];
  /** Texts that have a set. */
  readonly frequent: ReadonlySet<string>;
}

/** The name of a row of a part. @param values whether it has the values, or the positions */
export function rowName(run: string, part: number, row: number, values: boolean): string {
  return `${escapeRun(run)}.${part}.${row}${values ? 'v' : ''}`;
}

/** The name of the directory of a run. */
export function directoryName(run: string): string {
  return bounded(escapeRun(run));
}

/** The name of the set of a frequent text of a part. */
export function setName(run: string, qualifier: string, text: string): string {
  return bounded(`${escapeRun(run)}=${qualifier}|${escapePart(text)}`);
}

/** The run and the text of the set with a name. Undefined for other rows, and for texts that are not plain in the name. */
export function setOfName(name: string): { readonly run: string; readonly text: string } | undefined {
  const [, run, text] = /^([\w-]+)=.*(?<!\\)\|([^|\\]+)$/su.exec(name) ?? [];
  return run === undefined || text === undefined || name.length > MAX_NAME ? undefined : { run, text };
}

/** Maximum length of a name that is stored whole. */
const MAX_NAME = 128;

/** Other names end with a digest. A whole name is always shorter. */
function bounded(name: string): string {
  return name.length <= MAX_NAME
    ? name
    : `${name.slice(0, MAX_NAME).toWellFormed()}#${nodeCrypto()!.hash('sha256', name, 'base64url')}`;
}

function escapeRun(run: string): string {
  return run.replace(/[.=\\]/g, '\\$&');
}

/** The sorted entries of a part. */
export interface PartEntries {
  readonly positions: Uint16Array;
  readonly marks: Uint8Array;
  /** Numbers of qualifiers, which only a mixed part stores. */
  readonly qualifiers: Uint32Array;
  /** Of intervals. */
  readonly lows: Float64Array;
  readonly highs: Float64Array;
  /** Of texts: the distinct texts, and where the entries of each end. */
  readonly texts: readonly string[];
  readonly ends: readonly number[];
}

export function positionsBytes({ positions, marks }: PartEntries, from: number, to: number): Uint8Array {
  const writer = new ByteWriter();
  const own = marks.subarray(from, to);
  const same = own.every((mark) => mark === own[0]);
  writer.byte(same ? own[0]! : VARIED);
  writer.varint(to - from);
  writer.raw(bytesOf(positions.subarray(from, to)));
  if (!same) writer.raw(own);
  return writer.finish();
}

/** In place of a mark: each entry has its own. */
const VARIED = 255;

/** The entries of a row. */
export interface PositionsRow {
  readonly positions: Uint16Array;
  readonly marks: Uint8Array;
}

export function readPositions(bytes: Uint8Array): PositionsRow {
  const reader = new ByteReader(bytes);
  const mark = reader.byte();
  const size = reader.varint();
  const positions = reader.words(size);
  const marks = mark === VARIED ? new Uint8Array(reader.raw(size)) : new Uint8Array(size).fill(mark);
  return { positions, marks };
}

/** The values of a block. */
export interface ValueBlock {
  readonly size: number;
  readonly lows: Float64Array;
  readonly highs: Float64Array;
  readonly texts: readonly string[];
  /** Where the entries of each text end in the block. */
  readonly ends: readonly number[];
  readonly qualifiers: Uint32Array | undefined;
}

export function valuesBytes(
  entries: PartEntries,
  kind: RunKind,
  isMixed: boolean,
  from: number,
  to: number,
): Uint8Array {
  const blocks: Uint8Array[] = [];
  for (let start = from; start < to; start += SIZES.block) {
    const end = Math.min(to, start + SIZES.block);
    const writer = new ByteWriter();
    writer.varint(end - start);
    if (isInterval(kind)) writeIntervals(writer, entries.lows.subarray(start, end), entries.highs.subarray(start, end));
    else writeTexts(writer, entries, start, end);
    writer.byte(isMixed ? 1 : 0);
    if (isMixed) writer.raw(bytesOf(entries.qualifiers.subarray(start, end)));
    blocks.push(writer.finish());
  }
  const row = new ByteWriter();
  row.varint(blocks.length);
  for (const block of blocks) row.bytes(block);
  return row.finish();
}

/** The blocks of a row, each read when it is first asked for. */
export class ValuesRow {
  readonly #bytes: readonly Buffer[];
  readonly #blocks: (ValueBlock | undefined)[] = [];

  constructor(
    bytes: Uint8Array,
    readonly kind: RunKind,
  ) {
    const reader = new ByteReader(bytes);
    this.#bytes = Array.from({ length: reader.varint() }, () => reader.bytes());
  }

  block(index: number): ValueBlock {
    return (this.#blocks[index] ??= readBlock(this.#bytes[index]!, this.kind));
  }
}

function readBlock(bytes: Uint8Array, kind: RunKind): ValueBlock {
  const reader = new ByteReader(bytes);
  const size = reader.varint();
  const values = isInterval(kind) ? readIntervals(reader, size) : readTexts(reader);
  const qualifiers = reader.byte() === 0 ? undefined : reader.numbers(size);
  return { size, lows: NO_NUMBERS, highs: NO_NUMBERS, texts: [], ends: [], ...values, qualifiers };
}

const NO_NUMBERS = new Float64Array(0);

/** Values of a block are whole multiples or decimal fractions of one of these, if possible. */
const UNITS: readonly ((value: number) => number)[] = [86_400_000, 60_000, 1_000, 1].map((unit) => (n) => n * unit);
const FRACTIONS: readonly ((value: number) => number)[] = [10, 100, 1_000].map((parts) => (n) => n / parts);
const SCALES = [...UNITS, ...FRACTIONS];
const FACTORS = [1 / 86_400_000, 1 / 60_000, 1 / 1_000, 1, 10, 100, 1_000];
/** In place of a scale: doubles. */
const DOUBLES = 255;

function writeIntervals(writer: ByteWriter, lows: Float64Array, highs: Float64Array): void {
  const fits = (scale: number, value: number): boolean => {
    const whole = Math.round(value * FACTORS[scale]!);
    return Math.abs(whole) <= MAX_WHOLE && SCALES[scale]!(whole) === value;
  };
  const scale = SCALES.findIndex((_, one) => lows.every((v) => fits(one, v)) && highs.every((v) => fits(one, v)));
  writer.byte(scale < 0 ? DOUBLES : scale);
  if (scale < 0) {
    for (const values of [lows, highs]) for (const value of values) writer.double(value);
    return;
  }
  const whole = (value: number): number => Math.round(value * FACTORS[scale]!);
  const first = whole(lows[0]!);
  writer.varint(first < 0 ? -2 * first - 1 : 2 * first);
  let before = first;
  for (const low of lows) {
    writer.varint(whole(low) - before);
    before = whole(low);
  }
  const spans = Array.from(lows, (low, index) => whole(highs[index]!) - whole(low));
  const same = spans.every((span) => span === spans[0]);
  writer.byte(same ? 1 : 0);
  for (const span of same ? spans.slice(0, 1) : spans) writer.varint(span);
}

/** Twice of it is a whole number that a double holds exactly. */
const MAX_WHOLE = 2 ** 51;

function readIntervals(reader: ByteReader, size: number): Pick<ValueBlock, 'lows' | 'highs'> {
  const lows = new Float64Array(size);
  const highs = new Float64Array(size);
  const scale = reader.byte();
  if (scale === DOUBLES) {
    for (const values of [lows, highs]) for (let index = 0; index < size; index++) values[index] = reader.double();
    return { lows, highs };
  }
  const value = SCALES[scale]!;
  const first = reader.varint();
  let whole = first % 2 === 0 ? first / 2 : -(first + 1) / 2;
  const wholes = new Float64Array(size);
  for (let index = 0; index < size; index++) {
    whole += reader.varint();
    wholes[index] = whole;
    lows[index] = value(whole);
  }
  const same = reader.byte() === 1 ? reader.varint() : undefined;
  for (let index = 0; index < size; index++) highs[index] = value(wholes[index]! + (same ?? reader.varint()));
  return { lows, highs };
}

function writeTexts(writer: ByteWriter, { texts, ends }: PartEntries, from: number, to: number): void {
  let index = firstAbove(ends, from);
  const first = index;
  while (index < ends.length && (index === first || ends[index - 1]! < to)) index++;
  writer.varint(index - first);
  let before = '';
  for (let one = first; one < index; one++) {
    const text = texts[one]!;
    writeAfter(writer, before, text);
    writer.varint(Math.min(ends[one]!, to) - Math.max(one === 0 ? 0 : ends[one - 1]!, from));
    before = text;
  }
}

/** A text by what it shares with the one before. */
export function writeAfter(writer: ByteWriter, before: string, text: string): void {
  let shared = 0;
  while (shared < before.length && shared < text.length && before[shared] === text[shared]) shared++;
  if (cutsCharacter(text, shared)) shared--;
  writer.varint(shared);
  writer.text(shared === 0 ? text : text.slice(shared));
}

export function readAfter(reader: ByteReader, before: string): string {
  const shared = reader.varint();
  return before.slice(0, shared) + reader.text();
}

function readTexts(reader: ByteReader): Pick<ValueBlock, 'texts' | 'ends'> {
  const texts: string[] = [];
  const ends: number[] = [];
  let [before, end] = ['', 0];
  for (let left = reader.varint(); left > 0; left--) {
    texts.push((before = readAfter(reader, before)));
    ends.push((end += reader.varint()));
  }
  return { texts, ends };
}

/** The first index of an ascending list with a larger number. */
export function firstAbove(numbers: ArrayLike<number>, than: number): number {
  return firstPlace(numbers.length, (place) => numbers[place]! <= than);
}

const KINDS: readonly RunKind[] = ['token', 'string', 'uri', 'reference', 'date', 'number', 'quantity'];

export function directoryBytes(directory: RunDirectory): Uint8Array {
  const { kind, isPair, hasCut, present, unordered, partial, qualifiers, parts } = directory;
  const writer = new ByteWriter();
  writer.byte(KINDS.indexOf(kind));
  writer.byte(isPair ? 1 : 0);
  writer.byte(hasCut ? 1 : 0);
  writer.bytes(setBytes(present));
  writer.bytes(setBytes(unordered));
  writer.bytes(setBytes(partial));
  writeList(writer, qualifiers);
  writer.varint(parts.length);
  for (const { qualifier, size, marks, bounds, firsts, frequent } of parts) {
    writer.byte(qualifier === undefined ? 0 : 1);
    if (qualifier !== undefined) writer.text(qualifier);
    writer.varint(size);
    writer.byte(marks);
    writer.bytes(bytesOf(bounds));
    writeList(writer, firsts);
    writeList(writer, [...frequent]);
  }
  return writer.finish();
}

/** @param size positions of the segment */
export function readDirectory(bytes: Uint8Array, size: number): RunDirectory {
  const reader = new ByteReader(bytes);
  const kind = KINDS[reader.byte()]!;
  const isPair = reader.byte() === 1;
  const hasCut = reader.byte() === 1;
  const present = readSet(reader.bytes(), size);
  const unordered = readSet(reader.bytes(), size);
  const partial = readSet(reader.bytes(), size);
  const qualifiers = readList(reader);
  const parts = Array.from({ length: reader.varint() }, (): RunPart => {
    const qualifier = reader.byte() === 0 ? undefined : reader.text();
    const entries = reader.varint();
    const marks = reader.byte();
    const bounds = new Float64Array(new Uint8Array(reader.bytes()).buffer);
    return { qualifier, size: entries, marks, bounds, firsts: readList(reader), frequent: new Set(readList(reader)) };
  });
  return { kind, isPair, hasCut, present, unordered, partial, qualifiers, parts };
}

function writeList(writer: ByteWriter, texts: readonly string[]): void {
  writer.varint(texts.length);
  for (const text of texts) writer.text(text);
}

function readList(reader: ByteReader): readonly string[] {
  return Array.from({ length: reader.varint() }, () => reader.text());
}
