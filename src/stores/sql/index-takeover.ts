import type { FhirModel } from '../../fhir/model/fhir-model.js';
import { INDEX_VERSION, indexFingerprint, parameterFingerprints } from '../../search/index/parameter-fingerprints.js';
import { type Ask, ask } from '../ask.js';
import {
  changedParameters,
  changesOf,
  type Codes,
  type CodesByType,
  EVERY,
  insideType,
  readCodes,
  readCodesByType,
  union,
} from './index-changes.js';
import {
  entriesOf,
  type IndexPort,
  isOfThisVersion,
  onIndex,
  type ProjectType,
  readFingerprints,
  setEntries,
} from './index-state.js';
import { randomNumber } from './random-number.js';
import { sql } from './sql.js';

/**
 * Whether a database is to be taken over for these definitions.
 *
 * @param ifEmpty true to do so only if nothing was ever written to it
 * @throws FhirError `unavailable` - a newer version of this library has the database
 */
export function* isTakeoverDue(model: FhirModel, ifEmpty: boolean): Ask<IndexPort, boolean> {
  const found = yield* entriesOf(['index_version', 'index_definitions']);
  if (isMadeWith(model, found.get('index_version'), found.get('index_definitions'))) return false;
  return !ifEmpty || (yield* onIndex(() => sql`SELECT 1 FROM resource LIMIT 1`)).length === 0;
}

/**
 * Takes a database over for these definitions: from now on, rows are written with them, and rows of other definitions
 * are queued for re-indexing. If no parameter differs, nothing is queued.
 *
 * @param isNew true if nothing has been written yet
 * @throws FhirError `unavailable` - a newer version of this library has the database
 */
export function* takeOver(model: FhirModel, isNew: boolean): Ask<IndexPort, void> {
  const found = yield* entriesOf(['index_version', 'index_definitions', 'index_parameters']);
  const version = found.get('index_version');
  if (isMadeWith(model, version, found.get('index_definitions'))) return;
  const before = isOfThisVersion(version) ? readFingerprints(found.get('index_parameters')) : undefined;
  const changes = isNew ? { [EVERY]: [EVERY] } : changedParameters(before, parameterFingerprints(model));
  const entries = definitionEntries(model);
  if (Object.keys(changes).length === 0) {
    yield* setEntries(entries);
    return;
  }
  const { refuseOthers } = yield* ask((port: IndexPort) => port.tables);
  const generation = randomGeneration();
  if (refuseOthers !== undefined) yield* onIndex(() => refuseOthers(generation));
  const refused = refuseOthers && { index_generation: String(generation) };
  const pending = isNew ? {} : yield* addWork(changes);
  yield* setEntries({ ...entries, ...refused, ...pendingEntries(pending) });
}

/**
 * Adds changes to the work that is left, for the types of one or all projects.
 *
 * @returns the changes that are pending in any project
 */
export function* addWork(changes: CodesByType, project?: string): Ask<IndexPort, CodesByType> {
  const held = yield* onIndex((t) => t.heldTypes(project === undefined ? undefined : t.projectKey(project)));
  for (const [type, left, inside, projects] of held as unknown as readonly HeldTypeRow[]) {
    const types = (JSON.parse(inside) as readonly string[]).map((code) => insideType(code)!);
    const changed = changesOf(changes, type, types);
    if (changed.length === 0) continue;
    const codes = union(changed, left === null ? [] : readCodes(left));
    yield* onIndex(({ setWork }) => setWork(JSON.parse(projects) as readonly string[], type, codes));
  }
  const pending: { [type: string]: Codes } = {};
  const work = yield* onIndex((t) => sql`SELECT DISTINCT w.type, w.parameters FROM ${t.worksOf(undefined).from}`);
  for (const [type, codes] of work as readonly (readonly [string, string])[]) {
    pending[type] = union(readCodes(codes), pending[type] ?? []);
  }
  return pending;
}

/** Ends the work on a type of a project. If it was the last of the type, all processes learn that it is complete. */
export function* endWork(done: ProjectType): Ask<IndexPort, void> {
  const { type } = done;
  yield* onIndex(({ work, isOf }) => sql`DELETE FROM ${work} WHERE ${isOf(done)}`);
  // Serialized, because two concurrent ends would each still see the work of the other.
  const [row] = yield* onIndex(({ meta, lock }) => sql`SELECT value FROM ${meta} WHERE name = 'index_pending' ${lock}`);
  const others = yield* onIndex((t) => sql`SELECT 1 FROM ${t.worksOf(undefined).from} WHERE w.type = ${type} LIMIT 1`);
  if (others.length > 0) return;
  const { [type]: ended, ...pending } = readCodesByType((row?.[0] as string | undefined) ?? '{}');
  if (ended !== undefined) yield* setEntries(pendingEntries(pending));
}

/** Ends the work on all types of a project. */
export function* endWorkOn(project: string): Ask<IndexPort, void> {
  const works = yield* onIndex(({ worksOf }) => {
    const { from, where } = worksOf(project);
    return sql`SELECT w.project, w.type FROM ${from} WHERE ${where}`;
  });
  for (const [key, type] of works as readonly (readonly [string, string])[]) yield* endWork({ project: key, type });
}

/** Ends all work: every row has been rebuilt. */
export function* endAllWork(): Ask<IndexPort, void> {
  yield* onIndex(({ work }) => sql`DELETE FROM ${work}`);
  const pending = (yield* entriesOf(['index_pending'])).get('index_pending') ?? '{}';
  if (pending !== '{}') yield* setEntries(pendingEntries({}));
}

/**
 * Whether the rows of a database were made by this version with these definitions. It needs both entries, because an
 * older version of this library does not know the other entries, and keeps them.
 *
 * @throws as {@link isOfThisVersion}
 */
function isMadeWith(model: FhirModel, version: string | undefined, definitions: string | undefined): boolean {
  return isOfThisVersion(version) && definitions === indexFingerprint(model);
}

/** The entries of a database whose rows are made with these definitions from now on. */
function definitionEntries(model: FhirModel): { readonly [name: string]: string } {
  return {
    index_version: String(INDEX_VERSION),
    index_definitions: indexFingerprint(model),
    index_parameters: JSON.stringify(parameterFingerprints(model)),
  };
}

/** The entries that tell all processes which parameters are pending. */
function pendingEntries(pending: CodesByType): { readonly [name: string]: string } {
  return { index_epoch: randomNumber(52), index_pending: JSON.stringify(pending) };
}

/** Like {@link randomNumber}, for a column of 32 bits. Older versions of this library add 1. */
function randomGeneration(): number {
  return 1 + (Number(randomNumber(52)) % (2 ** 31 - 2 ** 16));
}

type HeldTypeRow = readonly [type: string, left: string | null, inside: string, projects: string];
