import { FhirError } from '../../fhir/error.js';
import { addDecimalText, hideDecimalTexts } from '../../fhir/json/decimal-texts.js';
import { plainElement, textOfDecimals } from '../../fhir/json/written-decimal.js';
import type { Dialect } from '../dialect.js';
import { putUnderKey } from '../plan/collect-fields.js';
import type { Output } from './holes.js';

type Entry =
  /** The name is present, with or without a value. */
  | { readonly kind: 'expected' }
  /** Null, regardless of other values collected under the name. */
  | { readonly kind: 'failed' }
  | { readonly kind: 'collected'; readonly source: FieldSource; readonly values: unknown[]; list: boolean };

const EXPECTED: Entry = Object.freeze({ kind: 'expected' });
const FAILED: Entry = Object.freeze({ kind: 'failed' });

/** The field that values were selected by. */
export interface FieldSource {
  /** FHIR type of the values; all values under one name must share it. */
  readonly type: string;
  /** Marked `@singleton`: one value at most. */
  readonly singleton: boolean;
}

/** A response object under construction: several fields may add values under one name, which then becomes a list. */
export class CollectedFields {
  readonly #entries = new Map<string, Entry>();

  constructor(private readonly dialect: Dialect) {}

  /** The name is null until a value arrives. */
  expect(name: string): void {
    if (!this.#entries.has(name)) this.#entries.set(name, EXPECTED);
  }

  fail(name: string): void {
    this.#entries.set(name, FAILED);
  }

  hasFailed(name: string): boolean {
    return this.#entries.get(name) === FAILED;
  }

  /**
   * Adds values under a name.
   *
   * @param list whether the result is a list, even with a single value
   * @throws FhirError `invalid` - several values where one is allowed, or of differing types
   */
  collect(name: string, source: FieldSource, values: readonly unknown[], list: boolean): void {
    const entry = this.#entries.get(name);
    if (entry?.kind === 'failed') return;
    if (entry?.kind === 'collected') {
      this.#assertOneMore(name, entry.source, source);
      for (const value of values) entry.values.push(value);
      entry.list = true;
      return;
    }
    if (source.singleton && values.length > 1) throw severalForOne(name);
    this.#entries.set(name, { kind: 'collected', source, values: [...values], list });
  }

  /** In dialect `hl7`, absent values are omitted. */
  writeTo(out: Output): void {
    for (const [name, entry] of this.#entries) {
      const value = valueOf(entry);
      if (this.dialect === 'hl7' && isAbsent(value)) continue;
      putUnderKey(out, name, plainElement(value));
      const text = textOfDecimals(value);
      if (text !== undefined) addDecimalText(out, name, text);
    }
    hideDecimalTexts(out);
  }

  #assertOneMore(name: string, before: FieldSource, { type }: FieldSource): void {
    if (before.singleton) throw severalForOne(name);
    if (before.type === type || this.dialect === 'hl7') return;
    throw new FhirError(
      'invalid',
      `"${name}" collects values of the types ${before.type} and ${type}; give one of them an alias`,
    );
  }
}

function valueOf(entry: Entry): unknown {
  if (entry.kind !== 'collected') return null;
  return entry.list ? entry.values : (entry.values[0] ?? null);
}

function isAbsent(value: unknown): boolean {
  return value === null || value === undefined || (Array.isArray(value) && value.length === 0);
}

function severalForOne(name: string): FhirError {
  return new FhirError('invalid', `"${name}" is marked @singleton and has several values`);
}
