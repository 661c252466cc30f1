import { tablesOf, TABLE_NAMES, type ValueTable } from '../../../sql/index-tables.js';
import { parameterKey, type RowScope } from '../../../sql/rows.js';
import type { KeySet } from '../../../sql/skip/key-set.js';
import { sql, type Sql } from '../../../sql/sql.js';
import { arrayText } from '../../rows/array.js';
import { projectKey } from '../../rows/keys.js';
import type { Runner } from '../../rows/meta.js';
import { parametersTogether } from '../build/numbered-resources.js';
import type { SkipIndex } from '../read/skip-index.js';
import type { SkipLayer } from '../../rows/skip-row.js';

/** The tables that a layer is made from. */
export interface LayerSource {
  readonly runner: Runner;
  readonly scope: RowScope;
  /** The layers below. */
  readonly below: SkipIndex;
  /** The numbers below that the layer does not replace. */
  readonly left: KeySet;
  /** The layer; the temporary table `fhirgraph_number` has its resources. */
  readonly layer: SkipLayer;
  /** True if granules that become twice as large as others are divided. */
  readonly divides: boolean;
}

/**
 * How the index rows of a layer's resources are read.
 *
 * PERF: the server finds the rows of each resource by its key, so the time depends on the size of the layer alone.
 */
export class LayerTables {
  /** The parameters of the type by their keys. */
  readonly codes: ReadonlyMap<number, string>;
  readonly #scope: RowScope;
  readonly #size: number;

  constructor({ scope, layer }: LayerSource) {
    const codes = [...scope.dialect.model.searchParameters(scope.type).keys()];
    this.codes = new Map(codes.map((code) => [Number(parameterKey(scope, code)), code]));
    this.#scope = scope;
    this.#size = layer.size;
  }

  /** The parameters with rows in a table. */
  of(table: ValueTable): readonly number[] {
    const scope = this.#scope;
    const isIn = (code: string): boolean => tablesOf(scope.dialect.model, scope.type, code).includes(table);
    return [...this.codes].filter(([, code]) => isIn(code)).map(([key]) => key);
  }

  /** Joins the rows `x` of a resource. PERF: OFFSET keeps the planner from reading the rows of other resources. */
  rowsOf(table: ValueTable, parameters: readonly number[], columns: Sql, where: Sql): Sql {
    return sql`CROSS JOIN LATERAL (SELECT w.parameter, ${columns} FROM ${TABLE_NAMES[table]} w
      WHERE w.project = ${projectKey(this.#scope.project)} AND w.resource = m.resource
        AND w.parameter = ANY (${arrayText(parameters)}::bigint[]) AND ${where} OFFSET 0) x`;
  }

  together(parameters: readonly number[]): Generator<readonly number[]> {
    return parametersTogether(parameters, this.#size, MAX_VALUES);
  }
}

/** Maximum values that one statement reads, about a hundred bytes each. */
const MAX_VALUES = 100_000;
