import DataLoader from 'dataloader';
import { execute, parse, validate } from 'graphql';
import { createHash } from 'node:crypto';
import type { Pool } from 'pg';
import type { Variant } from '../queries.js';
import { createSchema, type Context, type Resource, type Reverse } from '../variants/dataloader-schema.js';

/** The service that a host would build without this library: graphql-js with DataLoader over the same tables. */
export function dataloaderOverPostgres(pool: Pool, project: string): Variant {
  const schema = createSchema();
  const contextOf = postgresContexts(pool, project);
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
export function postgresContexts(pool: Pool, project: string): () => Context {
  const key = createHash('sha256').update(project).digest('hex').slice(0, 32);
  return () => ({
    list: (type, count, gender) => list(pool, key, type, count, gender),
    byId: new DataLoader((references: readonly string[]) => byId(pool, key, references)),
    reverse: new DataLoader((keys: readonly Reverse[]) => reverse(pool, key, keys), {
      cacheKeyFn: ({ type, parameter, target, count }) => `${type} ${parameter} ${target} ${count}`,
    }),
  });
}

async function list(
  pool: Pool,
  project: string,
  type: string,
  count: number,
  gender: string | undefined,
): Promise<Resource[]> {
  const withGender = `AND key IN (SELECT resource FROM token WHERE project = $1 AND parameter = $4 AND code = $5)`;
  const { rows } = await pool.query<{ content: string }>(
    `SELECT content FROM resource WHERE project = $1 AND type = $2 AND content IS NOT NULL
     ${gender === undefined ? '' : withGender} ORDER BY id LIMIT $3`,
    [project, type, count, ...(gender === undefined ? [] : [parameterKey(type, 'gender'), gender])],
  );
  return rows.map(({ content }) => JSON.parse(content) as Resource);
}

/** @param references `Type/id` @returns same length, same order */
async function byId(pool: Pool, project: string, references: readonly string[]): Promise<(Resource | null)[]> {
  const { rows } = await pool.query<{ name: string; content: string }>(
    `SELECT type || '/' || id AS name, content FROM resource
     WHERE project = $1 AND (type, id) IN (SELECT * FROM unnest($2::text[], $3::text[])) AND content IS NOT NULL`,
    [project, references.map((one) => one.split('/')[0]!), references.map((one) => one.split('/')[1]!)],
  );
  const found = new Map(rows.map(({ name, content }) => [name, JSON.parse(content) as Resource]));
  return references.map((reference) => found.get(reference) ?? null);
}

async function reverse(pool: Pool, project: string, keys: readonly Reverse[]): Promise<Resource[][]> {
  const answers: Resource[][] = keys.map(() => []);
  const kinds = Map.groupBy(keys.keys(), (index) => {
    const { parent, type, parameter, count } = keys[index]!;
    return `${parent} ${type} ${parameter} ${count}`;
  });
  const levels = [...kinds.values()].map(async (indexes) => {
    const { parent, type, parameter, count } = keys[indexes[0]!]!;
    const ids = indexes.map((index) => keys[index]!.target);
    const { rows } = await pool.query<{ target: string; content: string }>(
      `SELECT wanted.id AS target, page.content FROM unnest($3::text[], $4::uuid[]) AS wanted (id, key) CROSS JOIN LATERAL (
         SELECT resource.content, resource.id FROM reference JOIN resource ON resource.project = $1 AND resource.key = reference.resource
         WHERE reference.target = wanted.key AND reference.parameter = $2
         ORDER BY resource.id LIMIT $5) AS page ORDER BY target, page.id`,
      [project, parameterKey(type, parameter), ids, ids.map((id) => resourceKey(project, parent, id)), count],
    );
    const byTarget = Map.groupBy(rows, ({ target }) => target);
    for (const index of indexes) {
      answers[index] = (byTarget.get(keys[index]!.target) ?? []).map(({ content }) => JSON.parse(content) as Resource);
    }
  });
  await Promise.all(levels);
  return answers;
}

/** Keys of resources and parameters, computed like the store's. */
function resourceKey(shard: string, type: string, id: string): string {
  const text = JSON.stringify([shard, type, id]);
  return createHash('sha256').update(text).digest('hex').slice(0, 32);
}

function parameterKey(type: string, code: string): number {
  return Number.parseInt(createHash('sha256').update(`${type}?${code}`).digest('hex').slice(0, 12), 16);
}
