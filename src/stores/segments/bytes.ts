import { PositionSet } from './position-set.js';

/** Writes numbers and texts one after the other. */
export class ByteWriter {
  #bytes = Buffer.allocUnsafe(256);
  #length = 0;

  byte(value: number): void {
    this.#reserve(1);
    this.#bytes[this.#length++] = value;
  }

  /** A whole number from 0 to 2^53 - 1, in groups of seven bits, the lowest first. */
  varint(value: number): void {
    this.#reserve(8);
    let rest = value;
    for (; rest > 127; rest = Math.floor(rest / 128)) this.#bytes[this.#length++] = (rest % 128) | 128;
    this.#bytes[this.#length++] = rest;
  }

  double(value: number): void {
    this.#reserve(8);
    this.#length = this.#bytes.writeDoubleLE(value, this.#length);
  }

  text(value: string): void {
    const length = Buffer.byteLength(value);
    this.varint(length);
    this.#reserve(length);
    this.#length += this.#bytes.write(value, this.#length);
  }

  /** Bytes without their number. */
  raw(bytes: Uint8Array): void {
    this.#reserve(bytes.length);
    this.#bytes.set(bytes, this.#length);
    this.#length += bytes.length;
  }

  /** Bytes after their number. */
  bytes(bytes: Uint8Array): void {
    this.varint(bytes.length);
    this.raw(bytes);
  }

  finish(): Uint8Array {
    return new Uint8Array(this.#bytes.subarray(0, this.#length));
  }

  #reserve(more: number): void {
    if (this.#length + more <= this.#bytes.length) return;
    const larger = Buffer.allocUnsafe(Math.max(2 * this.#bytes.length, this.#length + more));
    this.#bytes.copy(larger);
    this.#bytes = larger;
  }
}

/** Reads what a {@link ByteWriter} wrote. */
export class ByteReader {
  readonly #bytes: Buffer;
  #at = 0;

  constructor(bytes: Uint8Array) {
    this.#bytes = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }

  byte(): number {
    return this.#bytes[this.#at++]!;
  }

  varint(): number {
    const bytes = this.#bytes;
    let byte = bytes[this.#at++]!;
    let value = byte & 127;
    for (let factor = 128; byte > 127; factor *= 128) {
      byte = bytes[this.#at++]!;
      value += (byte & 127) * factor;
    }
    return value;
  }

  double(): number {
    const value = this.#bytes.readDoubleLE(this.#at);
    this.#at += 8;
    return value;
  }

  text(): string {
    return this.raw(this.varint()).toString();
  }

  raw(length: number): Buffer {
    const start = this.#at;
    return this.#bytes.subarray(start, (this.#at += length));
  }

  bytes(): Buffer {
    return this.raw(this.varint());
  }

  /** Numbers of two bytes each. */
  words(count: number): Uint16Array {
    // A copy, since the bytes may begin at an odd address.
    return new Uint16Array(new Uint8Array(this.raw(2 * count)).buffer);
  }

  /** Numbers of four bytes each. */
  numbers(count: number): Uint32Array {
    return new Uint32Array(new Uint8Array(this.raw(4 * count)).buffer);
  }
}

/** The bytes of a typed array. */
export function bytesOf({ buffer, byteOffset, byteLength }: NodeJS.TypedArray): Uint8Array {
  return new Uint8Array(buffer, byteOffset, byteLength);
}

// The first byte of a stored set is its form: a list of 16-bit positions, one bit per position, or all positions.
const LIST = 0;
const BITS = 1;
const ALL = 2;

/** A set in the shortest form. */
export function setBytes(set: PositionSet): Uint8Array {
  const writer = new ByteWriter();
  const { count, size, words } = set;
  if (count === size) writer.byte(ALL);
  else if (2 * count <= 4 * words.length) {
    writer.byte(LIST);
    writer.raw(bytesOf(Uint16Array.from(set.positions())));
  } else {
    writer.byte(BITS);
    writer.raw(bytesOf(words));
  }
  return writer.finish();
}

/** @param size positions of the segment */
export function readSet(bytes: Uint8Array, size: number): PositionSet {
  const reader = new ByteReader(bytes);
  const form = reader.byte();
  const set = new PositionSet(size);
  if (form === ALL) return set.fill();
  if (form === LIST) set.addAll(reader.words((bytes.length - 1) / 2));
  else set.words.set(new Uint32Array(new Uint8Array(reader.raw(bytes.length - 1)).buffer));
  return set;
}
