import { FhirError } from '../../fhir/error.js';
import type { Sql } from '../sql/sql.js';
import type { PostgresStatement } from './driver.js';

/**
 * The statement as PostgreSQL takes it: with numbered placeholders.
 *
 * Texts of PostgreSQL cannot hold U+0000, which FHIR forbids as well; it becomes U+0001, the next one in order, so that what
 * is sorted stays so. Resources are JSON, which writes it as an escape, and keep it.
 *
 * @throws FhirError `too-costly` - more values than the protocol can number.
 */
export function toStatement({ text, values }: Sql): PostgresStatement {
  if (values.length > MAX_VALUES) {
    throw new FhirError(
      'too-costly',
      `The search needs ${values.length} values; PostgreSQL takes ${MAX_VALUES} at once`,
    );
  }
  let number = 0;
  return {
    text: text.replaceAll('?', () => `$${++number}`),
    values: values.map((value) => (typeof value === 'string' ? value.replaceAll('\0', '\u0001') : value)),
    rowMode: 'array',
  };
}

const MAX_VALUES = 65_535;
