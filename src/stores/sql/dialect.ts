import type { FhirModel } from '../../fhir/model/fhir-model.js';
import type { CompositeCriteria, MatchCriteria } from '../../search/criteria/criteria.js';
import type { IndexTable } from './lookup.js';
import type { Sql, SqlValue } from './sql.js';

/** The resource that criteria are evaluated on: that of the row, or one that it contains, by type and number. */
export interface EvaluatedRow {
  readonly row: Sql;
  readonly type: string;
  readonly inside?: Sql;
}

/** The tables and joins after FROM, and a condition on their rows. */
export interface FromWhere {
  readonly from: Sql;
  readonly where: Sql;
}

/**
 * The differences between SQL databases: how their rows identify things, and a few expressions with another syntax. All
 * other SQL of a search is shared.
 *
 * ```text
 *                     SQLite                              PostgreSQL
 * collection          a number, looked up                 the type itself
 * parameter           a number, looked up                 a number made of type and code
 * system              a number, looked up                 a number made of the uri
 * project of a row    implied by the numbers              a column: the project is the shard
 * ```
 */
export interface SqlDialect {
  /** The model of the store. */
  readonly model: FhirModel;

  /** The key of a type in a project; undefined if not assigned yet, so that nothing can match. */
  collection(project: string, type: string): SqlValue | undefined;
  /** The key of a search parameter of a collection; undefined if no resource ever had a value of it. */
  parameter(collection: SqlValue, code: string): SqlValue | undefined;
  /** The key of a system; undefined if not assigned yet. */
  system(project: string, uri: string): SqlValue | undefined;
  /** `token.system` and `quantity.system` of values without one. */
  readonly noSystem: SqlValue;
  /** The key of a unit's code or display. */
  unit(text: string): SqlValue;

  /** The condition that the row of `resource` has a current version: it is not deleted, nor only a reference target. */
  isCurrent(row: Sql, project: string, collection: SqlValue): Sql;
  /** The remaining condition on a row found through an index table; such a row is always current. */
  isFound(row: Sql, project: string): Sql;
  /**
   * The values that one resource has of a parameter, as a table with the alias of its row and a condition. Forces access by
   * the resource's key, never by value: a database that plans otherwise reads the values of all resources once per row.
   */
  byResource(table: IndexTable, x: Sql, resource: Sql, project: string, parameter: SqlValue): FromWhere;
  /**
   * Like `byResource`, but uses the index by value: for plain parameters, and tests that fix the value (`isPoint` in
   * lookup.ts). Undefined if the database chooses the index.
   */
  readonly byPoint?: (table: IndexTable, x: Sql, resource: Sql, parameter: SqlValue) => FromWhere;
  /**
   * The rows of `resource` with the keys of a select that depends on an outer row. Reads the keys first, then each row by its key,
   * whatever the database believes about their numbers.
   */
  byKeys(row: Sql, keys: Sql, project: string): FromWhere;
  /**
   * The rows `x` of a table with one of the selected keys in a column, by one look-up for each key. Undefined: the database chooses
   * how to find them.
   */
  readonly byEachKey?: (keys: Sql, rows: (key: Sql) => Sql) => Sql;
  /** A join to the row of `resource` with a key from an earlier row in FROM, by one look-up each. Undefined: as {@link join} has it. */
  readonly joinByKey?: (row: Sql, key: Sql, project: string) => Sql;
  /** The condition that the row of an index table holds a value of the parameter. */
  ofParameter(x: Sql, project: string, parameter: SqlValue): Sql;
  /**
   * The condition that the row of `reference` points to one of these types and ids (undefined: any). TRUE or FALSE if
   * known in advance. With ids, it is a range of the index by value.
   */
  pointsTo(x: Sql, project: string, types: readonly string[] | undefined, ids: readonly string[] | undefined): Sql;
  /** `Type/id` of the target of the row `x` of `reference`, and the joins that the expression needs. */
  readonly targetText: { readonly value: Sql; readonly join: Sql };

  /** The column equals any of the texts. For ids. */
  isOneOf(column: Sql, texts: readonly string[]): Sql;
  /** Conditions on URIs of any length that use the index by value. */
  readonly indexed: {
    isOneOf(column: Sql, texts: readonly string[]): Sql;
    startsWith(column: Sql, prefix: string): Sql;
  };
  /** Conditions on `token.code`, which may have an index of another form. */
  readonly codes: {
    isOneOf(column: Sql, texts: readonly string[]): Sql;
    startsWith(column: Sql, prefix: string): Sql;
  };
  /** Conditions on folded strings. They exclude each other, and each is a range of one index. */
  readonly strings: {
    isOneOf(column: Sql, texts: readonly string[]): readonly Sql[];
    startsWith(column: Sql, prefix: string): readonly Sql[];
  };
  endsWith(column: Sql, suffix: string): Sql;
  /** The text contains the part. Both may be columns or values. */
  contains(text: Sql, part: Sql): Sql;
  /** The text begins with the part, which may be a column. No index helps. */
  beginsWith(text: Sql, part: Sql): Sql;

  /** Tests `:text` on the stored resource. Absent if token texts are in the table `display`. */
  readonly evaluate?: (criteria: MatchCriteria | CompositeCriteria, scope: EvaluatedRow) => Sql;

  /** Whether quantities and the components of composites are in indexes by value. Otherwise only segments find by them. */
  readonly measuresByValue: boolean;
  /**
   * Whether the index by value has all tokens of a parameter with these codes; undefined: with any code. Absent if it always has.
   */
  readonly listsCodes?: (parameter: SqlValue, codes: readonly string[] | undefined) => boolean;
  /** A condition that is always true and ends the statement at the deadline of its call; see `CallOptions.deadline`. */
  readonly inTime?: (key: Sql) => Sql;

  /** The database plans the query itself, so statements include every condition that a row must meet. */
  readonly plans: boolean;
  /** A join that starts from its left side, if the database has such syntax. */
  readonly join: Sql;
  /** The LIMIT value that means no limit. */
  readonly noLimit: SqlValue;
}
