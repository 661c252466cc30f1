import type { Container } from '../../fhir/container.js';
import type { InlineResourceField, ObjectField } from '../plan/plan.js';
import type { Writer } from './edge-writers.js';
import { areTestedInTurns, keptItems, keptItemsInTurns } from './kept-items.js';
import { memberOf } from './member.js';
import type { Output } from './holes.js';
import type { Run } from './run.js';

type ItemWriter = (item: unknown, index: number, out: Output, container: Container, run: Run) => Output | null;

/** Writes a list of objects: the items that remain after the arguments and directives of the field. */
export function compileItems(field: ObjectField | InlineResourceField, write: ItemWriter): Writer {
  const { key, name } = field;
  const { get } = memberOf(name);
  const { set } = memberOf(key);
  const isPlain = field.filter === undefined && field.shaping === undefined;
  return (source, out, container, run) => {
    const value = get(source);
    if (isPlain && (value === undefined || Array.isArray(value))) {
      set(out, value === undefined ? null : writeAll(value, write, out, container, run));
      return;
    }
    if (areTestedInTurns(field, value, run)) {
      // The key keeps its place in the answer.
      out[key] = null;
      run.longLists.push(() => fillLongList(field, value, write, out, container, run));
      return;
    }
    const items = keptItems(field, value, out, container, run);
    if (items === null) return;
    set(out, writeAll(items, write, out, container, run));
  };
}

function writeAll(
  items: readonly unknown[],
  write: ItemWriter,
  out: Output,
  container: Container,
  run: Run,
): readonly (Output | null)[] {
  const written = new Array<Output | null>(items.length);
  for (let index = 0; index < items.length; index += 1) {
    written[index] = write(items[index], index, out, container, run);
  }
  return written;
}

async function fillLongList(
  field: ObjectField | InlineResourceField,
  value: readonly unknown[],
  write: ItemWriter,
  out: Output,
  container: Container,
  run: Run,
): Promise<void> {
  const items = await keptItemsInTurns(field, value, out, container, run);
  if (items === null) return;
  const list: unknown[] = [];
  out[field.key] = list;
  for (const [index, item] of items.entries()) {
    if (run.isLookDue && run.pace.isSpent) await run.pace.next();
    list.push(write(item, index, out, container, run));
  }
}
