import type { GuardedKey } from '../../access/contract.js';
import { isResourceId } from '../../fhir/resource.js';
import type { NowOrLater } from '../../platform/ready.js';
import type { ReadResult } from '../../store/stored-resource.js';
import type { ReadEdge } from '../plan/plan.js';
import { absence } from '../../interactions/missing.js';
import { call } from './call.js';
import { elementsReadTogether } from './read-elements.js';
import { readId } from './read-id.js';
import { projectResource } from './project.js';
import type { Output, ReadHole } from './holes.js';
import type { Run } from './run.js';
import type { Waiting } from './waiting.js';

/** Fills reads of one type with one store call for the distinct ids. Strings that cannot be ids are never requested. */
export function fillReads(waiting: readonly Waiting<ReadEdge, ReadHole>[], run: Run): NowOrLater<void> {
  const { variables, store } = run.options;
  const ids = [...new Set(waiting.map(({ edge }) => readId(edge, variables)).filter(isResourceId))];
  const keys = ids.length === 0 ? [] : keysOf(ids, waiting, run);
  const places = waiting.flatMap(({ edge, holes }) => holes.map(({ out }): Place => ({ edge, out })));
  const fill = (found: readonly ReadResult[]): NowOrLater<void> =>
    fillPlaces(places, new Map(ids.map((id, index) => [id, found[index]!])), run);
  const found = ids.length === 0 ? [] : call(run, () => store.read(keys, run.deadline.options));
  return found instanceof Promise ? found.then(fill) : fill(found);
}

/** The field of an object that a read fills. */
interface Place {
  readonly edge: ReadEdge;
  readonly out: Output;
}

/** @param first the position to start from, after a pause */
function fillPlaces(
  places: readonly Place[],
  results: ReadonlyMap<string, ReadResult>,
  run: Run,
  first = 0,
): NowOrLater<void> {
  for (let index = first; index < places.length; index++) {
    if (run.isLookDue && run.pace.isSpent) {
      return run.pace.next().then(() => fillPlaces(places, results, run, index));
    }
    const { edge, out } = places[index]!;
    try {
      const id = readId(edge, run.options.variables);
      const result = isResourceId(id) ? results.get(id)! : MISSING;
      if (result.status === 'gone') run.options.trace?.deleted(edge.type, id);
      if (result.status !== 'found') throw absence(result, { type: edge.type, id: id.slice(0, 64) });
      run.spendRows(1, edge.selection);
      out[edge.key] = projectResource(edge.selection, result.resource, run);
    } catch (error) {
      run.fail(out, edge, error);
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
