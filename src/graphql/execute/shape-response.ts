import { FhirError } from '../../fhir/error.js';
import type { Dialect } from '../dialect.js';
import type { PlannedField, Selection } from '../plan/plan.js';
import { putUnderKey, responseKey } from '../plan/collect-fields.js';
import type { Output, Run } from './run.js';

/**
 * Gives the answer its final shape: what `@flatten`, `@singleton` and `@slice` ask for and, in dialect `hl7`, without
 * absent values and with repeated keys collated into lists.
 *
 * It walks the objects that the execution has filled; `@first` and the slices' expressions were applied there, where the
 * source is at hand. See https://hl7.org/fhir/R4/graphql.html#flattening.
 */
export function shapeResponse(root: Output, run: Run, dialect: Dialect): Output {
  return new Shaper(run, dialect).object(root);
}

/** One key of an object in the making. */
interface Slot {
  readonly values: unknown[];
  list: boolean;
  readonly singleton: boolean;
  /** True until a value arrives: the name is known to belong here, whether or not there is one. */
  readonly expected: boolean;
  /** FHIR type of the values; all that a flattened name collects must share it. */
  readonly type: string;
}

/** What failed is null, whatever else would have been collected under its name. */
const FAILED: Slot = Object.freeze({ values: [], list: false, singleton: false, type: '', expected: false });

/** Where the fields of an object go, and how: flattened objects write into the one around them. */
interface Scope {
  readonly slots: Map<string, Slot>;
  /** Inside a flattened list, where each name collects the values of several items. */
  readonly collected: boolean;
  /** Appended to the names: what the slices around have given. */
  readonly suffix: string;
}

class Shaper {
  constructor(
    private readonly run: Run,
    private readonly dialect: Dialect,
  ) {}

  object(out: Output): Output {
    const selection = this.run.selections?.get(out);
    if (selection === undefined) return this.plain(out);
    const slots = new Map<string, Slot>();
    this.fields(out, selection, { slots, collected: false, suffix: '' });
    return this.finish(slots);
  }

  /** Connections and their edges, which no directive reaches into. */
  private plain(out: Output): Output {
    const slots = new Map<string, Slot>();
    for (const [key, value] of Object.entries(out)) {
      const name = responseKey(key);
      const values = (Array.isArray(value) ? (value as unknown[]) : [value]).map((item) => this.value(item));
      const slot = slots.get(name);
      if (slot === undefined) {
        slots.set(name, { values, list: Array.isArray(value), singleton: false, type: '', expected: false });
      } else {
        for (const one of values) slot.values.push(one);
        slot.list = true;
      }
    }
    return this.finish(slots);
  }

  private value(value: unknown): unknown {
    if (typeof value !== 'object' || value === null) return value;
    return Array.isArray(value) ? value.map((item) => this.value(item)) : this.object(value as Output);
  }

  private fields(out: Output, selection: Selection, scope: Scope): void {
    for (const field of selection.fields) {
      try {
        this.field(out, field, scope);
      } catch (error) {
        this.run.fail(out, field, error);
        scope.slots.set(responseKey(field.key) + scope.suffix, FAILED);
      }
    }
  }

  private field(out: Output, field: PlannedField, scope: Scope): void {
    const value = out[field.key];
    const suffixes = this.run.slices.get(out)?.get(field.key);
    const items: readonly unknown[] = Array.isArray(value)
      ? value
      : value === null || value === undefined
        ? []
        : [value];
    if (field.shaping?.flatten === true) {
      if (this.dialect === 'standard') this.expect(field, scope);
      const collected = scope.collected || (isList(field) && !field.shaping.first);
      items.forEach((item, index) => {
        const selection = this.run.selections?.get(item as Output);
        const suffix = `${scope.suffix}${suffixes?.[index] ?? ''}`;
        if (selection !== undefined) this.fields(item as Output, selection, { slots: scope.slots, collected, suffix });
      });
      return;
    }
    const name = responseKey(field.key) + scope.suffix;
    const list = (isList(field) || scope.collected) && field.shaping?.singleton !== true;
    if (suffixes !== undefined) {
      items.forEach((item, index) => {
        this.add(scope.slots, `${name}${suffixes[index]!}`, field, [item], list);
      });
      return;
    }
    // Where values are collected from several items, those that an item lacks leave no gap.
    if (items.length === 0 && (scope.collected || this.dialect === 'hl7')) return;
    this.add(
      scope.slots,
      name,
      field,
      scope.collected ? items.filter((item) => item !== null) : items,
      list && value !== null,
    );
  }

  /** In dialect `standard` the names of a flattened object are there, as null, even if it is not. */
  private expect(field: PlannedField, scope: Scope): void {
    if (field.kind !== 'object' || field.shaping?.slice !== undefined) return;
    for (const inner of field.selection.fields) {
      const name = responseKey(inner.key) + scope.suffix;
      if (inner.shaping?.flatten === true) this.expect(inner, scope);
      else if (inner.shaping?.slice === undefined && !scope.slots.has(name)) {
        scope.slots.set(name, { values: [], list: false, singleton: false, type: typeOf(inner), expected: true });
      }
    }
  }

  private add(
    slots: Map<string, Slot>,
    name: string,
    field: PlannedField,
    items: readonly unknown[],
    list: boolean,
  ): void {
    const slot = slots.get(name);
    if (slot === FAILED) return;
    const type = typeOf(field);
    const values = items.map((item) => this.value(item));
    if (slot === undefined || slot.expected) {
      const singleton = field.shaping?.singleton === true;
      if (singleton && values.length > 1) throw severalForOne(name);
      slots.set(name, { values, list, singleton, type, expected: false });
      return;
    }
    if (slot.singleton) throw severalForOne(name);
    if (slot.type !== type && this.dialect === 'standard') {
      throw new FhirError(
        'invalid',
        `"${name}" collects values of the types ${slot.type} and ${type}; give one of them an alias`,
      );
    }
    for (const one of values) slot.values.push(one);
    slot.list = true;
  }

  private finish(slots: ReadonlyMap<string, Slot>): Output {
    const out: Output = {};
    for (const [name, { values, list }] of slots) {
      const value = list ? values : (values[0] ?? null);
      if (!this.isAbsent(value)) putUnderKey(out, name, value);
    }
    return out;
  }

  /** In dialect `hl7` what is not there leaves no trace. */
  private isAbsent(value: unknown): boolean {
    if (this.dialect === 'standard') return false;
    return value === null || value === undefined || (Array.isArray(value) && value.length === 0);
  }
}

function severalForOne(name: string): FhirError {
  return new FhirError('invalid', `"${name}" is marked @singleton and has several values`);
}

function isList(field: PlannedField): boolean {
  if (field.kind === 'search') return field.shape.kind === 'list';
  return 'array' in field && field.array;
}

function typeOf(field: PlannedField): string {
  switch (field.kind) {
    case 'primitive':
      return field.type;
    case 'object':
      return field.selection.type;
    default:
      return field.kind;
  }
}
