import { randomUUID } from 'node:crypto';
import type { FhirModel } from '../../../../fhir/model/fhir-model.js';
import { isCurrent, type RowScope, rowScope } from '../../../sql/rows.js';
import { listBytes } from '../../../sql/skip/key-bytes.js';
import type { KeySet } from '../../../sql/skip/key-set.js';
import { sql, type Sql } from '../../../sql/sql.js';
import { arrayText } from '../../rows/array.js';
import { postgresDialect } from '../../rows/dialect.js';
import type { Runner } from '../../rows/meta.js';
import { LayerBuilder } from './layer-build.js';
import { layerGroupRows } from './layer-groups.js';
import { createMadeRows, type Replaced } from '../build/made-rows.js';
import { numberResources, writeKeys } from '../build/numbered-resources.js';
import { textOf } from '../format/number-texts.js';
import { RowWriter } from '../build/row-writer.js';
import type { SkippedType } from '../build/skip-build.js';
import type { SkipCache } from '../read/skip-cache.js';
import { SkipIndex } from '../read/skip-index.js';
import {
  HEADER,
  IDS,
  KEYS_IN_ROW,
  REPLACED,
  SETS,
  SKIP_TUNING,
  type SkipHeader,
  type SkipLayer,
} from '../../rows/skip-row.js';
import { ofType, SkipStates } from '../read/skip-state.js';

/**
 * Makes a layer of the resources written since, and merges layers that are not much larger into it. So a resource is
 * rewritten only a few times, each time with several times as many others. Runs inside a transaction that sees one
 * consistent state.
 *
 * @returns the rows that the made ones replace. Undefined if all must be rebuilt: there is no valid skip index, or layers have
 * become large
 */
export async function addLayer(
  runner: Runner,
  model: FhirModel,
  { project, type, epoch }: SkippedType,
  cache: SkipCache,
): Promise<Replaced | undefined> {
  const run = (statement: Sql): ReturnType<Runner['run']> => runner.run(statement);
  const scope = rowScope({ project, dialect: postgresDialect(model) }, type);
  const { header } = await new SkipStates(project, epoch, run).of(type);
  if (header === undefined) return undefined;
  const of = ofType(project, type);
  const written = await writtenKeys(runner, of);
  const kept = keptLayers(header, written.length / KEY_BYTES);
  if (kept === undefined) return undefined;
  const below = await SkipIndex.of({ ...header, layers: kept }, 0, scope, run, cache);
  const first = Math.ceil(below.size / KEYS_IN_ROW) * KEYS_IN_ROW;
  const mark = `+${randomUUID()} `;
  const absorbed = header.layers.slice(kept.length);
  const replaced = await replacedNumbers(header, absorbed, below, written, { scope, runner, cache });
  const size = await numberResources(runner, resourcesOf(scope, of, first), first);
  const layer: SkipLayer = { mark, first, size };
  await createMadeRows(runner);
  await writeKeys(runner, scope, layer);
  const writer = new RowWriter(runner, { project, type }, mark);
  await writer.add({ sort: SETS, subject: IDS, value: REPLACED, data: textOf(listBytes(replaced.keys(), 0)) });
  const left = below.all.copy().subtract(replaced);
  for await (const row of new LayerBuilder({ runner, scope, below, left, layer, divides: true }).rows())
    await writer.add(row);
  for await (const row of layerGroupRows(runner, scope)) await writer.add(row);
  await writer.flush();
  const changed: SkipHeader = { ...header, layers: [...kept, layer] };
  const whole = new RowWriter(runner, { project, type });
  await whole.add({ sort: SETS, subject: IDS, value: HEADER, data: JSON.stringify(changed) });
  await whole.flush();
  const marks = arrayText(absorbed.map((one) => one.mark));
  return {
    rows: sql`(s.sort = ${SETS}::bigint AND s.subject = ${IDS}::bigint AND s.value = ${HEADER}
      OR s.value LIKE '+%' AND split_part(s.value, ' ', 1) || ' ' = ANY (${marks}::text[]))`,
    keys: sql`s.first >= ${first}::int`,
  };
}

/** The keys of the resources written since, one after the other. */
async function writtenKeys(runner: Runner, of: Sql): Promise<Buffer> {
  const [[text]] = (await runner.run(sql`SELECT encode(string_agg(uuid_send(w.resource), ''), 'base64')
    FROM (SELECT DISTINCT s.resource FROM fhirgraph_skip_written s WHERE ${of}) w`)) as [[string | null]];
  return Buffer.from(text ?? '', 'base64');
}

const KEY_BYTES = 16;

/** The layers that stay as they are. Undefined if all must be rebuilt. */
function keptLayers({ layers, size }: SkipHeader, written: number): readonly SkipLayer[] | undefined {
  const { layerGrowth, maxLayered } = SKIP_TUNING;
  let kept = layers.length;
  let total = written;
  while (kept > 0 && layers[kept - 1]!.size < layerGrowth * total) total += layers[--kept]!.size;
  const layered = layers.slice(0, kept).reduce((sum, one) => sum + one.size, total);
  return layered > maxLayered * size ? undefined : layers.slice(0, kept);
}

/** The numbers of lower layers that no longer count: those of resources written since, and those that absorbed layers replaced. */
async function replacedNumbers(
  header: SkipHeader,
  absorbed: readonly SkipLayer[],
  below: SkipIndex,
  written: Buffer,
  { scope, runner, cache }: { readonly scope: RowScope; readonly runner: Runner; readonly cache: SkipCache },
): Promise<KeySet> {
  const replaced = below.emptySet();
  for (const number of await below.placesOf(written)) replaced.add(number);
  if (absorbed.length > 0) {
    const whole = await SkipIndex.of(header, 0, scope, (statement) => runner.run(statement), cache);
    for (const number of below.all.copy().keys()) if (!whole.all.has(number)) replaced.add(number);
  }
  return replaced.intersect(below.all);
}

/** The resources of a layer: those written since, and those of the absorbed layers. */
function resourcesOf(scope: RowScope, of: Sql, first: number): Sql {
  const keys = sql`SELECT s.resource AS key FROM fhirgraph_skip_written s WHERE ${of}
    UNION SELECT unnest(s.keys) FROM fhirgraph_skip_key s WHERE ${of} AND s.first >= ${first}::int`;
  return sql`SELECT l.key, l.shape FROM (${keys}) w CROSS JOIN LATERAL (SELECT z.key, z.shape FROM resource z
    WHERE z.key = w.key AND ${isCurrent({ ...scope, row: sql`z` })} OFFSET 0) l`;
}
