import type { GuardedKey } from '../../access/contract.js';
import { isResourceId } from '../../fhir/resource.js';
import type { ReadResult } from '../../store/stored-resource.js';
import type { ReadEdge } from '../plan/plan.js';
import { absence } from '../../interactions/missing.js';
import { call, type ReadHole, type Run, type Waiting } from './run.js';
import { elementsReadTogether } from './read-elements.js';
import { projectResource } from './project.js';
import { FhirError } from '../../fhir/error.js';
import { evaluateSingleText, type Variables } from '../plan/arguments.js';

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
