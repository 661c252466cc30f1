import { decimalTextsOf } from '../json/decimal-texts.js';
import { isPlainObject } from '../resource.js';
import { stringifyJson } from '../json/stringify-json.js';
import { CHARACTERS_PER_VALUE, textValues } from '../json/json-values.js';
import { type Findings, kindOf, namedStep } from './findings.js';
import { byteLength } from '../../platform/bytes.js';
import { flatten } from '../../platform/texts.js';

/** Size limits of a resource. */
interface SizeLimits {
  /** Of the JSON text, in bytes of UTF-8. */
  readonly maxBytes: number;
  /** Objects, lists, texts, numbers, booleans and nulls; a long text counts as several: see {@link textValues}. */
  readonly maxValues: number;
  /** Nesting of objects and arrays. */
  readonly maxDepth: number;
}

/** Whether a key changes an object's prototype when code copies it carelessly. */
function isPolluting(key: string): boolean {
  // Few keys are as long as one of them.
  if (key.length !== 9 && key.length !== 11) return false;
  return key === '__proto__' || key === 'prototype' || key === 'constructor';
}

/** One UTF-16 unit takes at most six bytes of JSON text (`\u0001`). */
const MAX_BYTES_PER_UNIT = 6;

/** Maximum number of names of one object; an element of FHIR has fewer than a hundred. More take long to list and copy. */
export const MAX_NAMES = 10_000;

/** In UTF-16 units. Shorter texts take little time to hash, in however many pieces they are. */
const LONG_TEXT = 1_024;

/** Longest text of a number of JavaScript. */
const MAX_NUMBER_LENGTH = 25;

/**
 * Finds the reasons why a value is not safe, plain JSON: values that JSON cannot carry, prototype-polluting keys,
 * nesting or size beyond the limits.
 *
 * `undefined` members are ignored, as in `JSON.stringify`. The walk stops when a limit is exceeded, so that cyclic and
 * heavily shared objects cost no more than a legitimate resource of that size.
 */
export function checkJsonSafety(resource: object, limits: SizeLimits, findings: Findings): void {
  const walk = new SafetyWalk(limits, findings);
  walk.object(resource, 1);
  const { units, values } = walk;
  if (values > limits.maxValues) {
    findings.error('too-costly', `the resource has more than ${limits.maxValues} values: split it, or raise the limit`);
  } else if (units > limits.maxBytes || (!findings.any && isLongText(resource, units, limits))) {
    findings.error('too-costly', `the resource is longer than ${limits.maxBytes} bytes of JSON text`);
  }
}

class SafetyWalk {
  /** Lower bound of the JSON text's length so far, in UTF-16 units. */
  units = 0;
  values = 1;
  ended = false;
  readonly #limits: SizeLimits;
  readonly #findings: Findings;
  /** Where the walk is. A place is written as FHIRPath only where something is found. */
  readonly #path: (string | number)[] = [];

  constructor(limits: SizeLimits, findings: Findings) {
    this.#limits = limits;
    this.#findings = findings;
  }

  object(value: object, depth: number): void {
    if (!isPlainObject(value)) {
      return this.#refuse('only plain JSON objects can be stored, not instances of a class');
    }
    this.#count(1);
    const texts = decimalTextsOf(value);
    if (texts !== undefined) for (const text of Object.values(texts).flat()) this.#count(text?.length ?? 0);
    let names = 0;
    for (const key in value) {
      if (++names > MAX_NAMES) return this.#endTooWide();
      const member = (value as Record<string, unknown>)[key];
      if (member === undefined) continue;
      this.#count(key.length + 4);
      if (isPolluting(key)) this.#report(`the name ${key} is not allowed`, key);
      else this.#member(member, key, depth);
      if (this.ended) return;
    }
  }

  #array(items: readonly unknown[], depth: number): void {
    this.#count(1);
    for (let index = 0; index < items.length; index++) {
      this.#count(1);
      this.#member(items[index], index, depth);
      if (this.ended) return;
    }
  }

  #member(value: unknown, step: string | number, depth: number): void {
    if (++this.values > this.#limits.maxValues) this.ended = true;
    switch (typeof value) {
      case 'string':
        this.#count(value.length + 2);
        if (value.length < CHARACTERS_PER_VALUE || this.ended) return;
        // Code that indexes, compares or writes the resource runs after this walk and may hash its texts.
        if (value.length >= LONG_TEXT) flatten(value);
        this.values += textValues(value) - 1;
        return;
      case 'boolean':
        return this.#count(4);
      case 'number':
        this.#count(1);
        if (Number.isFinite(value)) return;
        break;
      case 'object': {
        if (value === null) return this.#count(4);
        this.#path.push(step);
        if (depth >= this.#limits.maxDepth) this.#endTooDeep();
        else if (Array.isArray(value)) this.#array(value, depth + 1);
        else this.object(value, depth + 1);
        this.#path.pop();
        return;
      }
      default:
    }
    this.#path.push(step);
    this.#refuse(`JSON cannot carry ${typeof value === 'number' ? 'NaN or an infinite number' : kindOf(value)}`);
    this.#path.pop();
  }

  #count(units: number): void {
    this.units += units;
    if (this.units > this.#limits.maxBytes) this.ended = true;
  }

  #refuse(message: string): void {
    this.#report(message);
    if (this.#findings.full) this.ended = true;
  }

  #endTooWide(): void {
    this.#report(`an object has more than ${MAX_NAMES} names`, undefined, 'too-costly');
    this.ended = true;
  }

  #endTooDeep(): void {
    this.#report(`nesting is deeper than ${this.#limits.maxDepth} levels`);
    this.ended = true;
  }

  /** Reports a finding where the walk is, or one step below. */
  #report(message: string, below?: string, code: 'structure' | 'too-costly' = 'structure'): void {
    for (const step of this.#path) this.#findings.enter(typeof step === 'number' ? step : namedStep(step));
    this.#findings.error(code, message, below);
    for (const _ of this.#path) this.#findings.leave();
  }
}

/** The text is built only for resources close to the limit. */
function isLongText(resource: object, units: number, { maxBytes }: SizeLimits): boolean {
  if (units * MAX_BYTES_PER_UNIT <= maxBytes || mostBytes(resource) <= maxBytes) return false;
  return byteLength(stringifyJson(resource)) > maxBytes;
}

/** No less than the length of the JSON text in bytes. PERF (import-rate): close to it for texts in ASCII, and found in a third of the time. */
function mostBytes(root: object): number {
  const open: object[] = [root];
  let bytes = 0;
  const count = (value: unknown): void => {
    if (typeof value === 'string') bytes += bytesOf(value);
    else if (typeof value === 'object' && value !== null) open.push(value);
    else bytes += MAX_NUMBER_LENGTH;
  };
  for (let value = open.pop(); value !== undefined; value = open.pop()) {
    bytes += 2;
    if (Array.isArray(value)) {
      bytes += value.length;
      for (const item of value) count(item);
      continue;
    }
    for (const text of Object.values(decimalTextsOf(value) ?? {}).flat()) bytes += text?.length ?? 0;
    for (const name in value) {
      bytes += bytesOf(name) + 2;
      count((value as { readonly [name: string]: unknown })[name]);
    }
  }
  return bytes;
}

/** At most, with its quotes. */
function bytesOf(text: string): number {
  return (PLAIN_ASCII.test(text) ? text.length : text.length * MAX_BYTES_PER_UNIT) + 2;
}

const PLAIN_ASCII = /^[\x20\x21\x23-\x5b\x5d-\x7e]*$/;
