import { LRUCache } from 'lru-cache';
import { assertValidResource, type ValidationOptions } from '../../fhir/validate-resource.js';
import { FhirError, type OutcomeIssue } from '../../fhir/error.js';
import { andMore } from '../../fhir/messages.js';
import type { FhirModel } from '../../fhir/model/fhir-model.js';
import { elementsOf, type JsonObject } from '../../fhir/resource.js';
import { loadFhirPath } from '../../fhirpath/library.js';
import { oncePer } from '../../platform/collections.js';
import { warn } from '../../platform/runtime.js';
import {
  type ProfileChoice,
  claimedProfiles,
  profilesFor,
  validatingProfiles,
} from '../../profiles/validate-profiles.js';
import { objectsOf } from '../../profiles/value-set-codes.js';
import type { CallOptions } from '../../store/call-options.js';
import { SERVER_SCOPE } from '../../store/resource-key.js';
import type { ResourceStore } from '../../store/store.js';
import type { PutWrite } from '../../store/write.js';
import type { Caller } from '../caller.js';
import { type GuardedWrite, withIndex } from '../contract.js';
import { isAboveProjects } from '../fields/administrative-types.js';

/** The validation of the resources in a commit. */
export interface WriteValidation {
  /** Whether resources of a type are checked against the R4 definitions. */
  isStrict(type: string): boolean;
  readonly profiles: RequiredProfiles;
}

export const NO_PROFILES: RequiredProfiles = { claimed: false, listed: [] };

/** No validation against definitions: only unstorable resources are rejected. */
export const LENIENT: WriteValidation = { isStrict: () => false, profiles: NO_PROFILES };

const ABOVE_PROJECTS: WriteValidation = { isStrict: isAboveProjects, profiles: NO_PROFILES };

/**
 * The validation that the caller's project and the host require. Resources above projects are always validated.
 * FHIRPath is loaded where profiles need it.
 *
 * The project is read only for writes.
 *
 * @param asked profiles that the host requires, in addition to those of the project
 */
export async function validationFor(
  store: ResourceStore,
  caller: Caller,
  writes: readonly GuardedWrite[],
  asked: ProfileChoice | undefined,
  options: CallOptions | undefined,
): Promise<WriteValidation> {
  if (writes.some((write) => write.kind === 'put' && write.key.type === 'Project')) noteProjects(store);
  if (caller.project === SERVER_SCOPE || !writes.some(({ kind }) => kind === 'put')) return ABOVE_PROJECTS;
  const settings = await readProjectSettings(store, caller.project, options);
  if (caller.kind === 'system') warnIfMissing(store, caller.project, settings);
  const strictMode = settings['strictMode'] === true;
  const profiles = requiredProfiles(settings, asked);
  if (profiles.claimed || profiles.listed.length > 0) await loadFhirPath();
  return { isStrict: (type) => strictMode || isAboveProjects(type), profiles };
}

/**
 * Rejects a resource that cannot be stored, that violates the R4 definitions in strict mode, or that does not conform
 * to the required profiles, which are checked in steps.
 *
 * @param index position of the write, for the error
 * @param sizes of the largest resource
 * @param kept top-level elements kept from the stored version, which are not validated
 * @throws FhirError `too-costly` - it is larger than `sizes` say
 * @throws FhirError `invalid`, `unprocessable` - `details.index` is the write's position, `issues` has every finding
 */
export function* validatingWrite(
  model: FhirModel,
  { key, resource }: { readonly key: { readonly type: string } } & Pick<PutWrite, 'resource'>,
  index: number,
  validation: WriteValidation,
  sizes: Pick<ValidationOptions, 'maxBytes' | 'maxValues'>,
  kept: ReadonlySet<string> = NONE_KEPT,
): Generator<void> {
  const except = kept.size === 0 ? undefined : (issue: OutcomeIssue) => concerns(model, issue, key.type, kept);
  try {
    assertValidResource(model, resource, { strict: validation.isStrict(key.type), except, ...sizes });
    const found = except && exceptHidden(except);
    yield* assertingProfiles(model, elementsOf(resource), validation.profiles, found);
  } catch (error) {
    throw error instanceof FhirError ? withIndex(error, index) : error;
  }
}

const NONE_KEPT: ReadonlySet<string> = new Set();

/** Invariants of the whole resource may be about hidden elements, which the writer does not send. Each finding has a place. */
function exceptHidden(except: (issue: OutcomeIssue) => boolean): (issue: OutcomeIssue) => boolean {
  return (issue) => except(issue) || (issue.code === 'invariant' && !/[.[]/.test(issue.expression![0]!));
}

/** True for a finding inside one of the elements, or about a reference to a resource inside them. */
function concerns(
  model: FhirModel,
  { code, expression }: OutcomeIssue,
  type: string,
  names: ReadonlySet<string>,
): boolean {
  if (code === 'not-found' && names.has('contained')) return true;
  // Findings about a storable resource have an expression, such as `Patient.name[0]`.
  const [, head] = expression![0]!.split(/[.[]/);
  if (head === undefined) return false;
  const { elements } = model.typeDefinition(type)!;
  return [...names].some((name) => name === head || elements.get(name)?.choiceOf === head);
}

/** The profiles that resources must conform to. */
export interface RequiredProfiles {
  /** The profiles in `meta.profile` that the definitions have. */
  readonly claimed: boolean;
  /** Canonical URLs; each holds for resources of its type. */
  readonly listed: readonly string[];
}

/** The name of the setting of a Project: `valueBoolean` for the profiles in `meta.profile`, `valueString` for one by URL. */
const PROFILES_SETTING = 'validateProfiles';

/** The profiles that a Project's settings and the host require together. */
export function requiredProfiles(project: JsonObject, asked: ProfileChoice | undefined): RequiredProfiles {
  const settings = [...objectsOf(project['systemSetting']), ...objectsOf(project['setting'])].filter(
    ({ name }) => name === PROFILES_SETTING,
  );
  const listed = settings.flatMap(({ valueString }) => (typeof valueString === 'string' ? [valueString] : []));
  const claimed = asked === true || settings.some(({ valueBoolean }) => valueBoolean === true);
  return { claimed, listed: [...new Set([...listed, ...(asked === undefined || asked === true ? [] : asked)])] };
}

/**
 * @param except findings that do not cause a rejection
 * @throws FhirError `unprocessable` - the resource does not conform; `issues` has every finding
 */
export function* assertingProfiles(
  model: FhirModel,
  resource: JsonObject,
  { claimed, listed }: RequiredProfiles,
  except: ((issue: OutcomeIssue) => boolean) | undefined,
): Generator<void> {
  if (!claimed && listed.length === 0) return;
  const options = { maxIssues: except === undefined ? 100 : 10_000, readsTargets: except === undefined };
  const required = yield* validatingProfiles(model, resource, profilesFor(model, resource, listed), options);
  const found = [...required.issues];
  if (claimed) {
    const asked = { ...options, isOptional: true };
    found.push(...(yield* validatingProfiles(model, resource, claimedProfiles(resource), asked)).issues);
  }
  const issues = [...new Map(found.map((issue) => [JSON.stringify(issue), issue])).values()].filter(
    (issue) => except?.(issue) !== true,
  );
  const errors = issues.filter(({ severity }) => severity === undefined);
  const [first] = errors;
  if (first === undefined) return;
  // Profiles are checked from the root of the resource, so each finding has a location.
  const [place] = first.expression!;
  throw new FhirError(
    'unprocessable',
    `The resource does not conform to its profiles: ${first.diagnostics} at ${place}${andMore(errors)}`,
    { issues },
  );
}

interface Entry {
  /** Of the store, before and after the project was read. */
  readonly epoch: string;
  readonly settings: JsonObject;
}

/**
 * The elements of a Project as it is now; none if it is gone.
 *
 * Writes of a Project change the store's epoch, which concurrent requests read together. So a Project is read
 * again only when the epoch has changed. Over replicas it is read each time, because one replica may show the new epoch
 * before another shows the changed Project.
 */
async function readProjectSettings(
  store: ResourceStore,
  project: string,
  options: CallOptions | undefined,
): Promise<JsonObject> {
  if (store.accessEpoch === undefined || store.readsAreCurrent !== true) return read(store, project, options);
  const epoch = await store.accessEpoch(options);
  const kept = projectsOf(store).settings;
  const entry = kept.get(project);
  if (entry?.epoch === epoch) return entry.settings;
  const settings = await read(store, project, options);
  if ((await store.accessEpoch(options)) === epoch) kept.set(project, { epoch, settings });
  return settings;
}

async function read(store: ResourceStore, project: string, options: CallOptions | undefined): Promise<JsonObject> {
  const [found] = await store.read([{ project: SERVER_SCOPE, type: 'Project', id: project }], options);
  if (found?.status !== 'found') return MISSING;
  noteProjects(store);
  return elementsOf(found.resource);
}

/** The elements of a Project that is not there. */
const MISSING: JsonObject = Object.freeze({});

/** Notes that there are Projects in the store. */
function noteProjects(store: ResourceStore): void {
  projectsOf(store).areUsed = true;
}

/**
 * Warns the host once that trusted code writes into a project that does not exist, where nobody can sign in: the id is
 * likely a mistake. A store without Projects is used for resources alone, which is right.
 *
 * What this process has read or written decides whether there are Projects. A search would create the indexes of a new file
 * before its first import.
 *
 * @param settings of the project, from {@link readProjectSettings}
 */
function warnIfMissing(store: ResourceStore, project: string, settings: JsonObject): void {
  const { areUsed, warned } = projectsOf(store);
  if (settings !== MISSING || !areUsed || warned.has(project)) return;
  warned.set(project, true);
  warn(`systemCaller("${project}") writes into a project that does not exist`, 'FHIRGRAPH_PROJECT');
}

/** What this process knows of the Projects of a store. */
const projectsOf = oncePer((_store: ResourceStore) => ({
  /** Whether it has read or written one. */
  areUsed: false,
  /** The missing ones that the host was warned of. */
  warned: new LRUCache<string, true>({ max: MAX_ENTRIES }),
  settings: new LRUCache<string, Entry>({ max: MAX_ENTRIES }),
}));

/** Projects of a store. */
const MAX_ENTRIES = 500;
