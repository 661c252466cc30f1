import type { GuardedKey } from '../../access/contract.js';
import { FhirError } from '../../fhir/error.js';
import { referenceTo } from '../../fhir/reference.js';
import { isResourceId } from '../../fhir/resource.js';
import { absence } from '../../interactions/interaction-session.js';
import type { ReadResult } from '../../store/stored-resource.js';
import {
  type Argument,
  evaluate,
  evaluateJson,
  evaluateSingleText,
  evaluateTexts,
  type Variables,
} from '../plan/arguments.js';
import { CALL_COST, LOOKUP_COST } from '../plan/estimate-cost.js';
import type {
  Edge,
  HostEdge,
  HostReferenceEdge,
  ReadEdge,
  ReferenceEdge,
  SearchEdge,
  StoreEdge,
} from '../plan/plan.js';
import { LIST_CONTROLS, type ListControl } from '../schema/arguments.js';
import { fieldName } from '../schema/host/host-schema.js';
import { fillReferences } from './fill-references.js';
import { fillSearches } from './fill-searches.js';
import { fillHostFields } from './host/fill-host-fields.js';
import { failHostReference, fillHostReferences } from './host/fill-host-references.js';
import { projectResource } from './project.js';
import { elementsReadTogether } from './read-elements.js';
import {
  call,
  type Hole,
  type HostHole,
  type HostReferenceHole,
  type ReadHole,
  type ReferenceHole,
  type Run,
  type SearchHole,
  type Waiting,
} from './run.js';
import { tooManyCalls } from './spending.js';

/**
 * Fills the holes of one level of the response, with parallel calls. Edges with the same question share a call.
 *
 * Calls run concurrently while the rest of the budget covers the most that they can read. Beyond that they run one
 * after another, so that a request never reads much more than its limit. Calls of the host's resolvers are only
 * started: see `HostCalls`.
 *
 * @throws LimitError `storeCalls`, `cost` - checked before the first call, against the least that the level needs
 */
export async function fillLevel(level: ReadonlyMap<Edge, readonly Hole[]>, run: Run): Promise<void> {
  const { limits } = run.options;
  const all = groupByQuestion(level, run);
  const ofHost = all.filter(isOfHost);
  for (const waiting of ofHost) run.hostCalls.start(fillHostFields(waiting, run));
  const ofStore = (ofHost.length === 0 ? all : all.filter((waiting) => !isOfHost(waiting))) as readonly StoreGroup[];
  const groups = ofStore.map((waiting) => ({ waiting, bounds: boundsOf(waiting, run) }));
  const certain = groups.filter(({ waiting: [{ edge }] }) => isCertain(edge));
  if (run.storeCalls + certain.length > limits.storeCalls) throw tooManyCalls(limits);
  for (let next = 0; next < groups.length;) {
    run.assertAffordable(groups.slice(next).reduce((sum, { bounds }) => sum + bounds.least, 0));
    const batch = [groups[next]!];
    let most = run.cost + batch[0]!.bounds.most;
    for (next += 1; next < groups.length && most + groups[next]!.bounds.most <= limits.cost; next += 1) {
      batch.push(groups[next]!);
      most += groups[next]!.bounds.most;
    }
    await (batch.length === 1 ? fillGroup(batch[0]!.waiting, run) : fillSideBySide(batch, run));
  }
  if (!run.hostCalls.isIdle) await run.hostCalls.takeTurn();
}

interface BoundedGroup {
  readonly waiting: StoreGroup;
  readonly bounds: CallBounds;
}

/**
 * Starts the groups with pauses: a search under hundreds of rules takes milliseconds before the store call.
 *
 * Ends when all groups have. @throws the error of the first one that failed
 */
async function fillSideBySide(batch: readonly BoundedGroup[], run: Run): Promise<void> {
  const begun: Promise<PromiseSettledResult<void>[]>[] = [];
  for (const { waiting } of batch) {
    // The deadline itself ends calls that have begun.
    if (run.pace.isSpent) await run.pace.next();
    begun.push(Promise.allSettled([fillGroup(waiting, run)]));
  }
  for (const [result] of await Promise.all(begun)) if (result!.status === 'rejected') throw result!.reason;
}

/** A call that does not depend on earlier results. */
function isCertain(edge: Edge): boolean {
  return edge.kind === 'read' || (edge.kind === 'search' && edge.reverse === undefined);
}

type Group = readonly [Waiting<Edge, Hole>, ...Waiting<Edge, Hole>[]];
type StoreGroup = readonly [Waiting<StoreEdge, Hole>, ...Waiting<StoreEdge, Hole>[]];
type HostGroup = readonly [Waiting<HostEdge, HostHole>, ...Waiting<HostEdge, HostHole>[]];

function isOfHost(waiting: Group | HostGroup): waiting is HostGroup {
  return waiting[0].edge.kind === 'host';
}

function groupByQuestion(level: ReadonlyMap<Edge, readonly Hole[]>, run: Run): readonly Group[] {
  const groups = new Map<unknown, [Waiting<Edge, Hole>, ...Waiting<Edge, Hole>[]]>();
  for (const [edge, holes] of level) {
    // Most levels have one edge, which needs no comparison.
    const question = (level.size === 1 ? undefined : questionOf(edge, run.options.variables)) ?? edge;
    const group = groups.get(question);
    if (group === undefined) groups.set(question, [{ edge, holes }]);
    else group.push({ edge, holes });
  }
  return [...groups.values()];
}

async function fillGroup(waiting: StoreGroup, run: Run): Promise<void> {
  try {
    await fillByKind(waiting, run);
  } catch (error) {
    failGroup(waiting, error, run);
  }
}

function fillByKind(waiting: StoreGroup, run: Run): Promise<void> {
  switch (waiting[0].edge.kind) {
    case 'read':
      return fillReads(waiting as readonly Waiting<ReadEdge, ReadHole>[], run);
    case 'search':
      return fillSearches(waiting as readonly Waiting<SearchEdge, SearchHole>[], run);
    case 'reference':
      return fillReferences(waiting as readonly Waiting<ReferenceEdge, ReferenceHole>[], run);
    case 'host-reference':
      return fillHostReferences(waiting as readonly Waiting<HostReferenceEdge, HostReferenceHole>[], run);
  }
}

function failGroup(waiting: StoreGroup, error: unknown, run: Run): void {
  for (const { edge, holes } of waiting) {
    for (const hole of holes) {
      if ('key' in hole) failHostReference(hole, edge, error, run);
      else run.fail(hole.out, edge, error);
    }
  }
}

/**
 * The key of an edge's store call, without the resources requested. Edges of one level with the same question share one
 * call, such as the hundreds of aliases `_v1: Patient(id: …)` that gateways send.
 *
 * | edge | same question |
 * |---|---|
 * | read | same type |
 * | reference | same kind, possible targets and `type:` |
 * | reverse search | same search, page and shape |
 * | field of the host | same field and arguments |
 * | resources that values of the host name | all |
 *
 * @returns undefined for edges that cannot share a call: a search at the root, and a read without a single id
 */
export function questionOf(edge: Edge, variables: Variables): string | undefined {
  switch (edge.kind) {
    case 'read':
      return hasId(edge, variables) ? `read ${edge.type}` : undefined;
    case 'reference':
      return JSON.stringify(['reference', edge.canonical, edge.targets, evaluate(edge.type, variables)]);
    case 'host':
      return hostQuestion(edge, variables);
    case 'host-reference':
      return 'host-reference';
    case 'search':
      return edge.reverse === undefined ? undefined : reverseQuestion(edge, variables);
  }
}

function hostQuestion({ field, args }: HostEdge, variables: Variables): string {
  const values = field.args.map(({ name, defaultValue }) => {
    const given = evaluateJson(Object.hasOwn(args, name) ? args[name] : undefined, variables);
    const value = given === undefined ? defaultValue : given;
    return value === undefined ? [] : [value];
  });
  return JSON.stringify(['host', fieldName(field), values]);
}

function hasId({ id }: ReadEdge, variables: Variables): boolean {
  return evaluateTexts(id, variables)?.length === 1;
}

function reverseQuestion(edge: SearchEdge, variables: Variables): string {
  const valueOf = (argument: Argument | undefined): unknown => [
    evaluateTexts(argument, variables),
    evaluate(argument, variables),
  ];
  const { type, parameters, reverse, controls, cursors, shape } = edge;
  const { kind, total, matches, cursors: paged } = shape.kind === 'connection' ? shape : LIST;
  return JSON.stringify([
    type,
    [kind, total, matches, paged],
    [reverse, ...LIST_CONTROL_NAMES.map((name) => controls[name]), ...cursors].map(valueOf),
    parameters.map(({ code, values }) => [code, valueOf(values)]),
  ]);
}

const LIST_CONTROL_NAMES = Object.keys(LIST_CONTROLS) as ListControl[];
const LIST = { kind: 'list', total: false, matches: true, cursors: false } as const;

/** The bounds of the cost of a call, known before it is made. */
interface CallBounds {
  /** The cost if the call finds nothing. */
  readonly least: number;
  /** The cost if every list has its maximum length, with few fields per resource. */
  readonly most: number;
}

/** @param waiting edges that share a call, and their holes */
function boundsOf(waiting: readonly Waiting<StoreEdge, Hole>[], run: Run): CallBounds {
  const { edge } = waiting[0]!;
  const holes = waiting.reduce((sum, one) => sum + one.holes.length, 0);
  switch (edge.kind) {
    case 'read':
      return bounds(
        waiting.some((one) => isRead(one.edge as ReadEdge, run)),
        0,
        holes,
      );
    case 'reference':
      return bounds(
        waiting.some((one) => one.holes.some((hole) => isLocal(hole as ReferenceHole))),
        0,
        holes,
      );
    case 'host-reference':
      return bounds(
        waiting.some((one) => one.holes.some((hole) => isLink(hole as HostReferenceHole))),
        0,
        holes,
      );
    case 'search': {
      if (edge.reverse === undefined) return bounds(true, 0, pageSizeOf(edge, run));
      const targets = targetsOf(waiting as readonly Waiting<StoreEdge, SearchHole>[]);
      return bounds(targets > 0, targets, targets * pageSizeOf(edge, run));
    }
  }
}

function bounds(isCalled: boolean, lookups: number, resources: number): CallBounds {
  const least = isCalled ? CALL_COST + lookups * LOOKUP_COST : 0;
  return { least, most: least + resources };
}

/** Texts that cannot be ids are never requested. */
function isRead(edge: ReadEdge, run: Run): boolean {
  try {
    return isResourceId(readId(edge, run.options.variables));
  } catch {
    return false;
  }
}

/** Other references do not always need a call: contained resources are already loaded. */
function isLocal({ reference }: ReferenceHole): boolean {
  return reference.kind === 'local';
}

function isLink({ link }: HostReferenceHole): boolean {
  return link !== undefined && !(link instanceof FhirError);
}

/** The maximum size of a page, including the extra match that reveals a next page. */
function pageSizeOf({ controls, shape }: SearchEdge, { options: { limits, variables } }: Run): number {
  if (shape.kind === 'connection' && !shape.matches) return 0;
  const size = evaluate(controls._count, variables);
  return 1 + (typeof size === 'number' ? Math.min(size, limits.listSize) : limits.listSize);
}

function targetsOf(waiting: readonly Waiting<StoreEdge, SearchHole>[]): number {
  const names = new Set<string>();
  for (const { holes } of waiting) {
    for (const { target } of holes) if (target !== undefined) names.add(referenceTo(target.type, target.id));
  }
  return names.size;
}

/** Fills reads of one type with one store call for the distinct ids. Strings that cannot be ids are never requested. */
async function fillReads(waiting: readonly Waiting<ReadEdge, ReadHole>[], run: Run): Promise<void> {
  const { variables, store, trace } = run.options;
  const ids = [...new Set(waiting.map(({ edge }) => readId(edge, variables)).filter(isResourceId))];
  const keys = ids.length === 0 ? [] : keysOf(ids, waiting, run);
  const found = ids.length === 0 ? [] : await call(run, () => store.read(keys, run.deadline.options));
  const results = new Map(ids.map((id, index) => [id, found[index]!]));
  for (const { edge, holes } of waiting) {
    for (const { out } of holes) {
      try {
        if (run.isLookDue && run.pace.isSpent) await run.pace.next();
        const id = readId(edge, variables);
        const result = isResourceId(id) ? results.get(id)! : MISSING;
        if (result.status === 'gone') trace?.deleted(edge.type, id);
        if (result.status !== 'found') throw absence(result, { type: edge.type, id: id.slice(0, 64) });
        run.spendRows(1, edge.selection);
        out[edge.key] = projectResource(edge.selection, result.resource, run);
      } catch (error) {
        run.fail(out, edge, error);
      }
    }
  }
}

function keysOf(
  ids: readonly string[],
  waiting: readonly Waiting<ReadEdge, ReadHole>[],
  { options: { trace } }: Run,
): readonly GuardedKey[] {
  const { type } = waiting[0]!.edge;
  const selections = waiting.map(({ edge }) => edge.selection);
  const elements = trace === undefined ? elementsReadTogether(selections) : undefined;
  return ids.map((id) => ({ type, id, elements }));
}

const MISSING: ReadResult = Object.freeze({ status: 'missing' });

/**
 * The id argument of a read, not validated.
 *
 * @throws FhirError `invalid` - none or several
 */
export function readId({ id }: ReadEdge, variables: Variables): string {
  const text = evaluateSingleText('id', id, variables);
  if (text === undefined) throw new FhirError('invalid', 'Argument "id" must be given');
  return text;
}
