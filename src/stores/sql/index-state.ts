import type { TypeParameter } from '../../search/criteria/parameters-of.js';
import { FhirError } from '../../fhir/error.js';
import type { FhirModel } from '../../fhir/model/fhir-model.js';
import {
  INDEX_VERSION,
  indexFingerprint,
  type ParameterFingerprints,
  parameterFingerprints,
} from '../../search/index/parameter-fingerprints.js';
import { indexForeign, indexIncomplete } from '../../store/index-state.js';
import { type Answer, type Ask, ask } from '../ask.js';
import {
  changedParameters,
  type Codes,
  codesOf,
  type CodesByType,
  includesCode,
  jsonOf,
  readCodes,
  readCodesByType,
} from './index-changes.js';
import type { FromWhere } from './dialect.js';
import { allOf, list, type Sql, sql } from './sql.js';

/** Where a store keeps the state of its index, and how it runs statements on it. */
export interface IndexPort {
  readonly tables: StateTables;
  run(statement: Sql): Answer<readonly (readonly unknown[])[]>;
}

/**
 * The tables of the index state, as each store has them.
 *
 * ```text
 * meta           name, value                                      versions, definitions, and what is pending
 * work           parameters, cursor, done, total, and a key       the resources to re-index, a row per type of a project
 * ```
 */
export interface StateTables {
  readonly meta: Sql;
  readonly work: Sql;
  /** The rows of `work` of one or all projects, as `w`, with the columns `project` and `type`. */
  worksOf(project: string | undefined): FromWhere;
  /** The order of the work, and a limit that selects and locks one row. @param skipped rows before it */
  nextWork(skipped: number): Sql;
  /** Locks the rows of a select until the transaction ends. */
  readonly lock: Sql;
  /** The value of the column `project` for a project. */
  projectKey(project: string): string;
  /** The condition that a row of `work` or `resource` is of a type of a project. */
  isOf(type: ProjectType): Sql;
  /** The condition that the row `r` of `resource` is of the type of `w`. */
  readonly isOfWork: Sql;
  isOneOf(column: Sql, texts: readonly string[]): Sql;
  /**
   * Selects the types that have resources: type; the codes of the work that is left (null: none); the codes that lead to
   * contained resources; the keys of the projects of which that is true. All but the type are JSON.
   *
   * @param project a key; default: of all projects
   */
  heldTypes(project: string | undefined): Sql;
  /** Queues all resources of a type of some projects, from the first one on. */
  setWork(projects: readonly string[], type: string, codes: Codes): Sql;
  /** Refuses later writes of processes of the previous generation. Undefined: each write compares the definitions. */
  refuseOthers?(generation: number): Sql;
}

/** A type of a project. */
export interface ProjectType {
  /** As of {@link StateTables.projectKey}. */
  readonly project: string;
  readonly type: string;
}

/** Runs a statement. */
export function* onIndex(statement: (tables: StateTables) => Sql): Ask<IndexPort, readonly (readonly unknown[])[]> {
  return yield* ask((port: IndexPort) => port.run(statement(port.tables)));
}

/** The values of these entries that the database has. */
export function* entriesOf(names: readonly string[]): Ask<IndexPort, ReadonlyMap<string, string>> {
  const rows = yield* onIndex(
    ({ meta, isOneOf }) => sql`SELECT name, value FROM ${meta} WHERE ${isOneOf(sql`name`, names)}`,
  );
  return new Map(rows as readonly (readonly [string, string])[]);
}

export function* setEntries(values: { readonly [name: string]: string }): Ask<IndexPort, void> {
  const rows = list(Object.entries(values).map(([name, value]) => sql`(${name}, ${value})`));
  yield* onIndex(
    ({ meta }) =>
      sql`INSERT INTO ${meta} (name, value) VALUES ${rows} ON CONFLICT (name) DO UPDATE SET value = excluded.value`,
  );
}

/**
 * The state of a database's index, valid while the database keeps its epoch. The epoch changes when a process with other
 * definitions takes the database over, and when a type has been indexed in all projects.
 */
export interface IndexState {
  readonly epoch: string;
  /** True if rows are written with the definitions of this process. */
  readonly isOurs: boolean;
  /** Parameters that the database defines differently from this process. Empty if `isOurs`. */
  readonly foreign: CodesByType;
  /** Parameters with incomplete rows in some project. */
  readonly pending: CodesByType;
  /** Of PostgreSQL: of the definitions of written rows. A random number that a takeover replaces. */
  readonly generation: number;
}

/** Reads the state of the index. */
export function* readIndexState(model: FhirModel): Ask<IndexPort, IndexState> {
  const found = yield* entriesOf([
    ...['index_epoch', 'index_version', 'index_definitions', 'index_pending', 'index_generation'],
  ]);
  const isSame = found.get('index_version') === String(INDEX_VERSION);
  const isOurs = isSame && found.get('index_definitions') === indexFingerprint(model);
  const fingerprints = isSame && !isOurs ? (yield* entriesOf(['index_parameters'])).get('index_parameters') : undefined;
  const foreign = isOurs ? {} : changedParameters(readFingerprints(fingerprints), parameterFingerprints(model));
  return {
    epoch: found.get('index_epoch') ?? '',
    foreign,
    isOurs: Object.keys(foreign).length === 0,
    pending: readCodesByType(found.get('index_pending') ?? '{}'),
    generation: Number(found.get('index_generation') ?? 0),
  };
}

/**
 * Whether the rows of a database were made by this version of the extraction; false for an older one.
 *
 * @param version the index version stored in the database; undefined if none is stored
 * @throws FhirError `unavailable` - the rows were made by a newer version
 */
export function isOfThisVersion(version: string | null | undefined): boolean {
  const stored = Number(version ?? 0);
  if (stored <= INDEX_VERSION) return stored === INDEX_VERSION;
  throw new FhirError(
    'unavailable',
    `The database has index version ${stored}, written by a newer fhirgraph; this one knows up to ${INDEX_VERSION}`,
  );
}

/** Whether every search can rely on the index. */
export function isComplete({ isOurs, pending }: IndexState): boolean {
  return isOurs && Object.keys(pending).length === 0;
}

function isForeign({ foreign }: IndexState, { type, parameter }: TypeParameter): boolean {
  if (parameter.startsWith('#')) return codesOf(foreign, parameter.slice(1)).length > 0;
  return includesCode(codesOf(foreign, type), parameter);
}

/** True if the parameter's rows may be incomplete in some project; the state of the project decides. */
function mayBePending({ pending }: IndexState, { type, parameter }: TypeParameter): boolean {
  return includesCode(codesOf(pending, type), parameter);
}

/**
 * Asserts that parameters are searchable in a project.
 *
 * @returns true if only the remaining work showed that they are
 * @throws FhirError `unavailable` - a parameter is not searchable
 */
export function* assertSearchable(
  state: IndexState,
  project: string,
  parameters: readonly TypeParameter[],
): Ask<IndexPort, boolean> {
  const foreign = parameters.find((one) => isForeign(state, one));
  if (foreign !== undefined) throw indexForeign(foreign);
  const doubtful = parameters.filter((one) => mayBePending(state, one));
  if (doubtful.length === 0) return false;
  const work = yield* workOn(
    project,
    doubtful.map(({ type }) => type),
  );
  for (const one of doubtful) {
    const left = work.get(one.type);
    if (left !== undefined && includesCode(left.codes, one.parameter)) throw indexIncomplete(one, left);
  }
  return true;
}

/** The parameters that are not searchable in a project. */
export function* pendingIn(
  state: IndexState,
  project: string,
  model: FhirModel,
): Ask<IndexPort, readonly TypeParameter[]> {
  if (isComplete(state)) return [];
  const work = yield* workOn(project, model.resourceTypes);
  const fingerprints = parameterFingerprints(model);
  const parameters = model.resourceTypes.flatMap((type) => {
    // Pending parameters may represent contained resources.
    const inside = codesOf(state.pending, type).filter((code) => code.startsWith('#'));
    return [...Object.keys(fingerprints[type] ?? {}), ...inside].map((parameter) => ({ type, parameter }));
  });
  return parameters.filter(
    (one) => isForeign(state, one) || includesCode(work.get(one.type)?.codes ?? [], one.parameter),
  );
}

/** The work that is left on types of a project. */
export function* workOn(
  project: string,
  types: readonly string[],
): Ask<IndexPort, ReadonlyMap<string, { readonly codes: Codes; readonly done: number; readonly total: number }>> {
  const rows = yield* onIndex(({ worksOf, isOneOf }) => {
    const { from, where } = worksOf(project);
    return sql`SELECT w.type, w.parameters, w.done, coalesce(w.total, 0) FROM ${from}
        WHERE ${allOf([where, isOneOf(sql`w.type`, types)])}`;
  });
  return new Map(
    rows.map(([type, codes, done, total]) => [
      type as string,
      { codes: readCodes(codes as string), done: Number(done), total: Number(total) },
    ]),
  );
}

/** Undefined if the definitions of the rows are unknown. */
export function readFingerprints(text: string | undefined): ParameterFingerprints | undefined {
  return text === undefined ? undefined : jsonOf<ParameterFingerprints>(text);
}
