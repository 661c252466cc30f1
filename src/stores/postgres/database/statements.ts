import { FhirError } from '../../../fhir/error.js';
import { Sql } from '../../sql/sql.js';
import type { PostgresStatement } from './driver.js';

/**
 * A statement that connections keep prepared if it is frequent: see prepared-statements.ts.
 *
 * After five executions, the server may use one plan for all values. So that plan must be fast for all of them: a
 * look-up by keys, a range of an index that holds all read columns, or an insertion.
 */
export class PreparedSql extends Sql {}

export function prepared({ text, values }: Sql): PreparedSql {
  return new PreparedSql(text, values);
}

/**
 * The statement as PostgreSQL takes it: with numbered placeholders.
 *
 * Texts of PostgreSQL cannot hold U+0000, which FHIR forbids as well; it becomes U+0001, the next character, so that
 * sorted texts stay sorted. Resources keep it, because JSON writes it as an escape.
 *
 * @throws FhirError `too-costly` - more values than the protocol can number.
 */
export function toStatement({ text, values }: Sql): PostgresStatement {
  return { text: numbered(text), values: boundValues(values), rowMode: 'array' };
}

/** @throws FhirError as {@link toStatement} */
export function boundValues(values: Sql['values']): PostgresStatement['values'] {
  if (values.length > MAX_VALUES) {
    throw new FhirError(
      'too-costly',
      `The search needs ${values.length} values; PostgreSQL takes ${MAX_VALUES} at once`,
    );
  }
  return values.map((value) => (typeof value === 'string' ? value.replaceAll('\0', '\u0001') : value));
}

/** The text with `$1`, `$2` … for its placeholders. */
export function numbered(text: string): string {
  let number = 0;
  return text.replaceAll('?', () => `$${++number}`);
}

const MAX_VALUES = 65_535;
