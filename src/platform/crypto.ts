import type * as NodeCrypto from 'node:crypto';
import { encodeBase64Url } from './bytes.js';

/**
 * Node.js's crypto module; undefined in browsers. Deno, Bun and servers compatible with Node.js have it.
 *
 * Not imported: bundles for browsers must not name a module that browsers lack.
 *
 * PERF (start): loading it takes 3 ms, so that is left to the first use.
 */
export function nodeCrypto(): typeof NodeCrypto | undefined {
  if (!isLooked) {
    loaded =
      typeof process === 'object' && typeof process.getBuiltinModule === 'function'
        ? process.getBuiltinModule('node:crypto')
        : undefined;
    isLooked = true;
  }
  return loaded;
}

let loaded: typeof NodeCrypto | undefined;
let isLooked = false;

/** A random UUID (version 4). */
export function randomId(): string {
  return nodeCrypto()?.randomUUID() ?? crypto.randomUUID();
}

/** A new secret: 256 random bits as base64url, 43 letters, digits, `-` and `_`. */
export function randomSecret(): string {
  return encodeBase64Url(crypto.getRandomValues(new Uint8Array(32)));
}

/** The encodings of a hash. */
type HashEncoding = 'hex' | 'base64url';

/**
 * The SHA-256 of a string (as UTF-8). Synchronous, which the Web Crypto API is not: browsers compute it in JavaScript.
 */
export function sha256Of(text: string, encoding: HashEncoding = 'hex'): string {
  return nodeCrypto()?.hash('sha256', text, encoding) ?? portableSha256(text, encoding);
}

/** {@link sha256Of} without Node.js. */
export function portableSha256(text: string, encoding: HashEncoding): string {
  const bytes = sha256Bytes(new TextEncoder().encode(text));
  if (encoding === 'base64url') return encodeBase64Url(bytes);
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
}

/** SHA-256 in JavaScript, for runtimes without a synchronous one. See https://doi.org/10.6028/NIST.FIPS.180-4, section 6.2. */
function sha256Bytes(message: Uint8Array): Uint8Array {
  const { initialHash, rounds } = (constants ??= makeConstants());
  const hash = Uint32Array.from(initialHash);
  const schedule = new Uint32Array(64);
  const padded = pad(message);
  for (let block = 0; block < padded.byteLength; block += BLOCK_BYTES) {
    for (let word = 0; word < 16; word++) schedule[word] = padded.getUint32(block + 4 * word);
    extend(schedule);
    compress(hash, schedule, rounds);
  }
  const digest = new DataView(new ArrayBuffer(4 * hash.length));
  hash.forEach((word, index) => digest.setUint32(4 * index, word));
  return new Uint8Array(digest.buffer);
}

const BLOCK_BYTES = 64;

/** The message, a one bit, zeros, and its length in bits, in whole blocks. */
function pad(message: Uint8Array): DataView {
  const length = Math.ceil((message.length + 9) / BLOCK_BYTES) * BLOCK_BYTES;
  const bytes = new Uint8Array(length);
  bytes.set(message);
  bytes[message.length] = 0x80;
  const view = new DataView(bytes.buffer);
  view.setUint32(length - 8, Math.floor(message.length / 0x20000000));
  view.setUint32(length - 4, message.length << 3);
  return view;
}

function extend(schedule: Uint32Array): void {
  for (let word = 16; word < 64; word++) {
    const [early, late] = [schedule[word - 15]!, schedule[word - 2]!];
    const small0 = rotate(early, 7) ^ rotate(early, 18) ^ (early >>> 3);
    const small1 = rotate(late, 17) ^ rotate(late, 19) ^ (late >>> 10);
    schedule[word] = schedule[word - 16]! + small0 + schedule[word - 7]! + small1;
  }
}

function compress(hash: Uint32Array, schedule: Uint32Array, rounds: Uint32Array): void {
  let [a, b, c, d, e, f, g, h] = hash as unknown as [number, number, number, number, number, number, number, number];
  for (let round = 0; round < 64; round++) {
    const large1 = rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25);
    const choice = (e & f) ^ (~e & g);
    const first = (h + large1 + choice + rounds[round]! + schedule[round]!) | 0;
    const large0 = rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22);
    const majority = (a & b) ^ (a & c) ^ (b & c);
    h = g;
    g = f;
    f = e;
    e = (d + first) | 0;
    d = c;
    c = b;
    b = a;
    a = (first + large0 + majority) | 0;
  }
  for (const [index, word] of [a, b, c, d, e, f, g, h].entries()) hash[index]! += word;
}

function rotate(word: number, bits: number): number {
  return (word >>> bits) | (word << (32 - bits));
}

interface Constants {
  /** The first 32 bits of the fractional parts of the square roots of the first 8 primes. */
  readonly initialHash: Uint32Array;
  /** The same of the cube roots of the first 64. */
  readonly rounds: Uint32Array;
}

/** Node.js never needs them. */
let constants: Constants | undefined;

function makeConstants(): Constants {
  const primes = firstPrimes(64);
  return {
    initialHash: Uint32Array.from(primes.slice(0, 8), (prime) => fraction(Math.sqrt(prime))),
    rounds: Uint32Array.from(primes, (prime) => fraction(Math.cbrt(prime))),
  };
}

function fraction(value: number): number {
  return Math.floor((value - Math.floor(value)) * 0x100000000);
}

function firstPrimes(count: number): readonly number[] {
  const primes: number[] = [];
  for (let candidate = 2; primes.length < count; candidate++) {
    if (primes.every((prime) => candidate % prime !== 0)) primes.push(candidate);
  }
  return primes;
}
