import Database from 'better-sqlite3';
import type { Variables } from './queries.js';

/** The first patient, by id, that has at least 50 observations. */
export function chooseVariables(file: string, project: string): Variables {
  const database = new Database(file, { readonly: true });
  const patient = database
    .prepare(
      `SELECT patient.id FROM collection AS observations
       JOIN parameter ON parameter.collection = observations.key AND parameter.code = 'subject'
       JOIN reference ON reference.parameter = parameter.key
       JOIN resource AS patient ON patient.key = reference.target
       JOIN collection AS patients ON patients.key = patient.collection AND patients.type = 'Patient'
       WHERE observations.project = ? AND observations.type = 'Observation'
       GROUP BY patient.key HAVING count(*) >= 50 ORDER BY patient.id LIMIT 1`,
    )
    .pluck()
    .get(project) as string | undefined;
  database.close();
  if (patient === undefined) throw new Error('No patient of the data has 50 observations');
  return { patient, gender: 'female' };
}
