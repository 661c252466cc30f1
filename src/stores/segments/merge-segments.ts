import { compareTexts } from '../../platform/texts.js';
import type { Ask } from '../ask.js';
import { type BuiltSegment, isKnown, type KnownParameters, SegmentWriter } from './build-segment.js';
import type { SegmentPort } from './port.js';
import { type RunPart, SIZES } from './run-format.js';
import type { RunBuilder } from './run-builder.js';
import { forAll } from './evaluation.js';
import { type Run, Segment } from './segment.js';
import { LoadedRows, SegmentCache, withRows } from './segment-rows.js';

/**
 * Makes one segment of the live resources of several, from their own rows. It is equal to a segment that is built from
 * the index entries of these resources. Pauses between blocks.
 */
export function* mergeSegments(segments: readonly Segment[]): Ask<SegmentPort, BuiltSegment> {
  const { rows: shared } = segments[0]!;
  const headers = yield* withRows(shared, () => forAll(segments, (segment) => segment.header));
  const ids: (readonly string[])[] = [];
  for (const segment of segments) ids.push(yield* idsOf(segment));
  const knows = commonTo(headers.map((header) => header.knows));
  const sorted = segments
    .flatMap(({ live }, index) => live.positions().map((position) => ids[index]![position]!))
    .sort(compareTexts);
  yield;
  const moved = segments.map(({ size, live }, index) => {
    const places = new Int32Array(size).fill(-1);
    let place = 0;
    for (const position of live.positions()) {
      while (sorted[place] !== ids[index]![position]) place++;
      places[position] = place;
    }
    return places;
  });
  const writer = new SegmentWriter(sorted.length, knows, sorted);
  const names = new Set(headers.flatMap(({ runs }) => runs));
  for (const name of [...names].sort()) {
    if (!isKnown(name, knows)) continue;
    for (const [index, { id, size, live, rows }] of segments.entries()) {
      // Rows of one run at a time.
      const segment = new Segment(id, size, live, new LoadedRows(new SegmentCache(0), rows.built));
      const run = yield* withRows(segment.rows, () => segment.run(name));
      if (run !== undefined) yield* feed(run, writer.run(name, run.kind, run.directory.isPair), moved[index]!);
    }
  }
  return yield* writer.finish();
}

/** All ids of a segment, with pauses. */
function* idsOf(segment: Segment): Ask<SegmentPort, readonly string[]> {
  yield* withRows(segment.rows, () => segment.noteIds());
  for (let position = 0; position < segment.size; position += SIZES.ids) {
    yield;
    segment.idAt(position);
  }
  return segment.ids();
}

/** What all segments know. */
function commonTo([first, ...others]: readonly KnownParameters[]): KnownParameters {
  const common = Object.entries(first!).filter(([code, print]) =>
    others.every((one) => Object.hasOwn(one, code) && one[code] === print),
  );
  return Object.fromEntries(common);
}

/** Adds the entries of a run at the new positions of their resources. */
function* feed(run: Run, builder: RunBuilder, moved: Int32Array): Ask<SegmentPort, void> {
  const { present, unordered, partial } = run.directory;
  for (const position of present.positions()) {
    const place = moved[position]!;
    if (place < 0) continue;
    builder.present.add(place);
    if (!unordered.has(position)) builder.ordered.add(place);
    if (partial.has(position) || run.kind !== builder.kind) builder.partial.add(place);
  }
  if (run.kind !== builder.kind) return;
  for (const [part, own] of run.directory.parts.entries()) {
    for (let block = 0; block * SIZES.block < own.size; block++) {
      yield* withRows(run.segment.rows, () => {
        run.notePositions(part, block * SIZES.block);
        run.noteValues(part, block);
        run.positions(part, block * SIZES.block);
        run.values(part, block);
      });
      feedBlock(run, part, own, block, builder, moved);
    }
  }
}

function feedBlock(run: Run, part: number, own: RunPart, block: number, builder: RunBuilder, moved: Int32Array): void {
  const { size, lows, highs, texts, ends, qualifiers } = run.values(part, block);
  const { positions, marks } = run.positions(part, block * SIZES.block);
  const start = (block * SIZES.block) % SIZES.row;
  let text = 0;
  for (let index = 0; index < size; index++) {
    while (ends[text]! <= index) text++;
    const place = moved[positions[start + index]!]!;
    if (place < 0) continue;
    const qualifier = own.qualifier ?? run.directory.qualifiers[qualifiers![index]!]!;
    const mark = marks[start + index]!;
    if (lows.length > 0) builder.add(place, qualifier, lows[index]!, highs[index]!, mark);
    else builder.add(place, qualifier, texts[text]!, 0, mark);
  }
}
