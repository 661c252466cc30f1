import { FhirError } from '../../../fhir/error.js';
import { MAX_CHAIN, tooCostly } from '../parse-context.js';
import { quote } from '../../../fhir/messages.js';

/** Maximum length of a `_filter`, in UTF-16 code units. */
const MAX_FILTER_LENGTH = 100_000;
/** Maximum number of nested parentheses, brackets and switches between `and` and `or`. */
const MAX_FILTER_DEPTH = 50;

/**
 * The syntax tree of a `_filter`, before its names are resolved.
 *
 * ```text
 * subject[gender eq male].name co "pet" and date ge 2020
 *   and ── subject.name co pet          path [{ name: 'subject', filter: gender eq male }, { name: 'name' }]
 *      └── date ge 2020                 path [{ name: 'date' }]
 * ```
 */
export type FilterExpression = FilterJunction | FilterNegation | FilterComparison;

interface FilterJunction {
  readonly kind: 'and' | 'or';
  readonly of: readonly FilterExpression[];
  /** Nesting including the inner levels; a comparison has 1. */
  readonly depth: number;
}
interface FilterNegation {
  readonly kind: 'not';
  readonly of: FilterExpression;
  readonly depth: number;
}
export interface FilterComparison {
  readonly kind: 'comparison';
  /** At least one step. */
  readonly path: readonly FilterStep[];
  /** In lower case. */
  readonly operator: string;
  readonly value: string;
  /** Where it begins in the text, in UTF-16 code units from 0. */
  readonly offset: number;
  readonly depth: number;
}
export interface FilterStep {
  /** `name`, `subject:Patient`, `_has:Observation:patient:code`. */
  readonly name: string;
  /** A condition on the resources that this step reaches. */
  readonly filter?: FilterExpression;
}

/**
 * Parses a `_filter`: left to right, with `and` and `or` of equal precedence.
 *
 * See https://hl7.org/fhir/R4/search_filter.html.
 *
 * @throws FhirError `invalid` - not a filter; message and `details.offset` give the location.
 * @throws FhirError `too-costly` - longer than {@link MAX_FILTER_LENGTH} or deeper than {@link MAX_FILTER_DEPTH}.
 */
export function parseFilterSyntax(text: string): FilterExpression {
  if (text.length > MAX_FILTER_LENGTH) {
    throw tooCostly('characters in "_filter"', MAX_FILTER_LENGTH, text.length, 'shorten it');
  }
  const reader = new FilterReader(text);
  const expression = reader.expression(0);
  reader.assertEnd();
  return expression;
}

/** Creates the error of a filter at an offset. */
function filterError(message: string, offset: number): FhirError {
  return new FhirError('invalid', `${message} (at offset ${offset} of "_filter")`, { details: { offset } });
}

class FilterReader {
  #position = 0;

  constructor(readonly text: string) {}

  /** @param nesting depth of the enclosing parentheses and brackets. */
  expression(nesting: number): FilterExpression {
    let left = this.#operand(nesting);
    for (;;) {
      const word = this.#take(/\s*(and|or)(?![\w:.[-])/iy)?.[1]?.toLowerCase();
      if (word === undefined) return left;
      left = join(word === 'and' ? 'and' : 'or', left, this.#operand(nesting));
    }
  }

  assertEnd(): void {
    this.#skipBlanks();
    if (this.#position < this.text.length) throw this.#unexpected('"and", "or" or the end');
  }

  #operand(nesting: number): FilterExpression {
    if (nesting > MAX_FILTER_DEPTH) throw tooDeep(nesting);
    const negated = this.#take(/\s*not(?![\w:.[-])/iy) !== undefined;
    const group = this.#take(/\s*\(/y) !== undefined;
    if (negated && !group) throw this.#unexpected('"(" after "not"');
    if (!group) return this.#comparison(nesting);
    const inner = this.expression(nesting + 1);
    if (this.#take(/\s*\)/y) === undefined) throw this.#unexpected('"and", "or" or ")"');
    return negated ? { kind: 'not', of: inner, depth: bounded(inner.depth + 1) } : inner;
  }

  #comparison(nesting: number): FilterComparison {
    this.#skipBlanks();
    const offset = this.#position;
    const path = this.#path(nesting);
    const operator = this.#take(/\s+([a-z]+)(?!\S)/iy)?.[1];
    if (operator === undefined) throw this.#unexpected('a blank and an operator such as "eq"');
    if (this.#take(/\s+/y) === undefined) throw this.#unexpected('a blank and a value');
    const value = this.#value();
    const inner = Math.max(0, ...path.map(({ filter }) => filter?.depth ?? 0));
    return {
      kind: 'comparison',
      path,
      operator: operator.toLowerCase(),
      value,
      offset,
      depth: bounded(inner + stepCount(path)),
    };
  }

  #path(nesting: number): readonly FilterStep[] {
    const steps: FilterStep[] = [];
    for (;;) {
      const name = this.#take(/[A-Za-z_][\w:-]*/y)?.[0];
      if (name === undefined) throw this.#unexpected('a search parameter');
      const bracket = this.#take(/\[/y) !== undefined;
      if (!bracket) steps.push({ name });
      else {
        const filter = this.expression(nesting + 1);
        if (this.#take(/\s*\]/y) === undefined) throw this.#unexpected('"and", "or" or "]"');
        steps.push({ name, filter });
      }
      const followed = stepCount(steps) - 1;
      if (followed > MAX_CHAIN) throw tooCostly('steps in one chain', MAX_CHAIN, followed, 'search in two requests');
      if (this.#take(/\./y) === undefined) {
        if (bracket) throw this.#unexpected('"." and a search parameter after "]"');
        return steps;
      }
    }
  }

  /** A string in double or single quotes, with JSON's escapes, or everything up to a blank or closing bracket. */
  #value(): string {
    const start = this.#position;
    const token = this.#take(/[^\s"'\])][^\s\])]*/y)?.[0];
    if (token !== undefined) return token;
    const string = this.#take(/"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'/sy)?.[0];
    if (string === undefined)
      throw this.#unexpected(/["']/.test(this.text[start] ?? '') ? 'a closing quote' : 'a value');
    if (this.#position < this.text.length && !/[\s\])]/.test(this.text[this.#position]!)) {
      throw this.#unexpected('a blank or a closing bracket after the string');
    }
    try {
      return JSON.parse(string.startsWith("'") ? doubleQuoted(string) : string) as string;
    } catch {
      throw filterError(`${quote(string)} is not a string with JSON's escapes`, start);
    }
  }

  /** Consumes a match of the sticky pattern at the current position. */
  #take(pattern: RegExp): RegExpExecArray | undefined {
    pattern.lastIndex = this.#position;
    const match = pattern.exec(this.text);
    if (match === null) return undefined;
    this.#position = pattern.lastIndex;
    return match;
  }

  #skipBlanks(): void {
    this.#take(/\s+/y);
  }

  #unexpected(expectation: string): FhirError {
    this.#skipBlanks();
    const rest = this.text.slice(this.#position, this.#position + 50);
    return filterError(`Expected ${expectation}, found ${rest === '' ? 'the end' : quote(rest)}`, this.#position);
  }
}

/** Converts a single-quoted string, in which `\\'` is an escape and `"` needs none, to a JSON string. */
function doubleQuoted(string: string): string {
  const inner = string
    .slice(1, -1)
    .replace(/\\[\s\S]|"/g, (part) => (part === '"' ? '\\"' : part === "\\'" ? "'" : part));
  return `"${inner}"`;
}

function join(kind: 'and' | 'or', left: FilterExpression, right: FilterExpression): FilterJunction {
  if (left.kind !== kind) return { kind, of: [left, right], depth: bounded(Math.max(left.depth, right.depth) + 1) };
  // `a and b and c` is one junction: `of` grows in place, since nothing else references the array yet.
  (left.of as FilterExpression[]).push(right);
  return { kind, of: left.of, depth: bounded(Math.max(left.depth, right.depth + 1)) };
}

/** The number of parameters along the path, including those of `_has`. */
function stepCount(path: readonly FilterStep[]): number {
  return path.reduce((sum, { name }) => sum + name.split('_has:').length, 0);
}

function bounded(depth: number): number {
  if (depth > MAX_FILTER_DEPTH) throw tooDeep(depth);
  return depth;
}

function tooDeep(depth: number): FhirError {
  return tooCostly(
    'levels of nesting in "_filter"',
    MAX_FILTER_DEPTH,
    depth,
    'use fewer parentheses and changes of and/or',
  );
}
