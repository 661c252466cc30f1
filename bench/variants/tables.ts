import type Database from 'better-sqlite3';

/** Prepared access to the tables of SqliteStore (src/stores/sqlite/schema/schema.ts), in the cheapest form ordered by id. */
export class Tables {
  readonly #database: Database.Database;
  readonly #project: string;

  /** @param onRead receives each resource that is read, for the audit */
  constructor(
    database: Database.Database,
    project: string,
    private readonly onRead?: (resource: object) => void,
  ) {
    this.#database = database;
    this.#project = project;
  }

  read<Resource>(type: string): (id: string) => Resource {
    const statement = this.#texts<[number, string]>(
      'SELECT text FROM version WHERE key = (SELECT content FROM resource WHERE collection = ? AND id = ?)',
    );
    const collection = this.#collection(type);
    return (id) => this.#parse<Resource>(statement.get(collection, id)!);
  }

  first<Resource>(type: string, count: number): () => Resource[] {
    const statement = this.#texts<[number, number]>(`SELECT version.text FROM resource
      JOIN version ON version.key = resource.content WHERE collection = ? ORDER BY id LIMIT ?`);
    const collection = this.#collection(type);
    return () => statement.all(collection, count).map((text) => this.#parse<Resource>(text));
  }

  byToken<Resource>(type: string, code: string, count: number): (value: string) => Resource[] {
    const statement = this.#texts<[number, string, number]>(`SELECT version.text FROM (
        SELECT content, id FROM token JOIN resource ON resource.key = token.resource
        WHERE parameter = ? AND grp = 0 AND code = ? AND system = 0 ORDER BY id LIMIT ?) AS page
      JOIN version ON version.key = page.content ORDER BY page.id`);
    const parameter = this.#parameter(type, code);
    return (value) => statement.all(parameter, value, count).map((text) => this.#parse<Resource>(text));
  }

  byReference<Resource>(type: string, code: string, target: string, count: number): (id: string) => Resource[] {
    const statement = this.#texts<[number, number, string, number]>(`SELECT version.text FROM (
        SELECT content, id FROM reference JOIN resource ON resource.key = reference.resource
        WHERE parameter = ? AND target = (SELECT key FROM resource WHERE collection = ? AND id = ?)
        ORDER BY id LIMIT ?) AS page
      JOIN version ON version.key = page.content ORDER BY page.id`);
    const parameter = this.#parameter(type, code);
    const collection = this.#collection(target);
    return (id) => statement.all(parameter, collection, id, count).map((text) => this.#parse<Resource>(text));
  }

  readMany<Resource>(type: string): (ids: readonly string[]) => Map<string, Resource> {
    const statement = this.#database
      .prepare<[string, number], [string, string]>(
        `SELECT resource.id, version.text FROM json_each(?) AS wanted
         CROSS JOIN resource ON collection = ? AND resource.id = wanted.value
         JOIN version ON version.key = resource.content`,
      )
      .raw();
    const collection = this.#collection(type);
    return (ids) => {
      const found = new Map<string, Resource>();
      for (const [id, text] of statement.all(JSON.stringify(ids), collection)) {
        found.set(id, this.#parse<Resource>(text));
      }
      return found;
    };
  }

  firstWithKeys<Resource>(type: string, count: number): () => Keyed<Resource>[] {
    const statement = this.#database
      .prepare<[number, number], [number, string]>(
        `SELECT resource.key, version.text FROM resource
         JOIN version ON version.key = resource.content WHERE collection = ? ORDER BY id LIMIT ?`,
      )
      .raw();
    const collection = this.#collection(type);
    return () =>
      statement.all(collection, count).map(([key, text]) => ({ key, resource: this.#parse<Resource>(text) }));
  }

  /** Reads the lists of all parents in one statement, which is faster than a statement each. @returns a list per parent */
  byReferences<Resource>(
    type: string,
    code: string,
    count: number,
  ): (parents: readonly number[]) => Map<number, Keyed<Resource>[]> {
    const statement = this.#database
      .prepare<[string, number, number], [number, number, string]>(
        `SELECT parent, page.key, version.text FROM (
           SELECT wanted.value AS parent, resource.key, resource.content, resource.id,
             row_number() OVER (PARTITION BY wanted.value ORDER BY resource.id) AS position
           FROM json_each(?) AS wanted
           CROSS JOIN reference ON parameter = ? AND target = wanted.value
           CROSS JOIN resource ON resource.key = reference.resource) AS page
         JOIN version ON version.key = page.content WHERE position <= ? ORDER BY parent, page.id`,
      )
      .raw();
    const parameter = this.#parameter(type, code);
    return (parents) => {
      const lists = new Map(parents.map((parent): [number, Keyed<Resource>[]] => [parent, []]));
      for (const [parent, key, text] of statement.all(JSON.stringify(parents), parameter, count)) {
        lists.get(parent)!.push({ key, resource: this.#parse<Resource>(text) });
      }
      return lists;
    };
  }

  #parse<Resource>(text: string): Resource {
    const resource = JSON.parse(text) as Resource & object;
    this.onRead?.(resource);
    return resource;
  }

  #texts<Values extends unknown[]>(text: string): Database.Statement<Values, string> {
    return this.#database.prepare<Values, string>(text).pluck();
  }

  #collection(type: string): number {
    return this.#number('SELECT key FROM collection WHERE project = ? AND type = ?', this.#project, type);
  }

  #parameter(type: string, code: string): number {
    return this.#number('SELECT key FROM parameter WHERE collection = ? AND code = ?', this.#collection(type), code);
  }

  #number(text: string, ...values: (string | number)[]): number {
    return this.#database
      .prepare<(string | number)[], number>(text)
      .pluck()
      .get(...values)!;
  }
}

/** A resource with the number of its row in the table. */
export interface Keyed<Resource> {
  readonly key: number;
  readonly resource: Resource;
}
