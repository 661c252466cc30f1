import type Database from 'better-sqlite3';
import DataLoader from 'dataloader';
import { execute, parse, validate, type GraphQLSchema } from 'graphql';
import type { Variant } from '../queries.js';
import { createSchema, type Context, type Resource, type Reverse } from './dataloader-schema.js';

/**
 * What a host would build without this library: graphql-js over the same SQLite file, with DataLoader so that references
 * and reverse references of one level are read together. The document is parsed and validated beforehand, the loaders
 * live for one request.
 */
export function graphqlWithDataLoader(database: Database.Database, project: string): Variant {
  const schema: GraphQLSchema = createSchema();
  const queries = new Queries(database, project);
  return {
    name: 'graphql-js + DataLoader',
    prepare(query, variables) {
      const document = parse(query.text);
      const errors = validate(schema, document);
      if (errors.length > 0) throw new AggregateError(errors, `Query ${query.name} does not fit the bench's schema`);
      return async () => {
        const contextValue: Context = {
          list: (type, count, gender) => queries.list(type, count, gender),
          byId: new DataLoader((references: readonly string[]) => Promise.resolve(queries.byId(references))),
          reverse: new DataLoader((keys: readonly Reverse[]) => Promise.resolve(queries.reverse(keys)), {
            cacheKeyFn: ({ type, parameter, target, count }) => `${type} ${parameter} ${target} ${count}`,
          }),
        };
        return JSON.stringify(await execute({ schema, document, contextValue, variableValues: { ...variables } }));
      };
    },
  };
}

/** The statements behind the loaders: one per batch of references, one per reverse search and level. */
class Queries {
  readonly #list: Database.Statement<[string, string, number], string>;
  readonly #byGender: Database.Statement<[string, string, string, number], string>;
  readonly #byId: Database.Statement<[string, string], { reference: string; text: string }>;
  readonly #reverse: Database.Statement<
    [string, string, string, string, string, number],
    { target: string; text: string }
  >;
  readonly #project: string;

  constructor(database: Database.Database, project: string) {
    this.#project = project;
    const page = 'JOIN version ON version.key = resource.content';
    this.#list = database
      .prepare<[string, string, number], string>(
        `SELECT version.text FROM resource ${page}
         WHERE collection = (SELECT key FROM collection WHERE project = ? AND type = ?) ORDER BY id LIMIT ?`,
      )
      .pluck();
    this.#byGender = database
      .prepare<[string, string, string, number], string>(
        `SELECT version.text FROM token JOIN resource ON resource.key = token.resource ${page}
         WHERE token.parameter = (SELECT parameter.key FROM parameter JOIN collection ON collection.key = collection
             WHERE project = ? AND type = ? AND parameter.code = 'gender')
           AND token.code = ? ORDER BY id LIMIT ?`,
      )
      .pluck();
    this.#byId = database.prepare(
      `SELECT wanted.value AS reference, version.text
       FROM json_each(?) AS wanted
       JOIN collection ON collection.project = ? AND collection.type = substr(wanted.value, 1, instr(wanted.value, '/') - 1)
       JOIN resource ON resource.collection = collection.key AND resource.id = substr(wanted.value, instr(wanted.value, '/') + 1)
       ${page}`,
    );
    this.#reverse = database.prepare(
      `SELECT target, version.text FROM (
         SELECT wanted.value AS target, resource.content AS content, resource.id AS id,
           row_number() OVER (PARTITION BY wanted.value ORDER BY resource.id) AS position
         FROM json_each(?) AS wanted
         JOIN collection AS home ON home.project = ? AND home.type = substr(wanted.value, 1, instr(wanted.value, '/') - 1)
         JOIN resource AS parent ON parent.collection = home.key
           AND parent.id = substr(wanted.value, instr(wanted.value, '/') + 1)
         JOIN reference ON reference.target = parent.key
           AND reference.parameter = (SELECT parameter.key FROM parameter JOIN collection ON collection.key = collection
             WHERE project = ? AND type = ? AND parameter.code = ?)
         JOIN resource ON resource.key = reference.resource
       ) AS page JOIN version ON version.key = page.content WHERE position <= ? ORDER BY target, page.id`,
    );
  }

  list(type: string, count: number, gender: string | undefined): Resource[] {
    const texts =
      gender === undefined
        ? this.#list.all(this.#project, type, count)
        : this.#byGender.all(this.#project, type, gender, count);
    return texts.map((text) => JSON.parse(text) as Resource);
  }

  /** @param references `Type/id` @returns same length, same order */
  byId(references: readonly string[]): (Resource | null)[] {
    const found = new Map<string, Resource>();
    for (const { reference, text } of this.#byId.all(JSON.stringify(references), this.#project)) {
      found.set(reference, JSON.parse(text) as Resource);
    }
    return references.map((reference) => found.get(reference) ?? null);
  }

  /** @returns same length, same order */
  reverse(keys: readonly Reverse[]): Resource[][] {
    const lists = keys.map((): Resource[] => []);
    const groups = Map.groupBy(keys.keys(), (index) => {
      const { type, parameter, count } = keys[index]!;
      return `${type} ${parameter} ${count}`;
    });
    for (const indexes of groups.values()) {
      const { type, parameter, count } = keys[indexes[0]!]!;
      const byTarget = new Map(indexes.map((index) => [keys[index]!.target, lists[index]!]));
      const targets = JSON.stringify([...byTarget.keys()]);
      for (const row of this.#reverse.iterate(targets, this.#project, this.#project, type, parameter, count)) {
        byTarget.get(row.target)!.push(JSON.parse(row.text) as Resource);
      }
    }
    return lists;
  }
}
