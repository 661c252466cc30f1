import { collationKey } from '../../search/fold.js';
import type { IndexEntry } from '../../search/index-entry.js';
import type { Dictionaries } from './dictionary.js';
import { INDEX_TABLES } from './index-tables.js';
import { NO_SYSTEM } from './operators.js';
import type { Statements } from './statements.js';

/** The resource that index rows belong to. */
export interface IndexOwner {
  readonly project: string;
  readonly collection: number;
  /** Key of the `resource` row. */
  readonly resource: number;
}

/** Keeps the index tables equal to what resources say. Only inside a transaction. */
export class IndexWriter {
  readonly #statements: Statements;
  readonly #dictionaries: Dictionaries;
  readonly #internTarget: (project: string, type: string, id: string) => number;

  /** @param internTarget gives the key of what a reference points to, whether it exists or not. */
  constructor(
    statements: Statements,
    dictionaries: Dictionaries,
    internTarget: (project: string, type: string, id: string) => number,
  ) {
    this.#statements = statements;
    this.#dictionaries = dictionaries;
    this.#internTarget = internTarget;
  }

  /** Takes a resource out of every index. */
  remove(resource: number): void {
    for (const table of INDEX_TABLES) this.#statements.write(REMOVE[table]).run(resource);
  }

  /** Adds a resource that is in no index. */
  add({ project, collection, resource }: IndexOwner, entries: readonly IndexEntry[]): void {
    entries.forEach(({ parameter: code, group, value }, ordinal) => {
      const parameter = this.#dictionaries.parameters.intern(collection, code);
      switch (value.kind) {
        case 'token': {
          const system = this.#system(value.system) ?? NO_SYSTEM;
          this.#statements.write(ADD.token).run(resource, parameter, group, ordinal, value.code ?? null, system);
          return;
        }
        case 'string': {
          const key = collationKey(value.text);
          const collation = key === value.folded ? null : key;
          this.#statements
            .write(ADD.string)
            .run(resource, parameter, group, ordinal, value.folded, value.text, collation);
          return;
        }
        case 'date':
          this.#statements.write(ADD.date).run(resource, parameter, group, ordinal, value.low, value.high);
          return;
        case 'number':
          this.#statements.write(ADD.number).run(resource, parameter, group, ordinal, value.low, value.high);
          return;
        case 'quantity': {
          const { low, high, code: unitCode, unit } = value;
          const system = this.#system(value.system) ?? NO_SYSTEM;
          this.#statements
            .write(ADD.quantity)
            .run(resource, parameter, group, ordinal, low, high, system, unitCode ?? null, unit ?? null);
          return;
        }
        case 'reference':
          if ('url' in value) {
            this.#statements.write(ADD.uri).run(resource, parameter, group, ordinal, value.url);
          } else {
            const target = this.#internTarget(project, value.type, value.id);
            this.#statements.write(ADD.reference).run(resource, parameter, group, ordinal, target);
          }
          return;
        case 'uri':
          this.#statements.write(ADD.uri).run(resource, parameter, group, ordinal, value.value);
      }
    });
  }

  #system(uri: string | undefined): number | undefined {
    return uri === undefined ? undefined : this.#dictionaries.systems.intern(uri);
  }
}

const ADD = {
  token: 'INSERT INTO token (resource, parameter, grp, ordinal, code, system) VALUES (?, ?, ?, ?, ?, ?)',
  string:
    'INSERT INTO string (resource, parameter, grp, ordinal, folded, text, collation) VALUES (?, ?, ?, ?, ?, ?, ?)',
  date: 'INSERT INTO date (resource, parameter, grp, ordinal, low, high) VALUES (?, ?, ?, ?, ?, ?)',
  number: 'INSERT INTO quantity (resource, parameter, grp, ordinal, low, high) VALUES (?, ?, ?, ?, ?, ?)',
  quantity:
    'INSERT INTO quantity (resource, parameter, grp, ordinal, low, high, system, code, unit) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)',
  reference: 'INSERT INTO reference (resource, parameter, grp, ordinal, target) VALUES (?, ?, ?, ?, ?)',
  uri: 'INSERT INTO uri (resource, parameter, grp, ordinal, value) VALUES (?, ?, ?, ?, ?)',
} as const;

const REMOVE = {
  token: 'DELETE FROM token WHERE resource = ?',
  string: 'DELETE FROM string WHERE resource = ?',
  date: 'DELETE FROM date WHERE resource = ?',
  quantity: 'DELETE FROM quantity WHERE resource = ?',
  reference: 'DELETE FROM reference WHERE resource = ?',
  uri: 'DELETE FROM uri WHERE resource = ?',
} as const;
