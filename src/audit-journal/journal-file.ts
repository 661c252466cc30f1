import {
  closeSync,
  constants,
  fdatasync,
  fstatSync,
  fsyncSync,
  ftruncateSync,
  futimesSync,
  openSync,
  readSync,
  renameSync,
  statSync,
  unlinkSync,
  writeSync,
} from 'node:fs';
import { dirname } from 'node:path';
import { promisify } from 'node:util';
import { crc32 } from 'node:zlib';
import { FhirError } from '../fhir/error.js';

const dataSync = promisify(fdatasync);

/** One file of a journal: lines are appended at its end and delivered from its start. */
export class JournalFile {
  /** Bytes that were delivered. */
  #delivered = 0;
  #isDamaged = false;
  #isTorn = false;
  /** Syncs that have not ended. */
  #syncs = 0;
  #isClosing = false;

  private constructor(
    private path: string,
    private readonly fd: number,
    private end: number,
    /** Another process may have ended in the middle of a line. */
    private readonly isLeft: boolean,
  ) {}

  /** Creates a file that only this user can read. */
  static create(path: string): JournalFile {
    const { O_APPEND, O_CREAT, O_EXCL, O_RDWR, O_NOFOLLOW = 0 } = constants;
    return new JournalFile(path, openSync(path, O_RDWR | O_APPEND | O_CREAT | O_EXCL | O_NOFOLLOW, 0o600), 0, false);
  }

  /** Opens a file that another process left. */
  static open(path: string): JournalFile {
    const { O_RDWR, O_NOFOLLOW = 0 } = constants;
    const fd = openSync(path, O_RDWR | O_NOFOLLOW);
    return new JournalFile(path, fd, fstatSync(fd).size, true);
  }

  /** Bytes that wait. */
  get waiting(): number {
    return this.end - this.#delivered;
  }

  get size(): number {
    return this.end;
  }

  /** A part of a line could not be taken back, so nothing may follow it. */
  get isTorn(): boolean {
    return this.#isTorn;
  }

  /** The file is still where it was: no other process has taken it. */
  get isOurs(): boolean {
    const { ino, dev } = fstatSync(this.fd);
    const there = statSync(this.path, { throwIfNoEntry: false });
    return there !== undefined && there.ino === ino && there.dev === dev;
  }

  /** Appends bytes, all or none. */
  append(bytes: Buffer): void {
    let written = 0;
    try {
      while (written < bytes.length) written += writeSync(this.fd, bytes, written);
    } catch (error) {
      this.#takeBack();
      throw error;
    }
    this.end += bytes.length;
  }

  /** Resolves when what was appended is on the disk. */
  async sync(): Promise<void> {
    this.#syncs += 1;
    try {
      await dataSync(this.fd);
    } finally {
      this.#syncs -= 1;
      if (this.#isClosing && this.#syncs === 0) closeSync(this.fd);
    }
  }

  /** Resolves its name, too: a power cut may otherwise take a new file with all that is in it. */
  syncFolder(): void {
    let folder: number | undefined;
    try {
      folder = openSync(dirname(this.path), constants.O_RDONLY);
      fsyncSync(folder);
    } catch {
      // Windows opens no folders.
    } finally {
      if (folder !== undefined) closeSync(folder);
    }
  }

  /** The lines that wait longest. The end of a line that its process did not finish is not one. */
  oldest(limit: number): ReadLines {
    for (let size = CHUNK; ; size *= 4) {
      const bytes = Buffer.allocUnsafe(Math.min(size, this.waiting));
      const length = readSync(this.fd, bytes, 0, bytes.length, this.#delivered);
      const { lines, damaged } = readLines(bytes.subarray(0, length), limit);
      if (lines.length === 0 && size < this.waiting) continue;
      const isLost = lines.length === 0 && this.waiting > 0 && !this.isLeft;
      if (damaged > 0 || isLost) this.#isDamaged = true;
      return { lines, damaged: isLost ? Math.max(1, damaged) : damaged };
    }
  }

  /** Counts bytes as delivered. A file that is empty then is made short, so that nothing is read twice. */
  drop(bytes: number): void {
    this.#delivered += bytes;
    if (this.waiting > 0 || this.#isDamaged) return;
    ftruncateSync(this.fd, 0);
    this.#delivered = this.end = 0;
  }

  /** Shows other processes that this one is at work. */
  touch(now: number): void {
    futimesSync(this.fd, now / 1000, now / 1000);
  }

  rename(path: string): void {
    renameSync(this.path, path);
    this.path = path;
  }

  /** @param sync have it on the disk before */
  close(sync: boolean): void {
    if (sync) fsyncSync(this.fd);
    this.#close();
  }

  /** A damaged file stays, under a name that no journal reads. */
  remove(): void {
    this.#close();
    if (this.#isDamaged) renameSync(this.path, `${this.path}.damaged`);
    else unlinkSync(this.path);
  }

  /** A sync needs its file until it ends: what it waits for may have been delivered before. */
  #close(): void {
    if (this.#syncs === 0) closeSync(this.fd);
    else this.#isClosing = true;
  }

  #takeBack(): void {
    try {
      ftruncateSync(this.fd, this.end);
    } catch {
      this.#isTorn = true;
    }
  }
}

/** Bytes read at once: two hundred short events. */
const CHUNK = 512 * 1024;

/** Texts read from a file, and how many of its bytes they took. */
interface ReadLines {
  readonly lines: readonly { readonly text: string; readonly bytes: number }[];
  /** Lines that are not as they were written, left out. */
  readonly damaged: number;
}

const SUM_LENGTH = 8;
const NEWLINE = 0x0a;

/**
 * A line per text: the CRC-32 of the text in hex, a space, the text.
 *
 * @throws FhirError `invalid` - a text with a line feed, which JSON never needs
 */
export function linesOf(texts: readonly string[]): Buffer {
  let joined = '';
  for (const text of texts) {
    if (typeof text !== 'string' || text.includes('\n'))
      throw new FhirError('invalid', 'A line is text without line feed');
    joined += `${crc32(text).toString(16).padStart(SUM_LENGTH, '0')} ${text}\n`;
  }
  return Buffer.from(joined);
}

/** The complete lines at the start of these bytes. The bytes of a damaged line count as those of the line after it. */
function readLines(bytes: Buffer, limit: number): ReadLines {
  const lines: { text: string; bytes: number }[] = [];
  let damaged = 0;
  let counted = 0;
  for (let start = 0; lines.length < limit;) {
    const end = bytes.indexOf(NEWLINE, start);
    if (end < 0) break;
    const text = bytes.toString('utf8', start + SUM_LENGTH + 1, end);
    const sum = bytes.toString('latin1', start, start + SUM_LENGTH);
    start = end + 1;
    if (sum === crc32(text).toString(16).padStart(SUM_LENGTH, '0')) {
      lines.push({ text, bytes: start - counted });
      counted = start;
    } else damaged += 1;
  }
  return { lines, damaged };
}
