import type { GuardedKey } from '../../access/contract.js';
import { isResourceId } from '../../fhir/resource.js';
import type { ReadResult } from '../../store/stored-resource.js';
import type { ReadEdge } from '../plan/plan.js';
import { absence } from '../../interactions/missing.js';
import { call } from './call.js';
import { elementsReadTogether } from './read-elements.js';
import { readId } from './read-id.js';
import { projectResource } from './project.js';
import type { ReadHole } from './holes.js';
import type { Run } from './run.js';
import type { Waiting } from './waiting.js';

/** Fills reads of one type with one store call for the distinct ids. Strings that cannot be ids are never requested. */
export async function fillReads(waiting: readonly Waiting<ReadEdge, ReadHole>[], run: Run): Promise<void> {
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
