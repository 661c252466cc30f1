import { INDEX_TABLES } from '../../sql/index-tables.js';

/** An inconsistency of a file, and the statement that counts its occurrences. */
interface Contradiction {
  readonly problem: string;
  readonly count: string;
}

const CURRENT = 'SELECT key FROM resource WHERE content IS NOT NULL';

/** Rows that contradict each other, independently of the texts of resources. */
export const CONTRADICTIONS: readonly Contradiction[] = [
  {
    problem: 'resource: rows of no project and type',
    count: 'SELECT count(*) FROM resource WHERE collection NOT IN (SELECT key FROM collection)',
  },
  {
    problem: 'resource: rows that are not as their newest version says',
    count: `SELECT count(*) FROM resource r LEFT JOIN version v ON v.resource = r.key AND v.version = r.version
      WHERE CASE WHEN r.version = 0 THEN r.content IS NOT NULL ELSE v.key IS NULL OR v.updated IS NOT r.updated
        OR r.content IS NOT CASE WHEN v.text IS NULL THEN NULL ELSE v.key END END`,
  },
  {
    problem: 'version: resources with missing or additional versions',
    count: `SELECT count(*) FROM resource r LEFT JOIN
      (SELECT resource, count(*) number, max(version) newest FROM version GROUP BY resource) v ON v.resource = r.key
      WHERE r.version - r.purged IS NOT coalesce(v.number, 0) OR r.version IS NOT coalesce(v.newest, 0)`,
  },
  {
    problem: 'version: rows of resources that are not there',
    count: 'SELECT count(*) FROM version WHERE resource NOT IN (SELECT key FROM resource)',
  },
  {
    problem: 'past: rows that differ from the versions',
    count: `SELECT (SELECT count(*) FROM past p WHERE NOT EXISTS (
        SELECT 1 FROM version v CROSS JOIN resource r ON r.key = v.resource
        WHERE v.key = p.version AND v.updated = p.updated AND r.collection = p.collection AND v.key IS NOT r.content))
      + (SELECT count(*) FROM version v CROSS JOIN resource r ON r.key = v.resource
        WHERE v.key IS NOT r.content AND NOT EXISTS (SELECT 1 FROM past p
          WHERE p.collection = r.collection AND p.updated = v.updated AND p.version = v.key))`,
  },
  {
    problem: 'version: damaged rows',
    count: 'SELECT count(*) FROM version WHERE sum IS NOT fhirgraph_sum(resource, version, updated, text)',
  },
  {
    problem: 'resource: damaged names',
    count: "SELECT count(*) FROM resource WHERE sum IS NOT fhirgraph_name_sum(collection, '', id)",
  },
  {
    problem: 'collection: damaged rows',
    count: 'SELECT count(*) FROM collection WHERE sum IS NOT fhirgraph_name_sum(0, project, type)',
  },
  {
    problem: 'unique_key: damaged rows',
    count: 'SELECT count(*) FROM unique_key WHERE sum IS NOT fhirgraph_name_sum(resource, project, text)',
  },
  {
    problem: 'unique_key: rows of resources that are not there',
    count: `SELECT count(*) FROM unique_key WHERE resource NOT IN (${CURRENT})`,
  },
  {
    problem: 'resource: erased, but with content',
    count: 'SELECT count(*) FROM resource WHERE erased IS NOT NULL AND content IS NOT NULL',
  },
  {
    problem: 'parameter: rows of no project and type',
    count: 'SELECT count(*) FROM parameter WHERE collection NOT IN (SELECT key FROM collection)',
  },
  ...INDEX_TABLES.map((table) => ({
    problem: `${table}: rows of resources that are not there`,
    count: `SELECT count(*) FROM ${table} WHERE resource NOT IN (${CURRENT})`,
  })),
];
