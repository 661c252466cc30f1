import type { FhirModel } from '../../../fhir/model/fhir-model.js';
import type { Criteria } from '../../../search/criteria/criteria.js';
import { insideSubject, createSubject, EMPTY_WORLD } from '../../../search/evaluate/search-subject.js';
import { matches } from '../../../search/evaluate/match.js';
import type { SqliteDatabase } from '../database/driver.js';
import { type Guard, guardOf } from '../database/guard.js';
import { parseKept } from './kept-text.js';
import type { EvaluatedRow } from '../../sql/dialect.js';
import { type Sql, sql } from '../../sql/sql.js';

/** The test of criteria that no index table can answer (`:text`): they are evaluated on the stored resource. */
export function textCondition(criteria: Criteria, { row, type, inside = sql`0` }: EvaluatedRow): Sql {
  const test = sql`SELECT fhirgraph_matches(${JSON.stringify(criteria)}, ${type}, ${inside}, resource, version, updated, text, sum) FROM version`;
  return sql`(${test} WHERE key = ${row}.content)`;
}

/** Registers the SQL function behind {@link textCondition}. */
export function registerTextTest(model: FhirModel, database: SqliteDatabase): void {
  database.function(
    'fhirgraph_matches',
    { deterministic: true, directOnly: true, safeIntegers: false },
    textTest(model, guardOf(database)),
  );
}

function textTest(model: FhirModel, guard: Guard) {
  // SQLite takes the number of arguments from the function, so each has a parameter.
  return (
    criteriaText: string,
    type: string,
    inside: number,
    owner: number,
    version: number,
    updated: number,
    text: string | null,
    sum: number | null,
  ): number => {
    // A row may be a resource of megabytes, which takes as long as thousands of others.
    guard.check();
    const { resource, lastUpdated } = parseKept([owner, version, updated, text, sum]);
    const criteria = JSON.parse(criteriaText) as Criteria;
    const whole = createSubject(model, resource, lastUpdated);
    const subject = inside === 0 ? whole : insideSubject(whole, type, inside);
    return matches(criteria, subject, EMPTY_WORLD) ? 1 : 0;
  };
}
