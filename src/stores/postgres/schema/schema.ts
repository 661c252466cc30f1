import { FEED_SECRET } from '../../sql/feed-position.js';
import { Sql } from '../../sql/sql.js';

/**
 * The tables. The first column of each row is its project, so that all rows of a project can live on their own shard
 * and every statement names the shard it needs.
 *
 * ```text
 * resource      (project, key)              the current version of each resource that was ever written. key: see keys.ts
 *               version, updated (ms)
 *               content                     JSON text; null: deleted
 * version       (project, resource, version)   earlier versions, immutable. content null: a deletion
 *
 * token, string, date, quantity, reference, uri, display
 *               one row per index value of a current resource, with one index by resource for sorting, residual tests and
 *               removal, and one by value for finding. grp: the composite group, 0 for plain parameters.
 *               display: the texts that belong to tokens, folded: what :text searches
 * unique_key    (project, text)             held by a current resource
 * ```
 *
 * All texts are ordered by code point (collation C). Indexes hold only the beginning of long texts, because a B-tree
 * entry is limited to 2,704 bytes. `date` and `quantity` hold intervals: see stores/sql/intervals.ts.
 */
function tables(partitions: number): readonly Sql[] {
  return [
    ...table(
      'resource',
      'key uuid NOT NULL, type text COLLATE "C" NOT NULL, id text COLLATE "C" NOT NULL, version int NOT NULL, updated bigint NOT NULL, content text, PRIMARY KEY (project, key)',
      partitions,
    ),
    'CREATE UNIQUE INDEX resource_by_id ON resource (project, type, id)',
    'CREATE INDEX resource_by_updated ON resource (project, type, updated) WHERE content IS NOT NULL',
    ...table(
      'version',
      'resource uuid NOT NULL, version int NOT NULL, updated bigint NOT NULL, content text, PRIMARY KEY (project, resource, version)',
      partitions,
    ),
    ...indexTable('token', 'code text COLLATE "C", system text COLLATE "C" NOT NULL', partitions),
    'CREATE INDEX token_by_value ON token (project, parameter, left(code, 256))',
    ...indexTable(
      'string',
      'folded text COLLATE "C" NOT NULL, text text COLLATE "C" NOT NULL, "collation" text COLLATE "C"',
      partitions,
    ),
    'CREATE INDEX string_by_value ON string (project, parameter, left(folded, 256)) WHERE grp = 0',
    ...indexTable('date', 'low bigint NOT NULL, high bigint NOT NULL', partitions),
    'CREATE INDEX date_by_value ON date (project, parameter, low, high) WHERE grp = 0',
    'CREATE INDEX date_by_end ON date (project, parameter, high, low) WHERE grp = 0 AND high - low > 86400000',
    ...indexTable(
      'quantity',
      'low float8 NOT NULL, high float8 NOT NULL, system text COLLATE "C", code text COLLATE "C", unit text COLLATE "C"',
      partitions,
    ),
    'CREATE INDEX quantity_by_value ON quantity (project, parameter, low, high) WHERE grp = 0',
    'CREATE INDEX quantity_by_end ON quantity (project, parameter, high, low) WHERE grp = 0 AND high > low',
    ...indexTable(
      'reference',
      'target uuid NOT NULL, target_type text COLLATE "C" NOT NULL, target_id text COLLATE "C" NOT NULL',
      partitions,
    ),
    // The target's key belongs to one project.
    'CREATE INDEX reference_by_value ON reference (target, parameter)',
    ...indexTable('uri', 'value text COLLATE "C" NOT NULL', partitions),
    'CREATE INDEX uri_by_value ON uri (project, parameter, left(value, 256)) WHERE grp = 0',
    ...indexTable('display', 'folded text COLLATE "C" NOT NULL', partitions),
    ...table(
      'unique_key',
      'text text COLLATE "C" NOT NULL, resource uuid NOT NULL, PRIMARY KEY (project, text)',
      partitions,
    ),
    'CREATE INDEX unique_key_by_resource ON unique_key (resource)',
  ].map((text) => new Sql(text, []));
}

/** Values of current resources. A resource key belongs to one project, so its index needs no other column. */
function indexTable(name: string, columns: string, partitions: number): readonly string[] {
  return [
    ...table(name, `resource uuid NOT NULL, parameter bigint NOT NULL, grp int NOT NULL, ${columns}`, partitions),
    `CREATE INDEX ${name}_by_resource ON ${name} (resource, parameter)`,
  ];
}

function table(name: string, columns: string, partitions: number): readonly string[] {
  const whole = `CREATE TABLE ${name} (project uuid NOT NULL, ${columns})`;
  if (partitions === 0) return [whole];
  return [
    `${whole} PARTITION BY HASH (project)`,
    ...Array.from(
      { length: partitions },
      (_, index) =>
        `CREATE TABLE ${name}_${index} PARTITION OF ${name} FOR VALUES WITH (MODULUS ${partitions}, REMAINDER ${index})`,
    ),
  ];
}

/**
 * The tables that are not limited to one project.
 *
 * ```text
 * fhirgraph_meta        (name)               versions of tables and extraction, and the state of the index: see index-status.ts
 * fhirgraph_writer      one row              the generation of the definitions of written rows; locked by every write
 * fhirgraph_index_work  (project, type)      index rows to rebuild: see index-work.ts
 *                       urgent               sign-in depends on them
 *                       parameters           JSON list of codes; ["*"]: all
 *                       cursor               id of the last resource done
 *                       done, total          number of resources; total null: not counted yet
 * fhirgraph_inside      (project, type, inside)   types of the resources inside others of a type, as far as they are indexed
 * ```
 */
function indexWork(): readonly Sql[] {
  return [
    'CREATE TABLE fhirgraph_writer (generation int NOT NULL)',
    'INSERT INTO fhirgraph_writer VALUES (0)',
    `CREATE TABLE fhirgraph_index_work (project uuid NOT NULL, type text COLLATE "C" NOT NULL, urgent boolean NOT NULL,
      parameters text NOT NULL, cursor text COLLATE "C" NOT NULL DEFAULT '', done int NOT NULL DEFAULT 0, total int,
      PRIMARY KEY (project, type))`,
    'CREATE INDEX fhirgraph_index_work_by_turn ON fhirgraph_index_work (urgent DESC, project, type)',
    `CREATE TABLE fhirgraph_inside (project uuid NOT NULL, type text COLLATE "C" NOT NULL, inside text COLLATE "C" NOT NULL,
      PRIMARY KEY (project, type, inside))`,
  ].map((text) => new Sql(text, []));
}

/**
 * Adds the data for pages in the order of a sort: marks of the smallest and largest value of each resource (see
 * extremes.ts), the index of strings by their sort form, and which parameters each resource has values of, until
 * {@link withoutShapes}.
 *
 * Codes of more than 1,024 bytes, and tokens without a code, have an index of their own, so that the other index holds
 * its codes whole: it gives codes in order, and counts need nothing else.
 */
function ordered(): readonly Sql[] {
  return [
    ...['token', 'string', 'date', 'quantity', 'uri'].map(
      (table) => `ALTER TABLE ${table} ADD COLUMN extreme smallint NOT NULL DEFAULT 0`,
    ),
    'DROP INDEX token_by_value',
    'CREATE INDEX token_by_value ON token (project, parameter, code, extreme) WHERE octet_length(code) <= 1024',
    'CREATE INDEX token_by_beginning ON token (project, parameter, left(code, 256)) WHERE (octet_length(code) <= 1024) IS NOT TRUE',
    `CREATE INDEX string_by_place ON string (project, parameter, left(coalesce("collation", folded), 256))
      WHERE grp = 0 AND extreme & 3 <> 0`,
    'ALTER TABLE resource ADD COLUMN shape uuid',
    'CREATE INDEX resource_by_shape ON resource (project, type, shape) WHERE content IS NOT NULL',
    `CREATE TABLE fhirgraph_shape (project uuid NOT NULL, key uuid NOT NULL, type text COLLATE "C" NOT NULL,
      parameters bigint[] NOT NULL, PRIMARY KEY (project, key))`,
    // All rows are rebuilt.
    "DELETE FROM fhirgraph_meta WHERE name = 'index_version'",
  ].map((text) => new Sql(text, []));
}

/**
 * The history of a type: versions record their type, and since the indexes include the keys, a page is a range of each.
 */
function timelines(): readonly Sql[] {
  return [
    'ALTER TABLE version ADD COLUMN type text COLLATE "C"',
    'UPDATE version v SET type = r.type FROM resource r WHERE r.project = v.project AND r.key = v.resource',
    'ALTER TABLE version ALTER COLUMN type SET NOT NULL',
    'CREATE INDEX version_by_updated ON version (project, type, updated, resource, version)',
    'DROP INDEX resource_by_updated',
    'CREATE INDEX resource_by_updated ON resource (project, type, updated, key) WHERE content IS NOT NULL',
    'CREATE INDEX resource_by_deletion ON resource (project, type, updated, key) WHERE content IS NULL',
  ].map((text) => new Sql(text, []));
}

/**
 * Removals: how many of the oldest versions of a resource were removed, and why it was erased. Statistics must not
 * sample contents, because ANALYZE keeps the old statistics of a table that has become empty.
 */
function removals(): readonly Sql[] {
  return [
    'ALTER TABLE resource ADD COLUMN purged int NOT NULL DEFAULT 0',
    'ALTER TABLE resource ADD COLUMN erased text COLLATE "C"',
    'ALTER TABLE resource ALTER COLUMN content SET STATISTICS 0',
    'ALTER TABLE version ALTER COLUMN content SET STATISTICS 0',
  ].map((text) => new Sql(text, []));
}

/**
 * Covering indexes: they hold all columns that a scan of values needs, so that it never reads the table: its rows are
 * in another order. Systems and units have keys of one size, because an index entry is limited to 2,704 bytes.
 *
 * Strings are whole in their index, like codes, and long ones are in another.
 */
function covering(): readonly Sql[] {
  return [
    'ALTER TABLE token DROP COLUMN system',
    "ALTER TABLE token ADD COLUMN system uuid NOT NULL DEFAULT '00000000-0000-0000-0000-000000000000'",
    'ALTER TABLE quantity DROP COLUMN system, DROP COLUMN code, DROP COLUMN unit',
    'ALTER TABLE quantity ADD COLUMN system uuid, ADD COLUMN code uuid, ADD COLUMN unit uuid',
    'DROP INDEX token_by_value',
    `CREATE INDEX token_by_value ON token (project, parameter, code, extreme) INCLUDE (resource, grp, system)
      WHERE octet_length(code) <= 1024`,
    'DROP INDEX string_by_value',
    `CREATE INDEX string_by_value ON string (project, parameter, folded) INCLUDE (resource, extreme)
      WHERE grp = 0 AND octet_length(folded) <= 1024`,
    `CREATE INDEX string_by_beginning ON string (project, parameter, left(folded, 256))
      WHERE grp = 0 AND (octet_length(folded) <= 1024) IS NOT TRUE`,
    'DROP INDEX date_by_value',
    'CREATE INDEX date_by_value ON date (project, parameter, low, high) INCLUDE (resource, extreme) WHERE grp = 0',
    'DROP INDEX date_by_end',
    `CREATE INDEX date_by_end ON date (project, parameter, high, low) INCLUDE (resource, extreme)
      WHERE grp = 0 AND high - low > 86400000`,
    'DROP INDEX quantity_by_value',
    `CREATE INDEX quantity_by_value ON quantity (project, parameter, low, high)
      INCLUDE (resource, extreme, system, code, unit) WHERE grp = 0`,
    'DROP INDEX quantity_by_end',
    `CREATE INDEX quantity_by_end ON quantity (project, parameter, high, low)
      INCLUDE (resource, extreme, system, code, unit) WHERE grp = 0 AND high > low`,
    'DROP INDEX reference_by_value',
    'CREATE INDEX reference_by_value ON reference (target, parameter) INCLUDE (resource, project, grp)',
    // The key follows from the type and the id, so the primary key keeps them unique.
    'DROP INDEX resource_by_id',
    'CREATE INDEX resource_by_id ON resource (project, type, id) INCLUDE (key) WHERE content IS NOT NULL',
    'DROP INDEX resource_by_shape',
    'CREATE INDEX resource_by_shape ON resource (project, type, shape) INCLUDE (key) WHERE content IS NOT NULL',
    // All rows are rebuilt.
    "DELETE FROM fhirgraph_meta WHERE name = 'index_version'",
  ].map((text) => new Sql(text, []));
}

/**
 * Skip indexes.
 *
 * ```text
 * fhirgraph_skip           (project, type, sort, subject, value)   what the parts of an order hold
 * fhirgraph_skip_type      (project, type)   has skip indexes, or they are being made
 * fhirgraph_skip_written   (project, type)   a resource that was written since, once or more
 * ```
 */
function skipIndexes(): readonly Sql[] {
  return [
    `CREATE TABLE fhirgraph_skip (project uuid NOT NULL, type text COLLATE "C" NOT NULL, sort bigint NOT NULL, subject bigint NOT NULL,
      value text COLLATE "C" NOT NULL, data text NOT NULL, PRIMARY KEY (project, type, sort, subject, value))`,
    `CREATE TABLE fhirgraph_skip_type (project uuid NOT NULL, type text COLLATE "C" NOT NULL, asked text NOT NULL, built int NOT NULL DEFAULT 0,
      PRIMARY KEY (project, type))`,
    'CREATE TABLE fhirgraph_skip_written (project uuid NOT NULL, type text COLLATE "C" NOT NULL, resource uuid NOT NULL)',
    'CREATE INDEX fhirgraph_skip_written_by_type ON fhirgraph_skip_written (project, type) INCLUDE (resource)',
  ].map((text) => new Sql(text, []));
}

/**
 * Skip indexes of sets: the resources of a type have numbers, which the sets and lists contain.
 *
 * ```text
 * fhirgraph_skip_key       (project, type, first)   the keys of resources from a number up, in order
 * ```
 */
function skipSets(): readonly Sql[] {
  return [
    // Skip indexes are rebuilt.
    ...['', '_type', '_written'].map((name) => `DELETE FROM fhirgraph_skip${name}`),
    'ALTER TABLE fhirgraph_skip_type DROP COLUMN asked',
    // Decompressing them would take longer than reading them.
    'ALTER TABLE fhirgraph_skip ALTER COLUMN data SET STORAGE EXTERNAL',
    `CREATE TABLE fhirgraph_skip_key (project uuid NOT NULL, type text COLLATE "C" NOT NULL, first int NOT NULL, keys uuid[] NOT NULL,
      PRIMARY KEY (project, type, first))`,
    // Without statistics, the planner would also look up numbers in this index if it began with the same columns.
    'CREATE INDEX fhirgraph_skip_key_by_key ON fhirgraph_skip_key ((project::text), type, (keys[1]))',
  ].map((text) => new Sql(text, []));
}

/**
 * Segments, the index of broad questions, in place of skip indexes.
 *
 * ```text
 * fhirgraph_segment_list      (project, type)            the segments of a type: see src/stores/segments/port.ts. A type without a row has none
 *                             id, complete               of the list
 *                             busy                       until then, a process works on the next list
 * fhirgraph_segment_row       (project, segment, name)   the rows of segments; both keys are hashes
 * fhirgraph_segment_written   (project, type)            a write since the list was made, only of types with a list
 *                             stamp                      a random number
 * ```
 *
 * Processes of the version before read the other tables of skip indexes, which stay empty. Their writes fail, since they
 * also need the dropped one: they would not note what they write.
 */
function segments(): readonly Sql[] {
  return [
    'DROP TABLE fhirgraph_skip_type',
    ...['', '_key', '_written'].map((name) => `TRUNCATE fhirgraph_skip${name}`),
    `CREATE TABLE fhirgraph_segment_list (project uuid NOT NULL, type text COLLATE "C" NOT NULL, id text NOT NULL, complete boolean NOT NULL,
      busy timestamp with time zone, list text NOT NULL, PRIMARY KEY (project, type))`,
    `CREATE TABLE fhirgraph_segment_row (project uuid NOT NULL, segment uuid NOT NULL, name uuid NOT NULL, data bytea NOT NULL,
      PRIMARY KEY (project, segment, name))`,
    // Rows of segments are packed, so compressing them takes time and saves little.
    'ALTER TABLE fhirgraph_segment_row ALTER COLUMN data SET STORAGE EXTERNAL',
    'CREATE TABLE fhirgraph_segment_written (project uuid NOT NULL, type text COLLATE "C" NOT NULL, id text COLLATE "C" NOT NULL, stamp bigint NOT NULL)',
    'CREATE INDEX fhirgraph_segment_written_by_type ON fhirgraph_segment_written (project, type) INCLUDE (id, stamp)',
  ].map((text) => new Sql(text, []));
}

/**
 * The feed.
 *
 * ```text
 * fhirgraph_change      (project, number)   a version that a commit wrote. number: of the commit, see rows/feed.ts
 *                       at (ms)             when, by the server's clock
 *                       version             0: this commit and those before it were forgotten
 * ```
 *
 * Processes of the version before would append nothing of what they write to the feed, so their writes miss a column.
 */
function feed(): readonly Sql[] {
  return [
    'CREATE TABLE fhirgraph_change (project uuid NOT NULL, number bigint NOT NULL, at bigint NOT NULL, resource uuid NOT NULL, version int NOT NULL)',
    'CREATE INDEX fhirgraph_change_by_number ON fhirgraph_change (project, number)',
    'CREATE SEQUENCE fhirgraph_turn',
    // From here on, the last value is one that was given.
    "SELECT nextval('fhirgraph_turn')",
    `INSERT INTO fhirgraph_meta (name, value) VALUES ('${FEED_SECRET}', replace(gen_random_uuid()::text, '-', ''))`,
    'ALTER TABLE fhirgraph_writer RENAME COLUMN generation TO definitions',
  ].map((text) => new Sql(text, []));
}

/** Segments answer what the parameters of each resource did. Writes of the version before miss the column. */
function withoutShapes(): readonly Sql[] {
  return ['ALTER TABLE resource DROP COLUMN shape', 'DROP TABLE fhirgraph_shape'].map((text) => new Sql(text, []));
}

/**
 * The migrations from each schema version to the next; the first one starts from an empty database. A published step
 * never changes, since databases have applied it.
 */
export const SCHEMA_STEPS: readonly ((partitions: number) => readonly Sql[])[] = [
  tables,
  indexWork,
  ordered,
  timelines,
  removals,
  covering,
  skipIndexes,
  skipSets,
  segments,
  feed,
  withoutShapes,
];
