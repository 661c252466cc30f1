/**
 * One call on one resource, as a caller saw it. Versions count from 1, including deletions; 0 means never written. `start` and
 * `end` are from one clock for all callers.
 */
export type Operation = { readonly key: string; readonly start: number; readonly end: number } & (
  | { readonly kind: 'read'; readonly version: number; readonly value: string | null }
  /** An acknowledged write. `expected` is the version that it named, if any. A null `value` is a deletion. */
  | {
      readonly kind: 'write';
      readonly version: number;
      readonly value: string | null;
      readonly expected?: number | undefined;
    }
);

/**
 * Whether some sequential order of the calls on each resource explains the observations of every caller. A resource that
 * numbers its versions allows only one order: writes in the order of their versions, and each read after the write
 * of the version that it saw. It remains to check that versions have no gaps and no duplicates, that values and expectations
 * fit, and that no call that began after another had ended saw an older version.
 *
 * @returns one line per contradiction
 */
export function contradictionsOf(operations: readonly Operation[]): readonly string[] {
  return [...Map.groupBy(operations, ({ key }) => key)].flatMap(([key, list]) =>
    contradictionsOfOne(list).map((line) => `${key}: ${line}`),
  );
}

function contradictionsOfOne(operations: readonly Operation[]): string[] {
  const lines: string[] = [];
  const written = new Map<number, Operation>();
  for (const operation of operations) {
    if (operation.kind !== 'write') continue;
    if (written.has(operation.version)) lines.push(`version ${operation.version} was written twice`);
    written.set(operation.version, operation);
    if (operation.expected !== undefined && operation.expected !== operation.version - 1) {
      lines.push(`version ${operation.version} was written on version ${operation.expected}`);
    }
  }
  for (let version = 1; version <= written.size; version++) {
    if (!written.has(version)) lines.push(`version ${version} was written by nobody`);
  }
  for (const { kind, version, value } of operations) {
    if (kind !== 'read') continue;
    const source = version === 0 ? null : written.get(version)?.value;
    if (source !== value) lines.push(`version ${version} was read as something else than it was written as`);
  }
  return [...lines, ...ordersBroken(operations)];
}

/** Calls in the order of their start, with the newest version that any call had seen that ended before. */
function ordersBroken(operations: readonly Operation[]): string[] {
  const lines: string[] = [];
  const ended = operations.toSorted((one, other) => one.end - other.end);
  let [next, newest] = [0, 0];
  for (const operation of operations.toSorted((one, other) => one.start - other.start)) {
    while (next < ended.length && ended[next]!.end < operation.start) newest = Math.max(newest, ended[next++]!.version);
    const least = operation.kind === 'read' ? newest : newest + 1;
    if (operation.version < least) {
      lines.push(`a ${operation.kind} came to version ${operation.version} after version ${newest} had been seen`);
    }
  }
  return lines;
}
