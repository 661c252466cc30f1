import type Database from 'better-sqlite3';
import DataLoader from 'dataloader';
import { execute, parse, validate, type GraphQLSchema } from 'graphql';
import type { Variant } from '../queries.js';
import { createSchema, type Context, type Resource, type Reverse } from './dataloader-schema.js';

/**
 * The service that a host would build without this library: graphql-js over the same SQLite file, with DataLoader so that
 * references and reverse references of one level are read together. The document is parsed and validated beforehand, the
 * loaders live for one request.
 */
export function graphqlWithDataLoader(database: Database.Database, project: string): Variant {
  const schema: GraphQLSchema = createSchema();
  const contextOf = sqliteContexts(database, project);
  return {
    name: 'graphql-js + DataLoader',
    prepare(query, variables) {
      const document = parse(query.text);
      const errors = validate(schema, document);
      if (errors.length > 0) throw new AggregateError(errors, `Query ${query.name} does not fit the bench's schema`);
      return async () => {
        const contextValue = contextOf();
        return JSON.stringify(await execute({ schema, document, contextValue, variableValues: { ...variables } }));
      };
    },
  };
}

/** @returns a function that creates the loaders of one request */
export function sqliteContexts(database: Database.Database, project: string): () => Context {
  const queries = new Queries(database, project);
  return () => ({
    list: (type, count, gender) => queries.list(type, count, gender),
    byId: new DataLoader((references: readonly string[]) => Promise.resolve(queries.byId(references))),
    reverse: new DataLoader((keys: readonly Reverse[]) => Promise.resolve(queries.reverse(keys)), {
      cacheKeyFn: ({ type, parameter, target, count }) => `${type} ${parameter} ${target} ${count}`,
    }),
  });
}

/** The statements behind the loaders: one per type of a batch of references, one per kind of reverse search and level. */
class Queries {
  readonly #database: Database.Database;
  readonly #project: string;
  readonly #numbers = new Map<string, number>();
  readonly #list: Database.Statement<[number, number], string>;
  readonly #byGender: Database.Statement<[number, string, number], string>;
  readonly #byId: Database.Statement<[string, number], { id: string; text: string }>;
  readonly #reverse: Database.Statement<[string, number, number, number], { target: string; text: string }>;

  constructor(database: Database.Database, project: string) {
    this.#database = database;
    this.#project = project;
    this.#list = database
      .prepare<[number, number], string>(
        `SELECT version.text FROM resource JOIN version ON version.key = resource.content
         WHERE collection = ? ORDER BY id LIMIT ?`,
      )
      .pluck();
    this.#byGender = database
      .prepare<[number, string, number], string>(
        `SELECT version.text FROM token JOIN resource ON resource.key = token.resource
         JOIN version ON version.key = resource.content
         WHERE token.parameter = ? AND token.grp = 0 AND token.code = ? AND token.system = 0 ORDER BY id LIMIT ?`,
      )
      .pluck();
    this.#byId = database.prepare(
      `SELECT resource.id, version.text FROM json_each(?) AS wanted
       CROSS JOIN resource ON resource.collection = ? AND resource.id = wanted.value
       JOIN version ON version.key = resource.content`,
    );
    this.#reverse = database.prepare(
      `SELECT target, version.text FROM (
         SELECT wanted.value AS target, resource.content AS content, resource.id AS id,
           row_number() OVER (PARTITION BY wanted.value ORDER BY resource.id) AS position
         FROM json_each(?) AS wanted
         CROSS JOIN resource AS parent ON parent.collection = ? AND parent.id = wanted.value
         CROSS JOIN reference ON reference.parameter = ? AND reference.target = parent.key
         CROSS JOIN resource ON resource.key = reference.resource
       ) AS page JOIN version ON version.key = page.content WHERE position <= ? ORDER BY target, page.id`,
    );
  }

  list(type: string, count: number, gender: string | undefined): Resource[] {
    const texts =
      gender === undefined
        ? this.#list.all(this.#collection(type), count)
        : this.#byGender.all(this.#parameter(type, 'gender'), gender, count);
    return texts.map((text) => JSON.parse(text) as Resource);
  }

  /** @param references `Type/id` @returns same length, same order */
  byId(references: readonly string[]): (Resource | null)[] {
    const found = new Map<string, Resource>();
    for (const [type, group] of Map.groupBy(references, (reference) => reference.slice(0, reference.indexOf('/')))) {
      const ids = JSON.stringify(group.map((reference) => reference.slice(type.length + 1)));
      for (const { id, text } of this.#byId.iterate(ids, this.#collection(type))) {
        found.set(`${type}/${id}`, JSON.parse(text) as Resource);
      }
    }
    return references.map((reference) => found.get(reference) ?? null);
  }

  /** @returns same length, same order */
  reverse(keys: readonly Reverse[]): Resource[][] {
    const lists = keys.map((): Resource[] => []);
    const kindOf = ({ parent, type, parameter, count }: Reverse) => `${parent} ${type} ${parameter} ${count}`;
    for (const indexes of Map.groupBy(keys.keys(), (index) => kindOf(keys[index]!)).values()) {
      const { parent, type, parameter, count } = keys[indexes[0]!]!;
      const byTarget = new Map(indexes.map((index) => [keys[index]!.target, lists[index]!]));
      const rows = this.#reverse.iterate(
        JSON.stringify([...byTarget.keys()]),
        this.#collection(parent),
        this.#parameter(type, parameter),
        count,
      );
      for (const { target, text } of rows) byTarget.get(target)!.push(JSON.parse(text) as Resource);
    }
    return lists;
  }

  #collection(type: string): number {
    return this.#number('SELECT key FROM collection WHERE project = ? AND type = ?', this.#project, type);
  }

  #parameter(type: string, code: string): number {
    return this.#number('SELECT key FROM parameter WHERE collection = ? AND code = ?', this.#collection(type), code);
  }

  /** A number of the file's dictionaries, looked up once. */
  #number(text: string, ...values: (string | number)[]): number {
    const name = `${text} ${values.join(' ')}`;
    let number = this.#numbers.get(name);
    if (number === undefined) {
      number = this.#database
        .prepare<(string | number)[], number>(text)
        .pluck()
        .get(...values)!;
      this.#numbers.set(name, number);
    }
    return number;
  }
}
