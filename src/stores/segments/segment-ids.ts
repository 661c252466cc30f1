import { ByteReader, ByteWriter } from './bytes.js';
import { readAfter, SIZES, writeAfter } from './run-format.js';
import type { RowSink } from './run-builder.js';

// The ids of a segment in ascending order: the row `ids.3` has those from position 3 * 512 on.

export function idsName(block: number): string {
  return `ids.${block}`;
}

/** @param ids in ascending order, each once */
export function* writeIds(ids: readonly string[], rows: RowSink): Generator<undefined, void> {
  for (let from = 0; from < ids.length; from += SIZES.ids) {
    yield;
    rows.set(idsName(from / SIZES.ids), idsBytes(ids.slice(from, from + SIZES.ids)));
  }
}

function idsBytes(ids: readonly string[]): Uint8Array {
  const writer = new ByteWriter();
  const isPacked = ids.every((id) => UUID.test(id));
  writer.byte(isPacked ? 1 : 0);
  writer.varint(ids.length);
  let before = '';
  for (const id of ids) {
    if (isPacked) writer.raw(Buffer.from(id.replaceAll('-', ''), 'hex'));
    else writeAfter(writer, before, id);
    before = id;
  }
  return writer.finish();
}

/** Sixteen bytes hold it. */
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

export function readIds(bytes: Uint8Array): readonly string[] {
  const reader = new ByteReader(bytes);
  const isPacked = reader.byte() === 1;
  let before = '';
  return Array.from({ length: reader.varint() }, () => {
    before = isPacked ? uuid(reader.raw(16).toString('hex')) : readAfter(reader, before);
    return before;
  });
}

function uuid(hex: string): string {
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}
