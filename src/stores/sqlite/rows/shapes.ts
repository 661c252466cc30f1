import { KnownShapes } from './known-shapes.js';
import { shapeText } from '../../sql/shape-text.js';
import type { MarkedEntries } from '../../sql/extremes.js';
import { allOf, anyOf, negation, type Sql, sql } from '../../sql/sql.js';
import type { Dictionaries } from './dictionary.js';
import { isInTime } from '../database/guard.js';
import type { Statements } from '../database/statements.js';

/**
 * Keeps the table `shape`: which sets of parameters the resources of a collection have values of, and how many
 * resources have each. Only inside a transaction, which must end with {@link flush} or {@link clear}.
 *
 * ```text
 * parameters   [3,-5,9]   values of the parameters 3, 5 and 9; of 5 several (see extremes.ts)
 * ```
 *
 * A type has dozens of shapes, or thousands if many of its elements are optional.
 */
export class Shapes {
  readonly #statements: Statements;
  readonly #dictionaries: Dictionaries;
  /** Changes in the numbers of resources, by shape. */
  readonly #changes = new Map<number, number>();
  readonly #known = new KnownShapes();

  constructor(statements: Statements, dictionaries: Dictionaries) {
    this.#statements = statements;
    this.#dictionaries = dictionaries;
  }

  /** The number of the shape of a resource with these entries; assigned if necessary. */
  of(collection: number, marked: MarkedEntries): number {
    const { parameters, shapes } = this.#dictionaries;
    return this.#known.find(shapes.generation, collection, marked, () =>
      shapes.intern(
        collection,
        shapeText(marked, (code) => parameters.intern(collection, code)),
      ),
    );
  }

  /** Counts a resource that changes its shape. Null: the resource does not exist. */
  move(from: number | null, to: number | null): void {
    if (from === to) return;
    if (from !== null) this.#changes.set(from, (this.#changes.get(from) ?? 0) - 1);
    if (to !== null) this.#changes.set(to, (this.#changes.get(to) ?? 0) + 1);
  }

  /** Like {@link move}, and writes the shape to the resource's row. @param resource key of the row */
  set(resource: number, from: number | null, to: number | null): void {
    if (from === to) return;
    this.#statements.write('UPDATE resource SET shape = ? WHERE key = ?').run(to, resource);
    this.move(from, to);
  }

  /** Writes the numbers of resources. */
  flush(): void {
    for (const [shape, change] of this.#changes) {
      if (change !== 0) this.#statements.write(CHANGE).run(change, shape);
    }
    this.#changes.clear();
  }

  /** Discards the changes, after a rollback. */
  clear(): void {
    this.#changes.clear();
  }
}

const CHANGE = 'UPDATE shape SET resources = resources + ? WHERE key = ?';

/** How many values a resource has of a parameter. */
export type Occurrence = 'none' | 'some' | 'several';

/** The number of current resources of a collection. */
export function countOfCollection(collection: number): Sql {
  return sql`SELECT coalesce(sum(resources), 0) FROM shape WHERE collection = ${collection}`;
}

/** The number of current resources that have no value, some, or several of a parameter. */
export function countOfShapes(collection: number, parameter: number, occurrence: Occurrence): Sql {
  return sql`SELECT coalesce(sum(s.resources), 0) FROM shape s WHERE ${withOccurrence(collection, parameter, occurrence)}`;
}

/** Selects the keys of these resources: one range of an index per shape. */
export function shapeScan(collection: number, parameter: number, occurrence: Occurrence): Sql {
  return sql`SELECT y.key FROM resource y INDEXED BY resource_by_shape
    WHERE y.shape IN (SELECT s.key FROM shape s WHERE ${withOccurrence(collection, parameter, occurrence)}) AND ${isInTime(Y)}`;
}

const Y = sql`y.key`;

/**
 * PERF: SQLite searches the text of a list in two thirds of the time of `json_each`. Types with many optional elements
 * have thousands of shapes, and plans count them several times per search.
 */
function withOccurrence(collection: number, parameter: number, occurrence: Occurrence): Sql {
  const has = (text: string): Sql => sql`instr(s.parameters, ${text}) > 0`;
  const several = [`-${parameter},`, `-${parameter}]`].map(has);
  const single = [`,${parameter},`, `[${parameter},`, `,${parameter}]`, `[${parameter}]`].map(has);
  // Most lists without the number do not contain its digits either.
  const some = allOf([has(`${parameter}`), anyOf([...several, ...single])]);
  const condition = occurrence === 'several' ? anyOf(several) : occurrence === 'some' ? some : negation(some);
  // A damaged list has most likely lost its end; `json` raises an error for it.
  const whole = sql`iif(${has(']')}, ${condition}, json(s.parameters))`;
  return allOf([sql`s.collection = ${collection}`, whole]);
}
