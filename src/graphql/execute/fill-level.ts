import type { Edge, ReadEdge, ReferenceEdge, SearchEdge } from '../plan/plan.js';
import { fillReads } from './fill-reads.js';
import { fillReferences } from './fill-references.js';
import { fillSearches } from './fill-searches.js';
import { questionOf } from './question-of.js';
import { tooManyCalls, type Hole, type ReadHole, type ReferenceHole, type Run, type SearchHole } from './run.js';
import type { Waiting } from './waiting.js';

/**
 * Fills the holes of one level of the response, with parallel calls. Edges with the same question share a call.
 *
 * @throws LimitError `storeCalls` - checked before the first call
 */
export function fillLevel(level: ReadonlyMap<Edge, readonly Hole[]>, run: Run): readonly Promise<void>[] {
  const groups = groupByQuestion(level, run);
  const certain = groups.filter(
    ([{ edge }]) => edge.kind === 'read' || (edge.kind === 'search' && edge.reverse === undefined),
  );
  const { limits } = run.options;
  if (run.storeCalls + certain.length > limits.storeCalls) throw tooManyCalls(limits);
  return groups.map((waiting) => fillGroup(waiting, run));
}

type Group = readonly [Waiting<Edge, Hole>, ...Waiting<Edge, Hole>[]];

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

async function fillGroup(waiting: Group, run: Run): Promise<void> {
  try {
    switch (waiting[0].edge.kind) {
      case 'read':
        return await fillReads(waiting as readonly Waiting<ReadEdge, ReadHole>[], run);
      case 'search':
        return await fillSearches(waiting as readonly Waiting<SearchEdge, SearchHole>[], run);
      case 'reference':
        return await fillReferences(waiting as readonly Waiting<ReferenceEdge, ReferenceHole>[], run);
    }
  } catch (error) {
    for (const { edge, holes } of waiting) for (const { out } of holes) run.fail(out, edge, error);
  }
}
