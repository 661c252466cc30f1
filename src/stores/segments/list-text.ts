import type { ListedSegment, SegmentList } from './port.js';

/** A list as it is stored: JSON, with the sets of dead positions as base64. */
export function listText({ segments, ...list }: SegmentList): string {
  return JSON.stringify({
    ...list,
    segments: segments.map((one) => ({ ...one, dead: Buffer.from(one.dead).toString('base64') })),
  });
}

/** The list of a text of {@link listText}. */
export function listOf(text: string): SegmentList {
  const list = JSON.parse(text) as SegmentList;
  const segments = list.segments as readonly (Omit<ListedSegment, 'dead'> & { readonly dead: unknown })[];
  return {
    ...list,
    segments: segments.map((one) => ({ ...one, dead: new Uint8Array(Buffer.from(one.dead as string, 'base64')) })),
  };
}
