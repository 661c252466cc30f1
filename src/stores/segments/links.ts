import type { Matches } from './matches.js';
import { forTexts, startingWith } from './run-matches.js';
import { SIZES } from './run-format.js';
import type { Run, Segment } from './segment.js';
import type { SegmentCache } from './segment-rows.js';

/**
 * The references of a run to the resources of another segment: for each text of a reference, in the order of the run,
 * its first and last entry and the position of its target. Both segments never change, so neither does this.
 */
interface Links {
  readonly parts: Uint16Array;
  readonly from: Uint32Array;
  readonly to: Uint32Array;
  readonly targets: Uint16Array;
}

export function linksTo(run: Run, type: string, target: Segment, cache: SegmentCache): Links {
  const name = `links ${JSON.stringify([run.segment.id, run.name, target.id, type])}`;
  let links = cache.get(name) as Links | undefined;
  if (links === undefined) {
    links = joined(run, type, target);
    cache.set(name, links, links.from.length * BYTES_PER_LINK + 100);
  }
  return links;
}

const BYTES_PER_LINK = 12;

/** Ids and references have the same order, so one pass over both finds all pairs. */
function joined(run: Run, type: string, target: Segment): Links {
  const ids = target.ids();
  const found: (readonly [part: number, from: number, to: number, target: number])[] = [];
  const start = `${type}/`;
  for (let part = 0; part < run.directory.parts.length; part++) {
    let position = 0;
    forTexts(run, part, startingWith(start), (text, from, to) => {
      const id = text.slice(start.length);
      while (position < ids.length && ids[position]! < id) position++;
      if (ids[position] === id) found.push([part, from, to, position]);
    });
  }
  return {
    parts: Uint16Array.from(found, ([part]) => part),
    from: Uint32Array.from(found, ([, from]) => from),
    to: Uint32Array.from(found, ([, , to]) => to),
    targets: Uint16Array.from(found, ([, , , position]) => position),
  };
}

/** Adds the resources that refer to a target that matches. */
export function addReferring(run: Run, { parts, from, to, targets }: Links, matching: Matches, into: Matches): void {
  for (let index = 0; index < targets.length; index++) {
    const target = targets[index]!;
    const verdict = verdictOf(matching, target);
    if (verdict !== undefined) run.addEntries(parts[index]!, from[index]!, to[index]!, into[verdict]);
  }
}

/** Adds the targets that a resource that matches refers to. */
export function addReferred(run: Run, { parts, from, to, targets }: Links, matching: Matches, into: Matches): void {
  for (let index = 0; index < targets.length; index++) {
    const target = targets[index]!;
    for (let entry = from[index]!; entry < to[index]! && !into.sure.has(target);) {
      // A type has hundreds of thousands of references.
      const { positions } = run.positions(parts[index]!, entry);
      const start = entry % SIZES.row;
      const end = Math.min(positions.length, start + to[index]! - entry);
      for (let place = start; place < end; place++) {
        const verdict = verdictOf(matching, positions[place]!);
        if (verdict !== undefined) into[verdict].add(target);
        if (verdict === 'sure') break;
      }
      entry += end - start;
    }
  }
}

function verdictOf({ sure, unsure }: Matches, position: number): 'sure' | 'unsure' | undefined {
  if (sure.has(position)) return 'sure';
  return unsure.has(position) ? 'unsure' : undefined;
}
