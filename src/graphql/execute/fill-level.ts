import type {
  Edge,
  HostEdge,
  HostReferenceEdge,
  ReadEdge,
  ReferenceEdge,
  SearchEdge,
  StoreEdge,
} from '../plan/plan.js';
import { boundsOf, type CallBounds } from './call-bounds.js';
import { fillHostFields } from './host/fill-host-fields.js';
import { failHostReference, fillHostReferences } from './host/fill-host-references.js';
import { fillReads } from './fill-reads.js';
import { fillReferences } from './fill-references.js';
import { fillSearches } from './fill-searches.js';
import { questionOf } from './question-of.js';
import type { Hole, HostHole, HostReferenceHole, ReadHole, ReferenceHole, SearchHole } from './holes.js';
import { tooManyCalls } from './spending.js';
import type { Run } from './run.js';
import type { Waiting } from './waiting.js';

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
    // PERF: most levels have one edge, which needs no comparison.
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
