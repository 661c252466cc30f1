import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { expect } from 'vitest';
import { SqliteStore } from '../../../src/sqlite.js';
import { below, createRandom, keyOf, queryOf } from '../kit.js';
import { LOADER } from '../load-typescript.js';
import type { Tally } from '../long-report.js';
import { MARKED_TYPES, type MarkedWrite, markedResource, type WriterLine } from './transactions.js';

/** Options of the trials of one file. */
export interface CrashOptions {
  readonly file: string;
  readonly kills: number;
  readonly seed: number;
  readonly tally: Tally;
}

/**
 * Lets writers write to one file and kills each at a random moment. After each kill the file must have every acknowledged
 * commit, complete, and at most the commit in progress in addition.
 *
 * @returns the number of acknowledged commits, and the number of additional commits that were found
 */
export async function runCrashTrials({ file, kills, seed, tally }: CrashOptions): Promise<{
  readonly acknowledged: number;
  readonly beyond: number;
}> {
  const random = createRandom(seed);
  const model = new Model();
  let [acknowledged, beyond] = [0, 0];
  for (let kill = 1; kill <= kills; kill++) {
    await tally.trial(async () => {
      // One in six is killed while it opens the file, so the state of the last writer is recovered twice.
      const moment: KillMoment =
        random() < 1 / 6
          ? { kind: 'opening', count: 1, milliseconds: random() * 150 }
          : { kind: 'try', count: 1 + below(25, random), milliseconds: random() * 30 };
      const lines = await runAndKill(file, `w${kill}`, below(2 ** 31, random), moment);
      tally.addFaults();
      const { pending, commits } = model.apply(lines);
      acknowledged += commits;
      const store = new SqliteStore(file);
      try {
        if (await model.adopt(store, pending)) beyond += 1;
        await assertHolds(store, model);
      } catch (error) {
        throw new Error(`After kill ${kill} of seed ${seed}`, { cause: error });
      } finally {
        await store.close();
      }
    });
  }
  return { acknowledged, beyond };
}

/**
 * The same with writers that run out of space: each starts where the previous writer was refused, with a little more space.
 *
 * @returns the number of acknowledged commits, and of refused commits
 */
export async function runFullDiskTrials(
  file: string,
  { rounds, seed, tally }: { readonly rounds: number; readonly seed: number; readonly tally: Tally },
): Promise<{ readonly acknowledged: number; readonly refused: number }> {
  const random = createRandom(seed);
  const model = new Model();
  let [acknowledged, refused] = [0, 0];
  for (let round = 1; round <= rounds; round++) {
    await tally.trial(async () => {
      const kilobytes = 600 + round * 150 + below(150, random);
      const lines = await runUntilFull(file, `f${round}`, below(2 ** 31, random), kilobytes);
      const failures = lines.filter(({ kind }) => kind === 'failed').length;
      expect(failures).toBe(3);
      tally.addFaults(failures);
      refused += failures;
      const { pending, commits } = model.apply(lines);
      acknowledged += commits;
      const store = new SqliteStore(file);
      try {
        expect(await model.adopt(store, pending)).toBe(false);
        await assertHolds(store, model);
      } catch (error) {
        throw new Error(`After round ${round} of seed ${seed}`, { cause: error });
      } finally {
        await store.close();
      }
    });
  }
  return { acknowledged, refused };
}

/** This long after so many lines of a kind. */
interface KillMoment {
  readonly kind: WriterLine['kind'];
  readonly count: number;
  readonly milliseconds: number;
}

/** @returns the messages of the writer before it died */
export async function runAndKill(
  file: string,
  name: string,
  seed: number,
  moment: KillMoment,
): Promise<readonly WriterLine[]> {
  const child = spawn(process.execPath, [...WRITER, file, name, String(seed)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let { count } = moment;
  const { lines, signal } = await listen(child, (line) => {
    if (line.kind === moment.kind && --count === 0) setTimeout(() => child.kill('SIGKILL'), moment.milliseconds);
  });
  expect(signal).toBe('SIGKILL');
  return lines;
}

/**
 * Lets a writer write until the file or its log has reached a size that the system does not allow.
 *
 * @param kilobytes the largest file that it can create
 */
async function runUntilFull(
  file: string,
  name: string,
  seed: number,
  kilobytes: number,
): Promise<readonly WriterLine[]> {
  const command = `ulimit -f ${kilobytes}; exec "$@"`;
  const child = spawn('bash', ['-c', command, 'bash', process.execPath, ...WRITER, file, name, String(seed)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const { lines, signal } = await listen(child, () => undefined);
  expect(signal).toBe(null);
  return lines;
}

async function listen(
  child: ChildProcessByStdio<null, Readable, null>,
  onLine: (line: WriterLine) => void,
): Promise<{ readonly lines: readonly WriterLine[]; readonly signal: NodeJS.Signals | null }> {
  const ended = new Promise<NodeJS.Signals | null>((resolve) => child.once('close', (_, signal) => resolve(signal)));
  const lines: WriterLine[] = [];
  for await (const text of createInterface({ input: child.stdout })) {
    // The last line can be cut off.
    const line = parsed(text);
    if (line === undefined) continue;
    lines.push(line);
    onLine(line);
  }
  return { lines, signal: await ended };
}

function parsed(text: string): WriterLine | undefined {
  try {
    return JSON.parse(text) as WriterLine;
  } catch {
    return undefined;
  }
}

const WRITER = ['--import', LOADER, fileURLToPath(new URL('writer.ts', import.meta.url))];

/** The required contents of the file. */
class Model {
  /** Newest version and mark by `Type/id`. */
  readonly current = new Map<string, { readonly write: MarkedWrite; readonly version: number }>();
  /** Every version ever acknowledged. */
  readonly versions: { readonly write: MarkedWrite; readonly version: number }[] = [];

  /** Includes a message of a writer. @returns the commit that it did not live to acknowledge */
  apply(lines: readonly WriterLine[]): {
    readonly pending: readonly MarkedWrite[] | undefined;
    readonly commits: number;
  } {
    let pending: readonly MarkedWrite[] | undefined;
    let commits = 0;
    for (const line of lines) {
      if (line.kind === 'try') pending = line.writes;
      if (line.kind === 'failed') expect(line.code).toBe('unavailable');
      if (line.kind !== 'done') continue;
      const versions = this.#add(pending!);
      expect(line.versions).toEqual(versions.map(String));
      pending = undefined;
      commits += 1;
    }
    return { pending, commits };
  }

  /** Includes the commit in progress if its ledger is in the file. @returns whether it is */
  async adopt(store: SqliteStore, pending: readonly MarkedWrite[] | undefined): Promise<boolean> {
    if (pending === undefined) return false;
    const [ledger] = await store.read([keyOf('Patient', 'ledger')]);
    const version = ledger?.status === 'found' ? Number(ledger.versionId) : 0;
    if (version === (this.current.get('Patient/ledger')?.version ?? 0)) return false;
    this.#add(pending);
    return true;
  }

  #add(writes: readonly MarkedWrite[]): readonly number[] {
    return writes.map((write) => {
      const name = `${write.type}/${write.id}`;
      const entry = { write, version: (this.current.get(name)?.version ?? 0) + 1 };
      this.current.set(name, entry);
      this.versions.push(entry);
      return entry.version;
    });
  }
}

async function assertHolds(store: SqliteStore, model: Model): Promise<void> {
  for (const type of MARKED_TYPES) {
    const { matches } = await store.search(queryOf(type));
    const found = matches.map(({ resource }) => withoutMeta(resource));
    const wanted = [...model.current.values()]
      .filter(({ write }) => write.type === type && write.mark !== null)
      .sort((one, other) => (one.write.id < other.write.id ? -1 : 1))
      .map(({ write }) => markedResource(write));
    expect(found).toEqual(wanted);
  }
  const states = await store.read(
    model.versions.map(({ write, version }) => ({ ...keyOf(write.type, write.id), version: String(version) })),
  );
  states.forEach((state, index) => {
    const { write, version } = model.versions[index]!;
    if (write.mark === null) expect(state).toMatchObject({ status: 'gone', versionId: String(version) });
    else expect(state.status === 'found' && withoutMeta(state.resource)).toEqual(markedResource(write));
  });
  const total = [...model.current.values()].filter(({ write }) => write.mark !== null).length;
  expect(await store.verify()).toEqual({ resources: total, problems: [] });
}

function withoutMeta(resource: object): object {
  const { meta: _meta, ...rest } = resource as { meta?: unknown };
  return rest;
}
