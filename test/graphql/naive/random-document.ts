import { R4 } from '../../../src/store.js';
import { fieldsOf, reverseParameters, type FieldDescriptor } from '../../../src/graphql/schema/fields.js';
import type { JsonObject } from './resolvers.js';

/** The contents of the data: by type, the elements that have values, and some of the values of its primitives. */
export type Vocabulary = ReadonlyMap<string, ReadonlyMap<string, readonly unknown[]>>;

/** Learns from resources, so that random documents select existing values. */
export function learnVocabulary(resources: readonly JsonObject[]): Vocabulary {
  const vocabulary = new Map<string, Map<string, unknown[]>>();
  const learn = (type: string, value: unknown): void => {
    if (typeof value !== 'object' || value === null) return;
    const object = value as JsonObject;
    const actual = type === 'Resource' ? String(object['resourceType']) : type;
    let known = vocabulary.get(actual);
    if (known === undefined) vocabulary.set(actual, (known = new Map()));
    for (const element of R4.typeDefinition(actual)?.elements.values() ?? []) {
      if (object[element.name] === undefined) continue;
      const values = known.get(element.name) ?? [];
      known.set(element.name, values);
      for (const item of [object[element.name]].flat()) {
        if (typeof item === 'object') learn(element.type, item);
        else if (values.length < 40) values.push(item);
      }
    }
  };
  for (const resource of resources) learn('Resource', resource);
  return vocabulary;
}

/** A random valid query over the data: the same for the same seed. */
export function writeDocument(vocabulary: Vocabulary, types: readonly string[], seed: number): string {
  return new Writer(vocabulary, types, seed).write();
}

/** Words that narrow the searches of some types. */
const SEARCHES: { readonly [type: string]: readonly string[] } = {
  Patient: ['gender: female', 'gender: [male, unknown]', 'birthdate: "ge1970"', 'name: "a"', 'active: true'],
  Observation: ['status: "final"', 'date: "ge2023"', 'date: ["lt2024", "gt2025"]', 'category: "laboratory"'],
  Encounter: ['status: "finished"', 'date: "ge2023"'],
  Condition: ['clinical_status: "active"'],
};

class Writer {
  readonly #fragments = new Map<string, string>();
  #aliases = 0;
  #state: number;

  constructor(
    private readonly vocabulary: Vocabulary,
    private readonly types: readonly string[],
    seed: number,
  ) {
    this.#state = seed | 0;
  }

  write(): string {
    const roots = Array.from({ length: 1 + this.#below(3) }, () => this.#root());
    if (this.#chance(0.2)) roots.push('__typename');
    const text = `{\n  ${roots.join('\n  ')}\n}\n${[...this.#fragments.values()].join('\n')}`;
    const variables = ['$yes: Boolean! = true', '$no: Boolean! = false', '$few: Int = 2', '$none: Int']
      .filter((variable) => text.includes(variable.slice(0, variable.indexOf(':'))))
      .join(', ');
    return variables === '' ? text : `query(${variables}) ${text}`;
  }

  #root(): string {
    const type = this.#pick(this.types);
    if (this.#chance(0.4)) {
      const ids = this.vocabulary.get(type)?.get('id') ?? [];
      const id = this.#chance(0.1) ? 'nobody' : String(this.#pick(ids));
      return `${this.#alias()}: ${type}(id: ${JSON.stringify(id)}) ${this.#selection(type, 5)}`;
    }
    return `${this.#alias()}: ${type}List(${this.#searchArguments(type, '')}) ${this.#selection(type, 5)}`;
  }

  #selection(type: string, depth: number, prefix = ''): string {
    const written = Array.from({ length: 1 + this.#below(4) }, () => this.#selected(type, depth, prefix));
    return `{ ${written.filter((text) => text !== '').join(' ') || 'id'} }`;
  }

  #selected(type: string, depth: number, prefix: string): string {
    const roll = this.#next();
    const resource = this.types.includes(type);
    if (roll < 0.04) return '__typename';
    if (roll < 0.09 && depth > 0) return `... ${this.#condition()} ${this.#selection(type, depth - 1, prefix)}`;
    if (roll < 0.13 && depth > 0) return `... on ${type} ${this.#selection(type, depth - 1, prefix)}`;
    if (roll < 0.19 && resource && depth > 0) return this.#spread(type, depth);
    if (roll < 0.35 && resource && depth > 0) return this.#reverse(type, depth);
    if (roll < 0.7 && type === 'Reference' && depth > 0) return this.#resolve(depth);
    const known = [...(this.vocabulary.get(type)?.keys() ?? [])];
    const all = [...fieldsOf(R4, type)!.keys()];
    const field = fieldsOf(R4, type)!.get(known.length > 0 && this.#chance(0.8) ? this.#pick(known) : this.#pick(all));
    return field === undefined ? 'id' : this.#field(field, depth, prefix);
  }

  #field(field: FieldDescriptor, depth: number, prefix: string): string {
    // Fragments on several types share an object, so the type is part of their keys.
    const shown = prefix === '' ? field.name : `${field.name}${prefix}: ${field.name}`;
    if (field.kind === 'sibling') return `${shown} { id extension { url } }`;
    if (field.kind === 'resource-type') return 'resourceType';
    if (field.kind !== 'element') return 'id';
    const { element } = field;
    const kind = R4.typeDefinition(element.type)?.kind;
    if (kind === 'primitive') return `${shown}${this.#chance(0.1) ? ` ${this.#condition()}` : ''}`;
    if (kind === 'resource') return `${shown} ${this.#anyResource(depth - 1)}`;
    if (depth <= 0) return 'id';
    const args = element.array && this.#chance(0.4) ? this.#elementArguments(element.type) : '';
    const key = args === '' ? shown : `${this.#alias()}: ${field.name}(${args})`;
    const condition = this.#chance(0.1) ? ` ${this.#condition()}` : '';
    return `${key}${condition} ${this.#selection(element.type, depth - 1)}`;
  }

  #elementArguments(type: string): string {
    const args: string[] = [];
    const known = [...(this.vocabulary.get(type)?.entries() ?? [])].filter(
      ([name, values]) =>
        values.length > 0 && R4.typeDefinition(R4.typeDefinition(type)!.elements.get(name)!.type)?.kind === 'primitive',
    );
    if (known.length > 0 && this.#chance(0.7)) {
      const [name, values] = this.#pick(known);
      args.push(`${name}: ${this.#chance(0.1) ? 'null' : JSON.stringify(this.#pick(values))}`);
      if (this.#chance(0.3)) args.push(`fhirpath: "${name}.exists()"`);
    } else if (this.#chance(0.3)) args.push('fhirpath: "id.empty()"');
    if (this.#chance(0.3)) args.push(`_offset: ${this.#chance(0.1) ? -1 : this.#below(2)}`);
    if (this.#chance(0.4) || args.length === 0) args.push(`_count: ${this.#count()}`);
    return args.join(', ');
  }

  #searchArguments(type: string, reference: string): string {
    const args = reference === '' ? [] : [`_reference: ${reference}`];
    const words = SEARCHES[type];
    if (words !== undefined && this.#chance(0.6)) args.push(this.#pick(words));
    if (this.#chance(0.4)) args.push(`_sort: "${this.#pick(['_id', '-_id', '_lastUpdated,-_id'])}"`);
    if (this.#chance(0.2)) args.push(`_offset: ${this.#below(3)}`);
    if (this.#chance(0.1)) args.push('fhirpath: "meta.exists()"');
    // Bounds the answer, which would otherwise multiply with every level.
    args.push(`_count: ${this.#chance(0.05) ? -1 : this.#count()}`);
    return args.join(', ');
  }

  #reverse(type: string, depth: number): string {
    const pairs = this.types.flatMap((other) =>
      reverseParameters(R4, other, type).map((code) => [other, code] as const),
    );
    if (pairs.length === 0) return 'id';
    const [other, code] = this.#pick(pairs);
    const args = this.#searchArguments(other, code.replaceAll('-', '_'));
    return `${this.#alias()}: ${other}List(${args}) ${this.#selection(other, depth - 1)}`;
  }

  #resolve(depth: number): string {
    const args = this.#pick(['', '', '', '(optional: true)', '(optional: $no)', `(type: ${this.#pick(this.types)})`]);
    return `${this.#alias()}: resource${args} ${this.#anyResource(depth - 1)}`;
  }

  #anyResource(depth: number): string {
    const parts = ['id', 'resourceType'].filter(() => this.#chance(0.7));
    for (let count = this.#below(4); count > 0; count -= 1) {
      const type = this.#chance(0.6)
        ? this.#pick(['Patient', 'Practitioner', 'Encounter', 'Observation'])
        : this.#pick(this.types);
      parts.push(
        this.#chance(0.2)
          ? this.#spread(type, depth)
          : `... on ${type} ${this.#selection(type, depth - 1, `_${type}`)}`,
      );
    }
    return `{ ${parts.join(' ') || '__typename'} }`;
  }

  #spread(type: string, depth: number): string {
    const name = `${type}${Math.max(depth, 0)}`;
    if (!this.#fragments.has(name)) {
      // Reserved first: a fragment that meets itself below must not be written again, nor be spread in itself.
      if (this.#open.has(name)) return 'id';
      this.#open.add(name);
      const text = `fragment ${name} on ${type} ${this.#selection(type, Math.max(depth - 1, 0), `_${type}`)}`;
      this.#fragments.set(name, text);
    }
    return `...${name}`;
  }

  readonly #open = new Set<string>();

  #count(): string {
    return this.#pick(['1', '2', '3', '$few', '4', '0']);
  }

  #condition(): string {
    return this.#pick(['@include(if: $yes)', '@skip(if: $yes)', '@include(if: $no)', '@skip(if: false)']);
  }

  #alias(): string {
    this.#aliases += 1;
    return `x${this.#aliases}`;
  }

  #pick<Item>(items: readonly Item[]): Item {
    return items[this.#below(items.length)]!;
  }

  #chance(probability: number): boolean {
    return this.#next() < probability;
  }

  #below(limit: number): number {
    return Math.floor(this.#next() * limit);
  }

  /** A number from 0 up to 1 (mulberry32). */
  #next(): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  }
}
