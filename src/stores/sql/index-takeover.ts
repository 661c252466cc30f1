import type { FhirModel } from '../../fhir/model/fhir-model.js';
import { parameterFingerprints } from '../../search/index/parameter-fingerprints.js';
import { type Answer, type Ask, ask } from '../ask.js';
import {
  changedParameters,
  changesOf,
  type Codes,
  type CodesByType,
  EVERY,
  readCodes,
  readCodesByType,
  union,
} from './index-changes.js';
import { definitionEntries, isMadeWith, isOfThisVersion, readFingerprints } from './index-state.js';
import { randomNumber } from './random-number.js';

/** The entries of a database, and the work that its index still needs. All questions run in one transaction. */
export interface TakeoverPort<Place> {
  /** The values of these entries that the database has. */
  entries(names: readonly string[]): Answer<ReadonlyMap<string, string>>;
  setEntries(values: { readonly [name: string]: string }): Answer<unknown>;
  /** Refuses later writes of processes with the previous definitions. @returns entries that say so */
  refuseOthers(): Answer<{ readonly [name: string]: string }>;
  /** The types that have resources. @param project only of this project; default: all */
  heldTypes(project: string | undefined): Answer<readonly HeldType<Place>[]>;
  /** Queues all resources of a type, from the first one on. */
  setWork(place: Place, type: string, codes: Codes): Answer<unknown>;
  /** The work that is left in all projects, with the codes of its parameters as JSON. */
  work(): Answer<readonly (readonly [type: string, codes: string])[]>;
  /** Removes the work on a type of a project. @returns whether another project has work on that type */
  removeWork(place: Place, type: string): Answer<boolean>;
}

/** A type that has resources, in one or several projects. */
interface HeldType<Place> {
  readonly place: Place;
  readonly type: string;
  /** The codes of the work that is left, as JSON; null without work. */
  readonly left: string | null;
  /** The types of contained resources. */
  readonly inside: Iterable<string>;
}

/**
 * Takes a database over for these definitions: from now on, rows are written with them, and rows of other definitions
 * are queued for re-indexing. If nothing differs, nothing is written.
 *
 * @param isNew true if nothing has been written yet
 * @throws FhirError `unavailable` - a newer version of this library has the database
 */
export function* takeOver<Place>(model: FhirModel, isNew: boolean): Ask<TakeoverPort<Place>, void> {
  const found = yield* ask((port: TakeoverPort<Place>) => port.entries(OF_DEFINITIONS));
  const version = found.get('index_version');
  if (isMadeWith(model, version, found.get('index_definitions'))) return;
  const before = isOfThisVersion(version) ? readFingerprints(found.get('index_parameters')) : undefined;
  const changes = isNew ? { [EVERY]: [EVERY] } : changedParameters(before, parameterFingerprints(model));
  const entries = definitionEntries(model);
  if (Object.keys(changes).length === 0) {
    yield* ask((port: TakeoverPort<Place>) => port.setEntries(entries));
    return;
  }
  const refused = yield* ask((port: TakeoverPort<Place>) => port.refuseOthers());
  const pending = isNew ? {} : yield* addWork<Place>(changes);
  yield* ask((port: TakeoverPort<Place>) => port.setEntries({ ...entries, ...refused, ...pendingEntries(pending) }));
}

/**
 * Adds changes to the work that is left, for the types of one or all projects.
 *
 * @returns the changes that are pending in any project
 */
export function* addWork<Place>(changes: CodesByType, project?: string): Ask<TakeoverPort<Place>, CodesByType> {
  for (const { place, type, left, inside } of yield* ask((port: TakeoverPort<Place>) => port.heldTypes(project))) {
    const changed = changesOf(changes, type, inside);
    if (changed.length === 0) continue;
    const codes = union(changed, left === null ? [] : readCodes(left));
    yield* ask((port: TakeoverPort<Place>) => port.setWork(place, type, codes));
  }
  const pending: { [type: string]: Codes } = {};
  for (const [type, codes] of yield* ask((port: TakeoverPort<Place>) => port.work())) {
    pending[type] = union(readCodes(codes), pending[type] ?? []);
  }
  return pending;
}

/** Ends the work on a type of a project. If it was the last of the type, all processes learn that it is complete. */
export function* endWork<Place>(place: Place, type: string): Ask<TakeoverPort<Place>, void> {
  if (yield* ask((port: TakeoverPort<Place>) => port.removeWork(place, type))) return;
  const found = yield* ask((port: TakeoverPort<Place>) => port.entries(['index_pending']));
  const { [type]: ended, ...others } = readCodesByType(found.get('index_pending') ?? '{}');
  if (ended === undefined) return;
  yield* ask((port: TakeoverPort<Place>) => port.setEntries(pendingEntries(others)));
}

/** The entries that tell all processes which parameters are pending. */
export function pendingEntries(pending: CodesByType): { readonly [name: string]: string } {
  return { index_epoch: randomNumber(52), index_pending: JSON.stringify(pending) };
}

const OF_DEFINITIONS = ['index_version', 'index_definitions', 'index_parameters'];
