import type { IndexEntry, IndexValue, QuantityValue, TokenValue } from '../../../search/index/index-entry.js';
import type { MarkedEntries } from '../../sql/extremes.js';

/**
 * Index entries of several resources, packed for a thread.
 *
 * Messages copy flat lists far faster than objects, and a string that many entries have is sent once.
 */
export interface PackedEntries {
  /**
   * Per resource the number of its entries, or -1 if the thread makes them; per entry its parameter, group and marks,
   * the kind of its value and the members of the value. Strings are positions in {@link strings}; -1: absent.
   */
  readonly numbers: Float64Array;
  readonly strings: readonly string[];
}

/** Packs the entries of resources. Omits texts that only `:text` searches, because the index has none. */
export class EntryPacker {
  readonly #numbers: number[] = [];
  readonly #strings: string[] = [];
  readonly #positions = new Map<string, number>();

  add({ entries, marks }: MarkedEntries): void {
    this.#numbers.push(entries.length);
    for (let index = 0; index < entries.length; index++) {
      const { parameter, group, value } = entries[index]!;
      this.#numbers.push(this.#positionOf(parameter), group, marks[index]!);
      this.#addValue(value);
    }
  }

  /** A resource whose entries the thread makes itself. */
  skip(): void {
    this.#numbers.push(-1);
  }

  take(): PackedEntries {
    // PERF (import-rate): `from` takes several times as long.
    return { numbers: new Float64Array(this.#numbers), strings: this.#strings };
  }

  #addValue(value: IndexValue): void {
    const numbers = this.#numbers;
    switch (value.kind) {
      case 'token':
        numbers.push(KIND.token, this.#positionOf(value.system), this.#positionOf(value.code));
        break;
      case 'string':
        numbers.push(KIND.string, this.#positionOf(value.text), this.#positionOf(value.folded));
        break;
      case 'date':
      case 'number':
        numbers.push(KIND[value.kind], value.low, value.high);
        break;
      case 'quantity': {
        const { low, high, system, code, unit } = value;
        numbers.push(KIND.quantity, low, high);
        numbers.push(this.#positionOf(system), this.#positionOf(code), this.#positionOf(unit));
        break;
      }
      case 'reference':
        if ('url' in value) numbers.push(KIND.url, this.#positionOf(value.url));
        else numbers.push(KIND.local, this.#positionOf(value.type), this.#positionOf(value.id));
        break;
      case 'uri':
        numbers.push(KIND.uri, this.#positionOf(value.value));
    }
  }

  #positionOf(text: string | undefined): number {
    if (text === undefined) return -1;
    let position = this.#positions.get(text);
    if (position === undefined) {
      position = this.#strings.push(text) - 1;
      this.#positions.set(text, position);
    }
    return position;
  }
}

/** Reads the entries that an {@link EntryPacker} packed, in the same order. */
export class EntryReader {
  readonly #numbers: Float64Array;
  readonly #strings: readonly string[];
  #next = 0;

  constructor({ numbers, strings }: PackedEntries) {
    this.#numbers = numbers;
    this.#strings = strings;
  }

  /** The entries of the next resource; undefined if the thread makes them. */
  read(): MarkedEntries | undefined {
    const entries: IndexEntry[] = [];
    const marks: number[] = [];
    const count = this.#number();
    if (count < 0) return undefined;
    for (let left = count; left > 0; left--) {
      const parameter = this.#string()!;
      const group = this.#number();
      marks.push(this.#number());
      entries.push({ parameter, group, value: this.#value() });
    }
    return { entries, marks };
  }

  #value(): IndexValue {
    switch (this.#number()) {
      case KIND.token:
        return { kind: 'token', system: this.#string(), code: this.#string() } as TokenValue;
      case KIND.string:
        return { kind: 'string', text: this.#string()!, folded: this.#string()! };
      case KIND.date:
        return { kind: 'date', low: this.#number(), high: this.#number() };
      case KIND.number:
        return { kind: 'number', low: this.#number(), high: this.#number() };
      case KIND.quantity:
        return {
          kind: 'quantity',
          low: this.#number(),
          high: this.#number(),
          system: this.#string(),
          code: this.#string(),
          unit: this.#string(),
        } as QuantityValue;
      case KIND.local:
        return { kind: 'reference', type: this.#string()!, id: this.#string()! };
      case KIND.url:
        return { kind: 'reference', url: this.#string()! };
      default:
        return { kind: 'uri', value: this.#string()! };
    }
  }

  #number(): number {
    return this.#numbers[this.#next++]!;
  }

  #string(): string | undefined {
    return this.#strings[this.#number()];
  }
}

const KIND = { token: 0, string: 1, date: 2, number: 3, quantity: 4, local: 5, url: 6, uri: 7 } as const;
