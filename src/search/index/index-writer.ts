import type { Container } from '../../fhir/container.js';
import type { FhirModel } from '../../fhir/model/fhir-model.js';
import type { JsonObject } from '../../fhir/resource.js';
import { fold, foldKey, indexedPart, nameWords, isLongString, orderKey } from './fold.js';
import type { IndexEntry, IndexValue, StringValue } from './index-entry.js';
import { type InsideResource, InsideResources } from './inside.js';
import { placesIn } from './places.js';

/** Elements that hold whole resources in which references have a meaning of their own. */
const HEADS = ['entry', 'parameter', 'output'];

/** Above this number of entries a set finds duplicates faster than a scan. */
const SCAN_LIMIT = 24;

/** Collects the entries of one resource without duplicates. */
export class IndexWriter {
  readonly entries: IndexEntry[] = [];
  /** By Reference, once a resource with others inside needs it. */
  #places: ReadonlyMap<object, Container> | undefined;
  #parameter = '';
  #words = false;
  #group = 0;
  #lastGroup = 0;
  /** The first entry that a new one may duplicate. */
  #start = 0;
  #seen: Set<string> | undefined;
  /** Several parameters have the same names, and folding a long one takes milliseconds. Few have long ones. */
  #longStrings: Map<string, StringValue> | undefined;
  /**
   * @param container the indexed resource, in which references are resolved
   * @param insides the resources that the indexed one contains
   */
  constructor(
    model: FhirModel,
    readonly resource: JsonObject,
    readonly container: Container,
    readonly insides = new InsideResources(model),
  ) {}

  /** The resource that a Reference is in: an expression may lead into the resources inside. */
  containerOf(reference: JsonObject): Container {
    // Few resources have others inside, other than contained ones.
    if (!HEADS.some((name) => Object.hasOwn(this.resource, name))) return this.container;
    return (this.#places ??= placesIn(this.resource, this.container)).get(reference) ?? this.container;
  }

  /** Marks a reference without any other entry. */
  markPresent(): void {
    if (this.#group === 0) this.addBeside(':present', { kind: 'token' });
  }

  /** Links the current reference to a contained resource. References in groups cannot be followed. */
  link({ type, number }: InsideResource): void {
    if (this.#group === 0) this.addBeside(`#${type}`, { kind: 'number', low: number, high: number });
  }

  /**
   * Sets the parameter and group of the values that follow.
   *
   * @param words whether to index texts by word too
   */
  begin(parameter: string, group: number, words = false): void {
    this.#parameter = parameter;
    this.#words = words;
    this.#group = group;
    this.#start = this.entries.length;
    this.#seen = undefined;
  }

  add(value: IndexValue): void {
    if (!this.#isRepeated(this.#parameter, value)) {
      this.entries.push({ parameter: this.#parameter, group: this.#group, value });
    }
  }

  addText(whole: string): void {
    const { text, folded } = this.#addString(whole);
    if (!isLongString(text)) this.#addWords(folded);
  }

  /**
   * Adds the parts of a name or address, and the words of all of them together.
   *
   * A long part has no words; a search finds it by its beginning.
   */
  addName(parts: readonly string[]): void {
    const values = parts.map((part) => this.#addString(part));
    // Composites compare parts.
    if (this.#group !== 0) return;
    const short = values.filter(({ text }) => !isLongString(text));
    const { rotations, complete } = nameWords(short.map(({ folded }) => folded));
    for (const text of rotations) this.addBeside(':words', { kind: 'string', text, folded: text });
    if (complete && short.length === values.length) return;
    for (const value of values) this.addBeside(':words', value);
  }

  #addString(whole: string): StringValue {
    const text = indexedPart(whole);
    if (isLongString(text)) return this.#addLongText(text);
    const value: StringValue = { kind: 'string', text, folded: fold(text) };
    this.add(value);
    return value;
  }

  #addLongText(text: string): StringValue {
    let value = this.#longStrings?.get(text);
    if (value === undefined) {
      const made = { kind: 'string', text, folded: '' } as const;
      value = Object.assign(made, { folded: foldKey(orderKey(made)) });
      (this.#longStrings ??= new Map()).set(text, value);
    }
    if (this.#isRepeated(this.#parameter, value)) return value;
    this.entries.push({ parameter: this.#parameter, group: this.#group, value });
    this.#addWords(value.folded);
    return value;
  }

  #addWords(folded: string): void {
    if (!this.#words || folded === '') return;
    for (const word of folded.split(' ')) this.addBeside(':words', { kind: 'string', text: word, folded: word });
  }

  /** Adds a value of a parameter derived from the current one: `subject:identifier` for `subject`. */
  addBeside(suffix: string, value: IndexValue): void {
    const parameter = this.#parameter + suffix;
    if (!this.#isRepeated(parameter, value)) this.entries.push({ parameter, group: this.#group, value });
  }

  /** Restarts group numbers at 1 for the next composite parameter. */
  resetGroups(): void {
    this.#lastGroup = 0;
  }

  nextGroup(): number {
    return ++this.#lastGroup;
  }

  /** Removes the entries of the last group, which begin at `start`. */
  dropGroup(start: number): void {
    this.entries.length = start;
    this.#lastGroup -= 1;
  }

  #isRepeated(parameter: string, value: IndexValue): boolean {
    const count = this.entries.length - this.#start;
    if (count === 0) return false;
    if (count >= SCAN_LIMIT) return this.#isInSet(parameter, value);
    for (let index = this.#start; index < this.entries.length; index++) {
      const entry = this.entries[index]!;
      if (entry.parameter === parameter && equalValues(entry.value, value)) return true;
    }
    return false;
  }

  #isInSet(parameter: string, value: IndexValue): boolean {
    this.#seen ??= new Set(this.entries.slice(this.#start).map((entry) => keyOf(entry.parameter, entry.value)));
    const before = this.#seen.size;
    return this.#seen.add(keyOf(parameter, value)).size === before;
  }
}

/** A text that is equal only for equal values of a parameter. A resource can have a hundred thousand values. */
function keyOf(parameter: string, value: IndexValue): string {
  switch (value.kind) {
    case 'string':
      return `${parameter} s${value.text}`;
    case 'date':
    case 'number':
      return `${parameter} ${value.kind} ${value.low} ${value.high}`;
    case 'uri':
      return `${parameter} u${value.value}`;
    default:
      return `${parameter} ${JSON.stringify(value)}`;
  }
}

function equalValues(left: IndexValue, right: IndexValue): boolean {
  switch (left.kind) {
    case 'token':
      return (
        right.kind === 'token' &&
        left.code === right.code &&
        left.system === right.system &&
        equalTexts(left.texts, right.texts)
      );
    case 'string':
      return right.kind === 'string' && left.text === right.text;
    case 'uri':
      return right.kind === 'uri' && left.value === right.value;
    case 'date':
    case 'number':
      return right.kind === left.kind && left.low === right.low && left.high === right.high;
    case 'quantity':
      return (
        right.kind === 'quantity' &&
        left.low === right.low &&
        left.high === right.high &&
        left.system === right.system &&
        left.code === right.code &&
        left.unit === right.unit
      );
    case 'reference':
      if (right.kind !== 'reference') return false;
      if ('url' in left) return 'url' in right && left.url === right.url;
      return !('url' in right) && left.id === right.id && left.type === right.type;
  }
}

function equalTexts(left: readonly string[] | undefined, right: readonly string[] | undefined): boolean {
  if (left === right) return true;
  return left?.length === right?.length && (left ?? []).every((text, index) => text === right![index]);
}

/** Adds the search values of one element value. Malformed values add nothing; it never throws. */
export type ValueIndexer = (value: unknown, writer: IndexWriter) => void;
