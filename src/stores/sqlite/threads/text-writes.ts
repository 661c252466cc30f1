import { assertPutMatchesKey } from '../../../store/guards.js';
import { jsonText, parseJsonText } from '../../../store/json-text.js';
import { putResultOf } from '../../../store/put-result.js';
import { withVersion } from '../../../store/versioned.js';
import type { Change, Write, WriteResult } from '../../../store/store.js';
import { changeOf, type Committed } from '../../sql/commit-results.js';
import type { PreparedWrite } from '../prepared-write.js';
import type { TextWrite, WrittenRow } from './protocol.js';

/**
 * A write for a thread. PERF: a text is copied far faster than the object. It is the text that is stored where the
 * version is the first of its resource, so that a thread that imports makes none itself.
 *
 * @param index its position
 * @param instant of the commit, ISO 8601
 */
export function textWrite(write: Write, index: number, instant: string): TextWrite {
  switch (write.kind) {
    case 'put': {
      assertPutMatchesKey(write, index);
      const { key, resource, expect, unique } = write;
      return { kind: 'put', key, text: jsonText(withVersion(resource, '1', instant)), expect, unique };
    }
    case 'delete':
      return { kind: 'delete', key: write.key, expect: write.expect };
    case 'erase':
    case 'assert-no-match':
      return write;
  }
}

/** The write, in the thread. */
export function readWrite(write: TextWrite): PreparedWrite {
  if (write.kind !== 'put') return write;
  const { kind, key, text, expect, unique } = write;
  const resource = parseJsonText(text);
  return { kind, key, resource, expect, unique, firstText: text };
}

export function writtenRow(result: WriteResult): WrittenRow {
  if (result.kind === 'put') return [result.created, result.versionId, result.lastUpdated];
  if (result.kind === 'erase') return [result.versionId, result.versions];
  return result.kind === 'delete' ? [result.versionId] : [];
}

/** The effects of a commit by a thread. */
export function committedOf(writes: readonly TextWrite[], rows: readonly WrittenRow[]): Committed {
  const changes: Change[] = [];
  const results = writes.map((write, index): WriteResult => {
    switch (write.kind) {
      case 'put': {
        const [created, versionId, lastUpdated] = rows[index] as readonly [boolean, string, string];
        changes.push(changeOf('put', write.key, { versionId }));
        const stamp = { created, versionId, lastUpdated };
        return putResultOf(stamp, () => withVersion(parseJsonText(write.text), versionId, lastUpdated));
      }
      case 'delete': {
        const [versionId] = rows[index] as readonly [string | null];
        if (versionId !== null) changes.push(changeOf('delete', write.key, { versionId }));
        return { kind: 'delete', versionId };
      }
      case 'erase': {
        const [versionId, removed] = rows[index] as readonly [string | null, number];
        if (removed > 0) changes.push(changeOf('erase', write.key, { versionId: versionId! }));
        return { kind: 'erase', versionId, versions: removed };
      }
      case 'assert-no-match':
        return { kind: 'assert-no-match' };
    }
  });
  return { results, changes };
}
