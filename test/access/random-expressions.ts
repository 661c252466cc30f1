import { isJsonObject, type JsonObject } from '../../src/fhir/resource.js';
import { below, oneOf } from '../support/kit.js';

/** Random FHIRPath expressions over the elements that a resource has: paths, functions, operators, variables, types. */
export class RandomExpressions {
  constructor(
    private readonly resource: JsonObject,
    private readonly random: () => number,
  ) {}

  /** An expression from the resource. */
  next(depth = 3): string {
    return this.#expression([this.resource], depth);
  }

  /** @param items the values that `$this` has, to choose names that lead somewhere */
  #expression(items: readonly unknown[], depth: number): string {
    if (depth === 0 || this.#chance(0.35)) return this.#path(items).text;
    const inner = (): string => this.#expression(items, depth - 1);
    const operator = oneOf(
      ['|', '=', '!=', '~', '&', 'and', 'or', 'xor', 'implies', 'in', 'contains', '+', '<'],
      this.random,
    );
    return oneOf(
      [
        () => this.#call(items, depth - 1),
        () => this.#call(items, depth - 1),
        () => this.#call(items, depth - 1),
        () => `(${inner()} ${operator} ${inner()})`,
        () => `(${inner()} is ${this.#type()})`,
        () => `(${inner()} as ${this.#type()}).${this.#path(items).text}`,
        () => `iif(${inner()}, ${inner()}, ${inner()})`,
        () => `coalesce(${inner()}, ${inner()})`,
        () => `(${inner()} | ${inner()}).${this.#name()}`,
        () => `-(${inner()})`,
        () => oneOf(["'a'", 'true', '{}', '1', '$index', '$this'], this.random),
      ],
      this.random,
    )();
  }

  #call(items: readonly unknown[], depth: number): string {
    const { text, found } = this.#path(items);
    const each = (): string => this.#expression(found.length === 0 ? items : found, depth);
    const other = (): string => this.#expression(items, depth);
    const call = oneOf(
      [
        () =>
          oneOf(
            ['first', 'last', 'tail', 'single', 'count', 'exists', 'empty', 'distinct', 'isDistinct'],
            this.random,
          ) + '()',
        () =>
          oneOf(
            ['children', 'descendants', 'not', 'toString', 'type', 'hasValue', 'resolve', 'length', 'allTrue'],
            this.random,
          ) + '()',
        () => `${oneOf(['skip', 'take'], this.random)}(${below(3, this.random)})`,
        () => `${oneOf(['where', 'select', 'all', 'exists', 'repeat', 'sort'], this.random)}(${each()})`,
        () => `where(${each()}.exists())`,
        () => `where(${each()}.empty())`,
        () => `where($index = ${below(2, this.random)})`,
        () => `${oneOf(['ofType', 'as', 'is'], this.random)}(${this.#type()})`,
        () => `${oneOf(['combine', 'union', 'intersect', 'exclude', 'subsetOf'], this.random)}(${other()})`,
        () => `aggregate($total & ${each()}, 'x')`,
        () => `extension('https://clinic.example/e')`,
        () => `select(%resource.${this.#path([this.resource]).text})`,
        () => `defineVariable('v', ${other()}).select(%v)`,
      ],
      this.random,
    )();
    const index = this.#chance(0.2) ? `[${below(2, this.random)}]` : '';
    const tail = this.#chance(0.5) ? `.${this.#path(found).text}` : '';
    return `${text}${index}.${call}${tail}`;
  }

  /** A path that follows the data, and the values there. */
  #path(items: readonly unknown[]): { readonly text: string; readonly found: readonly unknown[] } {
    const steps: string[] = [];
    let found = items;
    if (this.#chance(0.2)) {
      steps.push(oneOf(['%resource', '%context', '%rootResource', String(this.resource['resourceType'])], this.random));
      found = [this.resource];
    }
    const length = 1 + below(4, this.random);
    while (steps.length < length) {
      const names = [...new Set(found.filter(isJsonObject).flatMap(Object.keys))].filter(
        (name) => !name.startsWith('_'),
      );
      if (names.length === 0) break;
      const name = oneOf(names, this.random);
      found = found.filter(isJsonObject).flatMap((item) => item[name] ?? []);
      steps.push(CHOICES.exec(name)?.[1] ?? name);
      if (this.#chance(0.15)) steps.push(`ofType(${this.#type()})`);
    }
    return { text: steps.length === 0 ? '$this' : steps.join('.'), found };
  }

  #name(): string {
    return oneOf(['given', 'family', 'code', 'value', 'resource', 'birthDate', 'extension', 'id', 'url'], this.random);
  }

  #type(): string {
    return oneOf(
      [
        'Patient',
        'Observation',
        'Bundle',
        'DomainResource',
        'Resource',
        'HumanName',
        'string',
        'Quantity',
        'code',
        'FHIR.Person',
        'System.String',
        'BackboneElement',
      ],
      this.random,
    );
  }

  #chance(share: number): boolean {
    return this.random() < share;
  }
}

const CHOICES = /^(value|deceased|effective)[A-Z]/;
