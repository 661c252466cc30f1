import { FhirError } from '../../../fhir/error.js';
import { Sql } from '../../sql/sql.js';
import type { PostgresStatement } from './driver.js';

/**
 * A statement that connections keep prepared where it is asked often: see prepared-statements.ts.
 *
 * After five executions the server may use one plan for all values. So it must be short for all of them: a look-up by keys, a range of an
 * index that holds all that is read, or an insertion.
 */
export class PreparedSql extends Sql {}

export function prepared({ text, values }: Sql): PreparedSql {
  return new PreparedSql(text, values);
}

/**
 * The statement as PostgreSQL takes it: with numbered placeholders.
 *
 * Texts of PostgreSQL cannot hold U+0000, which FHIR forbids as well; it becomes U+0001, the next one in order, so that what
 * is sorted stays so. Resources are JSON, which writes it as an escape, and keep it.
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
