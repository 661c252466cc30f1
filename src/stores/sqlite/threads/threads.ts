import type { FhirModel } from '../../../fhir/model/fhir-model.js';
import { LongPace } from '../../../platform/pace.js';
import type { CallOptions } from '../../../store/call-options.js';
import type { Write } from '../../../store/write.js';
import type { LongCommitted } from '../../sql/commit-results.js';
import { isLoad } from '../commit/commit.js';
import { CHECKPOINT_PAGES } from '../database/configure.js';
import type { OpenedFile } from '../database/database-file.js';
import { driverBase } from '../database/driver.js';
import { madeAhead } from './made-ahead.js';
import { type NewThreadData, ThreadPool } from './pool.js';
import type { SentWrite, WritePart, WrittenRow } from './protocol.js';
import { committedOf, partOf } from './text-writes.js';
import { THREAD_TUNING } from '../database/tuning.js';
import { type WorkArguments, type WorkName, type WorkResult, WRITING } from './work.js';

/** What threads over a file are made with. */
interface ThreadsConfig {
  readonly file: string;
  readonly opened: OpenedFile | undefined;
  readonly model: FhirModel;
  /** Extraction needs the FHIRPath library. */
  readonly needsFhirPath: boolean;
  /** Most threads that read. */
  readonly readers: number;
  readonly synchronous: 'full' | 'normal' | 'off';
  readonly busyTimeout: number;
}

/** The threads of a store: some that read, and one that writes. */
export class Threads {
  readonly #readers: ThreadPool;
  readonly #writer: ThreadPool;
  readonly #model: FhirModel;
  #pagesSinceCheckpoint = 0;
  /** Pages that may still have to be carried to the database when the store closes. */
  #pagesInLog = 0;

  constructor({ file, opened, model, needsFhirPath, readers, synchronous, busyTimeout }: ThreadsConfig) {
    const data = (writes: ThreadsConfig['synchronous'] | undefined): ReturnType<NewThreadData> => {
      const base = driverBase();
      return { base, file, opened, definitions: model.definitions, needsFhirPath, busyTimeout, writes };
    };
    this.#readers = new ThreadPool(program, () => data(undefined), readers);
    this.#writer = new ThreadPool(program, () => data(synchronous), 1);
    this.#model = model;
  }

  /** A thread that reads is there, or starts. */
  get hasReader(): boolean {
    return this.#readers.hasThread;
  }

  /** The thread that writes has the lock of writers, or is about to take it. */
  get isWriting(): boolean {
    return this.#writer.isBusy;
  }

  /** Does the work of a call. @throws NoThreads */
  async run<Name extends WorkName>(
    name: Name,
    args: WorkArguments<Name>,
    options: CallOptions | undefined,
  ): Promise<WorkResult<Name>> {
    const pool = WRITING.has(name) ? this.#writer : this.#readers;
    const result = await pool.run<WorkResult<Name>>({ kind: name, args }, options);
    // Numbers of names may have changed where their tables were damaged.
    if (name === 'reindex') await this.#readers.renew();
    return result;
  }

  /** @param now milliseconds since 1970 @throws NoThreads */
  async commit(writes: readonly Write[], now: number, options: CallOptions | undefined): Promise<LongCommitted> {
    let sent: SentWrite[] = [];
    // A thread that died before it committed is sent everything again, while the parts for it may still be under way.
    const make = (): AsyncGenerator<WritePart> => this.#partsOf(writes, now, (sent = []));
    this.#pagesInLog += PAGES_PER_COMMIT + PAGES_PER_WRITE * writes.length;
    const parts = this.#writer.isBusy ? madeAhead(make) : make;
    const rows = await this.#writer.run<readonly WrittenRow[]>({ kind: 'commit', now }, options, parts);
    return committedOf(sent, rows, new Date(now).toISOString());
  }

  /** Runs work in the event loop before the thread that writes takes its next task. */
  betweenWrites(work: () => void): void {
    this.#writer.between(work);
  }

  /** Has the log carried to the database after commits in the event loop, when it has grown. */
  noteCommit(writes: number): void {
    this.#pagesInLog += PAGES_PER_COMMIT + PAGES_PER_WRITE * writes;
    this.#pagesSinceCheckpoint += PAGES_PER_COMMIT + PAGES_PER_WRITE * writes;
    if (this.#pagesSinceCheckpoint < CHECKPOINT_PAGES) return;
    this.#pagesSinceCheckpoint = 0;
    // SQLite itself does it later, in the event loop.
    this.#writer.run({ kind: 'checkpoint', args: [] }, undefined).catch(() => undefined);
  }

  async close(): Promise<void> {
    await Promise.all([this.#readers.close(), this.#closeWriter()]);
  }

  /** Ends the threads when their tasks are done. */
  async retire(): Promise<void> {
    await Promise.all([this.#readers.retire(), this.#writer.retire()]);
  }

  /** The last connection carries the rest of the log to the database, in the event loop. So a thread does it before. */
  async #closeWriter(): Promise<void> {
    if (this.#pagesInLog >= MANY_PAGES) {
      await this.#writer.run({ kind: 'checkpoint', args: [] }, undefined).catch(() => undefined);
    }
    await this.#writer.close();
  }

  async *#partsOf(writes: readonly Write[], now: number, sent: SentWrite[]): AsyncGenerator<WritePart> {
    const commit = { now, load: isLoad(writes) };
    const pace = new LongPace();
    while (sent.length < writes.length) {
      if (pace.isSpent) await pace.next();
      const { length: start } = sent;
      // A resource may take as long as a thousand others.
      const isEnough = (): boolean => pace.isSpent;
      const part = partOf(this.#model, writes.slice(start, start + THREAD_TUNING.slice), start, commit, isEnough);
      sent.push(...part.writes);
      yield part;
    }
  }
}

/** Pages that a commit and a write of it change, about. */
const PAGES_PER_COMMIT = 10;
const PAGES_PER_WRITE = 8;

/** Carrying these takes some milliseconds. */
const MANY_PAGES = 500;

/** It is neither loaded nor unpacked before the first thread starts. */
async function program(): Promise<string> {
  const { packed } = await import('./thread-text.js');
  const { brotliDecompressSync } = await import('node:zlib');
  return brotliDecompressSync(Buffer.from(packed, 'base64')).toString();
}
