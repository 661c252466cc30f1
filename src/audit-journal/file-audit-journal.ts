import type { AuditJournal } from '../audit/log/delivery.js';
import { FhirError } from '../fhir/error.js';
import { assertWholeNumber } from '../fhir/whole-number.js';
import { warn } from '../platform/runtime.js';
import { type JournalFile, linesOf } from './journal-file.js';
import { JournalFolder } from './journal-folder.js';

/** How a `FileAuditJournal` behaves. */
export interface FileAuditJournalOptions {
  /**
   * What an append waits for. Events that were appended always survive the end of the process, `kill -9` included.
   *
   * - `always`, the default: until the disk has them (one `fdatasync` for all events that arrived during the previous
   *   one). They survive a power cut.
   * - `interval`: only until the operating system has them, about 5 µs. The disk has them within `syncEvery`, so a
   *   power cut loses at most the events of that interval.
   * - `never`: the same, and the operating system decides when the disk has them.
   */
  readonly sync?: 'always' | 'interval' | 'never' | undefined;
  /** How often `interval` syncs the disk, in milliseconds. Default 1,000. */
  readonly syncEvery?: number | undefined;
  /**
   * Maximum bytes of events that wait for the store; further events are refused. Default 1 GiB, about 600,000 events.
   */
  readonly maxBytes?: number | undefined;
  /** Bytes after which a new file begins. Delivered files are removed. Default 16 MiB. */
  readonly fileBytes?: number | undefined;
}

/**
 * A journal for `createAuditLog`, in files of a folder: a line per event, appended. Several processes of a host may
 * share the folder; each has files of its own, and takes over the undelivered events of ended processes. Only the user
 * of the process can read the files.
 *
 * @example
 * const journal = new FileAuditJournal('audit-journal', { sync: 'interval' });
 * const log = createAuditLog({ store, journal });
 */
export class FileAuditJournal implements AuditJournal {
  /** Appends return at once, so the log does not gather records for them. */
  readonly isImmediate: boolean;
  readonly #folder: JournalFolder;
  readonly #maxBytes: number;
  readonly #fileBytes: number;
  readonly #syncs: boolean;
  /** The oldest first. */
  readonly #files: JournalFile[];
  /** The one that is appended to. */
  #active: JournalFile | undefined;
  readonly #unsynced = new Set<JournalFile>();
  /** What was read last: the lengths of its lines in bytes. */
  #read: { readonly file: JournalFile; readonly lines: readonly number[] } | undefined;
  /** When this process last made sure that its files are its own. Milliseconds since 1970. */
  #assured = Date.now();
  readonly #timers: readonly NodeJS.Timeout[];
  #isClosed = false;

  /**
   * @param folder its path; the folder is made if need be
   * @throws FhirError `invalid` - an option
   * @throws FhirError `unavailable` - the folder cannot be made or read
   */
  constructor(folder: string, options: FileAuditJournalOptions = {}) {
    const { sync = 'always', syncEvery = 1000, maxBytes = 1024 ** 3, fileBytes = 16 * 1024 ** 2 } = options;
    if (!['always', 'interval', 'never'].includes(sync)) {
      throw new FhirError('invalid', `sync must be always, interval or never, not ${String(sync)}`);
    }
    assertWholeNumber('syncEvery', syncEvery, 1);
    assertWholeNumber('maxBytes', maxBytes, 1);
    assertWholeNumber('fileBytes', fileBytes, 1);
    this.#maxBytes = maxBytes;
    this.#fileBytes = fileBytes;
    this.#syncs = sync !== 'never';
    this.isImmediate = sync !== 'always';
    try {
      this.#folder = new JournalFolder(folder);
      this.#files = this.#folder.takeOver();
    } catch (error) {
      throw unavailable(error);
    }
    this.#timers = [
      setInterval(() => this.#tend(), TEND_MS),
      ...(sync === 'interval' ? [setInterval(() => void this.#sync(), syncEvery)] : []),
    ];
    for (const timer of this.#timers) timer.unref();
  }

  /**
   * Appends events as JSON text, all or none.
   *
   * @throws FhirError `unavailable` - the journal or its disk is full, or it is closed
   */
  append(texts: readonly string[]): void | Promise<void> {
    const bytes = linesOf(texts);
    const file = this.#answer(() => {
      const waiting = this.#files.reduce((sum, one) => sum + one.waiting, 0);
      if (waiting + bytes.length > this.#maxBytes) {
        throw new FhirError('unavailable', 'The journal of the audit log is full');
      }
      return this.#appendTo(bytes);
    });
    if (this.isImmediate) this.#unsynced.add(file);
    else return this.#durable(file);
  }

  /** The oldest events, in the order in which they were appended. */
  oldest(limit: number): readonly string[] {
    return this.#answer(() => {
      for (let file = this.#files[0]; file !== undefined; file = this.#files[0]) {
        const { lines, damaged } = file.oldest(limit);
        if (damaged > 0) warn(new FhirError('corrupt', DAMAGED), 'FHIRGRAPH_AUDIT');
        if (lines.length > 0) {
          this.#read = { file, lines: lines.map(({ bytes }) => bytes) };
          return lines.map(({ text }) => text);
        }
        if (file === this.#active && file.waiting === 0) break;
        this.#discard(file);
      }
      return [];
    });
  }

  /** Removes the oldest events. */
  drop(count: number): void {
    this.#answer(() => {
      for (let left = count; left > 0;) {
        if (this.#read === undefined && this.oldest(left).length === 0) return;
        const { file, lines } = this.#read!;
        this.#read = lines.length > left ? { file, lines: lines.slice(left) } : undefined;
        const dropped = lines.slice(0, left);
        left -= dropped.length;
        // Another process may have taken the file over since.
        if (!this.#files.includes(file)) continue;
        file.drop(dropped.reduce((sum, bytes) => sum + bytes, 0));
        if (file.waiting === 0 && file !== this.#active) this.#discard(file);
      }
    });
  }

  /** Closes the files. Their events stay, for the next journal over the folder. Closing twice is allowed. */
  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    for (const timer of this.#timers) clearInterval(timer);
    for (const file of this.#files) {
      if (file.waiting === 0) file.remove();
      else file.close(this.#unsynced.has(file));
    }
    this.#folder.release();
  }

  #appendTo(bytes: Buffer): JournalFile {
    this.#assure();
    const file = this.#ownFile();
    file.append(bytes);
    // A process that slept in between may have lost the file before it wrote to it.
    if (!this.#assure() && !this.#files.includes(file)) return this.#appendTo(bytes);
    return file;
  }

  #ownFile(): JournalFile {
    const active = this.#active;
    if (active !== undefined && !active.isTorn && active.size < this.#fileBytes) return active;
    const file = this.#folder.create();
    if (this.#syncs) file.syncFolder();
    this.#files.push(file);
    this.#active = file;
    if (active?.waiting === 0) this.#discard(active);
    return file;
  }

  async #durable(file: JournalFile): Promise<void> {
    try {
      await file.sync();
    } catch (error) {
      // What a failed sync left on the disk is unknown, and a second one would not say so.
      if (this.#active === file) this.#active = undefined;
      throw unavailable(error);
    }
  }

  async #sync(): Promise<void> {
    const files = [...this.#unsynced];
    this.#unsynced.clear();
    for (const file of files) {
      await file.sync().catch((error: unknown) => {
        if (this.#files.includes(file) && !this.#isClosed) warn(error, 'FHIRGRAPH_AUDIT');
      });
    }
  }

  /** @returns false if time had passed in which another process may have taken the files */
  #assure(): boolean {
    const now = Date.now();
    if (Math.abs(now - this.#assured) < ASSURED_MS) return true;
    this.#touch(now);
    return false;
  }

  /** Others see that this process is at work. Only after that it looks whether its files are still there. */
  #touch(now: number): void {
    this.#assured = now;
    for (const file of [...this.#files]) {
      file.touch(now);
      if (file.isOurs) continue;
      this.#forget(file);
      file.close(false);
    }
  }

  #tend(): void {
    try {
      this.#touch(Date.now());
      const taken = this.#folder.takeOver();
      this.#files.unshift(...taken);
    } catch (error) {
      warn(error, 'FHIRGRAPH_AUDIT');
    }
  }

  #discard(file: JournalFile): void {
    this.#forget(file);
    file.remove();
  }

  #forget(file: JournalFile): void {
    this.#files.splice(this.#files.indexOf(file), 1);
    this.#unsynced.delete(file);
    if (this.#active === file) this.#active = undefined;
  }

  #answer<Result>(work: () => Result): Result {
    if (this.#isClosed) throw new FhirError('unavailable', 'The journal of the audit log is closed');
    try {
      return work();
    } catch (error) {
      throw unavailable(error);
    }
  }
}

const DAMAGED = 'Lines in the journal of the audit log are damaged; the file is kept with the end .damaged';

/** How often a process says that it is at work, and after which time it looks whether it was thought to have ended. */
const TEND_MS = 10_000;
const ASSURED_MS = 30_000;

function unavailable(error: unknown): FhirError {
  if (error instanceof FhirError) return error;
  return new FhirError('unavailable', 'The journal of the audit log cannot be written or read', { cause: error });
}
