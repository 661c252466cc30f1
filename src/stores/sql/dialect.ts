import type { FhirModel } from '../../fhir/model/fhir-model.js';
import type { CompositeCriteria, MatchCriteria, MissingCriteria } from '../../search/criteria/criteria.js';
import type { IndexTable } from './lookup.js';
import type { Sql, SqlValue } from './sql.js';

/** The resource that criteria are evaluated on: that of the row, or one inside it, by its type and number. */
export interface EvaluatedRow {
  readonly row: Sql;
  readonly type: string;
  readonly inside?: Sql;
}

/**
 * What differs between the databases that speak SQL: how they name things in their rows, and the few expressions that they
 * spell differently. Everything else of a search is the same text for all of them.
 *
 * ```text
 *                     SQLite                              PostgreSQL
 * collection          a number, looked up                 the type itself
 * parameter           a number, looked up                 a number made of type and code
 * system              a number, looked up                 the uri itself
 * rows of a project   follow from the numbers             say so: the project is the shard
 * ```
 */
export interface SqlDialect {
  /** The store's. */
  readonly model: FhirModel;

  /** The key of a type of a project; undefined if there is none yet, so that nothing can match. */
  collection(project: string, type: string): SqlValue | undefined;
  /** The key of a search parameter of a collection; undefined if no resource ever had a value of it. */
  parameter(collection: SqlValue, code: string): SqlValue | undefined;
  /** The key of a system; undefined if there is none yet. */
  system(project: string, uri: string): SqlValue | undefined;
  /** `token.system` and `quantity.system` of values without one. */
  readonly noSystem: SqlValue;

  /** The row of `resource` is there now: neither deleted nor only referred to. */
  isCurrent(row: Sql, project: string, collection: SqlValue): Sql;
  /** What is left to say of a row that an index table led to, which is current for sure. */
  isFound(row: Sql, project: string): Sql;
  /**
   * An index table with the name of its row, for a look at the values of one resource. It goes by the resource's key and
   * never by value: a database that guesses otherwise reads the values of all resources once per row.
   */
  byResource(table: IndexTable, x: Sql): Sql;
  /** The row of an index table holds a value of the parameter. */
  ofParameter(x: Sql, project: string, parameter: SqlValue): Sql;
  /** The same for the values of one resource that a sort goes by, where {@link byResource} cannot say all. */
  ofParameterInSort?(x: Sql, project: string, parameter: SqlValue): Sql;
  /**
   * The row of `reference` points to one of these types and ids; undefined: to any. TRUE and FALSE where that is certain.
   * With ids, it is a range of the index by value.
   */
  pointsTo(x: Sql, project: string, types: readonly string[] | undefined, ids: readonly string[] | undefined): Sql;
  /** `Type/id` of what the row `x` of `reference` points to, and the joins it needs. */
  readonly targetText: { readonly value: Sql; readonly join: Sql };

  /** Equal to the only one of the texts, or to any of them. For ids. */
  isOneOf(column: Sql, texts: readonly string[]): Sql;
  /** Texts of any length indexed by value. */
  readonly indexed: {
    isOneOf(column: Sql, texts: readonly string[]): Sql;
    startsWith(column: Sql, prefix: string): Sql;
    /** The column is equal to a value that the database works out, of at most 256 characters. */
    equals(column: Sql, value: Sql): Sql;
  };
  endsWith(column: Sql, suffix: string): Sql;
  /** The text has the part in it. The parts of both may be columns or values. */
  contains(text: Sql, part: Sql): Sql;
  /** The text begins with the part, which may be a column. No index helps. */
  beginsWith(text: Sql, part: Sql): Sql;

  /** Tests `:text` on the stored resource. Left out where the texts of tokens are in the table `display`. */
  readonly evaluate?: (criteria: MatchCriteria | CompositeCriteria, scope: EvaluatedRow) => Sql;

  /** The keys of all resources that have, or lack, values of a parameter. Left out where no index knows. */
  missingScan?(collection: SqlValue, criteria: MissingCriteria, parameter: SqlValue): Sql;
  /** A condition that is always true and ends the statement at the deadline of its call; see `CallOptions.deadline`. */
  readonly inTime?: (key: Sql) => Sql;

  /** The database decides by itself where to start, so everything that is true of a row is said. */
  readonly plans: boolean;
  /** A join that starts from its left side, where that can be said. */
  readonly join: Sql;
  /** The LIMIT value that means no limit. */
  readonly noLimit: SqlValue;
}
