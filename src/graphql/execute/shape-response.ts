import {
  addDecimalText,
  hideDecimalTexts,
  plainElement,
  takeElement,
  textOfDecimals,
  WrittenDecimal,
} from '../../fhir/json/decimal-texts.js';
import type { Dialect } from '../dialect.js';
import { namedTypeOf } from '../schema/host/type-reference.js';
import { responseKey, putUnderKey } from '../plan/collect-fields.js';
import type { PlannedField, Selection } from '../plan/plan.js';
import type { Output, Run } from './run.js';
import { FhirError } from '../../fhir/error.js';

/**
 * Gives the answer its final shape: applies `@flatten`, `@singleton` and `@slice` and, in dialect `hl7`, removes absent
 * values and collates repeated keys into lists.
 *
 * It walks the objects filled by execution, in turns with other work. Execution has already evaluated `@first` and the expressions of `@slice`. See
 * https://hl7.org/fhir/R4/graphql.html#flattening.
 */
export async function shapeResponse(root: Output, run: Run): Promise<Output> {
  const shaper = new Shaper(run, run.options.dialect);
  const shaped = shaper.later(root);
  while (shaper.shapeNext()) if (run.isLookDue && run.pace.isSpent) await run.pace.next();
  return shaped;
}

/** The destination of an object's fields: flattened objects write into their parent. */
interface Scope {
  readonly into: CollectedFields;
  /** Inside a flattened list, in which names collect the values of several items. */
  readonly collected: boolean;
  /** The suffix from the enclosing slices, appended to names. */
  readonly suffix: string;
}

class Shaper {
  /** Objects that are still to be shaped, with their destinations. */
  readonly #open: { readonly out: Output; readonly shaped: Output }[] = [];

  constructor(
    private readonly run: Run,
    private readonly dialect: Dialect,
  ) {}

  /** @returns the object that {@link shapeNext} will fill */
  later(out: Output): Output {
    const shaped: Output = {};
    this.#open.push({ out, shaped });
    return shaped;
  }

  /** @returns false if all objects have their shape */
  shapeNext(): boolean {
    const next = this.#open.pop();
    if (next === undefined) return false;
    const { out, shaped } = next;
    const into = new CollectedFields(this.dialect);
    const selection = this.run.selections?.get(out);
    if (selection === undefined) this.#connection(out, into);
    else this.#fields(out, selection, { into, collected: false, suffix: '' });
    into.writeTo(shaped);
    return true;
  }

  #value(value: unknown): unknown {
    if (typeof value !== 'object' || value === null || value instanceof WrittenDecimal) return value;
    if (this.run.opaque.has(value)) return value;
    return Array.isArray(value) ? value.map((item) => this.#value(item)) : this.later(value as Output);
  }

  /** Connections and edges, which no directive affects. */
  #connection(out: Output, into: CollectedFields): void {
    for (const [key, value] of Object.entries(out)) {
      const items = itemsOf(value);
      if (items.length === 0 && this.dialect === 'hl7') continue;
      into.collect(responseKey(key), PLAIN, this.#values(items), Array.isArray(value));
    }
  }

  #fields(out: Output, selection: Selection, scope: Scope): void {
    for (const field of selection.fields) {
      try {
        if (field.shaping?.flatten === true) this.#flattened(out, field, scope);
        else this.#field(out, field, scope);
      } catch (error) {
        this.run.fail(out, field, error);
        scope.into.fail(nameOf(field, scope));
      }
    }
  }

  #flattened(out: Output, field: PlannedField, scope: Scope): void {
    const suffixes = this.#suffixesOf(out, field);
    const collected = scope.collected || (isList(field) && field.shaping?.first !== true);
    if (this.dialect === 'standard') expectNames(field, scope);
    itemsOf(out[field.key]).forEach((item, index) => {
      const selection = this.run.selections?.get(item as Output);
      if (selection === undefined) return;
      const suffix = `${scope.suffix}${suffixes?.[index] ?? ''}`;
      this.#fields(item as Output, selection, { into: scope.into, collected, suffix });
    });
  }

  #field(out: Output, field: PlannedField, scope: Scope): void {
    const value = takeElement(out, field.key);
    const items = itemsOf(value);
    const name = nameOf(field, scope);
    const list = (isList(field) || scope.collected) && field.shaping?.singleton !== true;
    const suffixes = this.#suffixesOf(out, field);
    if (suffixes !== undefined) {
      items.forEach((item, index) => this.#collect(`${name}${suffixes[index]!}`, field, [item], list, scope));
      return;
    }
    // Values collected from several items have no placeholders for missing values.
    if (items.length === 0 && (scope.collected || this.dialect === 'hl7')) return;
    const kept = scope.collected ? items.filter((item) => item !== null) : items;
    this.#collect(name, field, kept, list && value !== null, scope);
  }

  #collect(name: string, field: PlannedField, items: readonly unknown[], list: boolean, { into }: Scope): void {
    if (!into.hasFailed(name)) into.collect(name, sourceOf(field), this.#values(items), list);
  }

  #values(items: readonly unknown[]): readonly unknown[] {
    return items.map((item) => this.#value(item));
  }

  #suffixesOf(out: Output, { key }: PlannedField): readonly string[] | undefined {
    return this.run.slices.get(out)?.get(key);
  }
}

/** In dialect `standard` a missing flattened object still adds its names, as null. */
function expectNames(field: PlannedField, scope: Scope): void {
  const selection = selectionInside(field.kind === 'extension' ? field.field : field);
  if (selection === undefined || field.shaping?.slice !== undefined) return;
  for (const inner of selection.fields) {
    if (inner.shaping?.flatten === true) expectNames(inner, scope);
    else if (inner.shaping?.slice === undefined) scope.into.expect(nameOf(inner, scope));
  }
}

function selectionInside(field: PlannedField): Selection | undefined {
  if (field.kind === 'object') return field.selection;
  return 'value' in field && typeof field.value === 'object' && field.value.kind === 'object'
    ? field.value.selection
    : undefined;
}

function nameOf({ key }: PlannedField, { suffix }: Scope): string {
  return responseKey(key) + suffix;
}

function itemsOf(value: unknown): readonly unknown[] {
  if (value === null || value === undefined) return [];
  return Array.isArray(value) ? value : [value];
}

function isList(field: PlannedField): boolean {
  if (field.kind === 'search') return field.shape.kind === 'list';
  return 'array' in field && field.array;
}

/** For parts of connections. */
const PLAIN: FieldSource = Object.freeze({ type: '', singleton: false });

function sourceOf(field: PlannedField): FieldSource {
  return { type: typeOf(field), singleton: field.shaping?.singleton === true };
}

function typeOf(field: PlannedField): string {
  switch (field.kind) {
    case 'primitive':
      return field.type;
    case 'object':
      return field.selection.type;
    case 'host':
    case 'host-property':
      return namedTypeOf(field.field.type);
    case 'extension':
      return typeOf(field.field);
    default:
      return field.kind;
  }
}

type Entry =
  /** The name is present, with or without a value. */
  | { readonly kind: 'expected' }
  /** Null, regardless of other values collected under the name. */
  | { readonly kind: 'failed' }
  | { readonly kind: 'collected'; readonly source: FieldSource; readonly values: unknown[]; list: boolean };

const EXPECTED: Entry = Object.freeze({ kind: 'expected' });
const FAILED: Entry = Object.freeze({ kind: 'failed' });

/** The field that values were selected by. */
interface FieldSource {
  /** FHIR type of the values; all values under one name must share it. */
  readonly type: string;
  /** Marked `@singleton`: one value at most. */
  readonly singleton: boolean;
}

/** A response object under construction: several fields may add values under one name, which then becomes a list. */
class CollectedFields {
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
