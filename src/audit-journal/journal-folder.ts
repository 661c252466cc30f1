import { createHash, randomBytes } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, readlinkSync, statSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { threadId } from 'node:worker_threads';
import { JournalFile } from './journal-file.js';

/** How long a file that nobody touches is left to its process, in milliseconds. Only tests change it. */
const ABANDONED = { afterMs: 60_000 };

/**
 * The folder of a journal. Each process appends to files of its own, with the process in their names:
 *
 * ```text
 * 20261122T050000123-9f86d081.a1b2c3d4e5f6-4711-0.journal    time, random number, owner
 * ```
 *
 * What an ended process left is taken over by renaming, which only one process can do.
 */
export class JournalFolder {
  readonly #held = new Set<string>();

  constructor(private readonly path: string) {
    mkdirSync(path, { recursive: true, mode: 0o700 });
  }

  create(): JournalFile {
    const name = newName();
    const file = JournalFile.create(join(this.path, name));
    this.#held.add(name);
    HERE.add(name);
    return file;
  }

  /** Takes over the files of processes that have ended, the oldest first. */
  takeOver(): JournalFile[] {
    const taken: JournalFile[] = [];
    for (const name of readdirSync(this.path).sort()) {
      const file = this.#take(name);
      if (file !== undefined) taken.push(file);
    }
    return taken;
  }

  /** The files that this process held are anybody's. */
  release(): void {
    for (const name of this.#held) HERE.delete(name);
  }

  #take(name: string): JournalFile | undefined {
    const [, start, text = ''] = NAME.exec(name) ?? [];
    const owner = parseOwner(text);
    if (owner === undefined || HERE.has(name)) return undefined;
    const path = join(this.path, name);
    const ended = hasEnded(owner);
    try {
      if (!ended && !isAbandoned(path)) return undefined;
      const file = JournalFile.open(path);
      try {
        if (file.isOurs && this.#rename(file, name, start!, ended)) return file;
      } catch {
        // Another process was faster.
      }
      file.close(false);
    } catch {
      // It is gone, or not a file.
    }
    return undefined;
  }

  #rename(file: JournalFile, name: string, start: string, ended: boolean): boolean {
    const own = `${start}.${ownerText(ownOwner())}.journal`;
    const path = join(this.path, own);
    HERE.add(own);
    this.#held.add(own);
    file.rename(path);
    // Its process may have come back in between: it touches a file before it looks whether the file is still there.
    if (!ended && !isAbandoned(path)) {
      file.rename(join(this.path, name));
      HERE.delete(own);
      this.#held.delete(own);
      return false;
    }
    file.touch(Date.now());
    return true;
  }
}

function isAbandoned(path: string): boolean {
  return Date.now() - statSync(path).mtimeMs > ABANDONED.afterMs;
}

const NAME = /^(\d{8}T\d{9}-[0-9a-f]{8})\.([0-9a-f-]+)\.journal$/;

function newName(): string {
  const time = new Date().toISOString().slice(0, 23).replaceAll(/[-:.]/g, '');
  return `${time}-${randomBytes(4).toString('hex')}.${ownerText(ownOwner())}.journal`;
}

const REGISTRY = Symbol.for('fhirgraph.audit-journals');

/** The files that this thread holds; all copies of the package share it. */
const HERE: Set<string> = ((globalThis as { [REGISTRY]?: Set<string> })[REGISTRY] ??= new Set());

/** The process and thread that a file of a journal belongs to, as its name says. */
interface Owner {
  /** Where process ids have the same meaning: a boot of a machine, a container. */
  readonly place: string;
  readonly process: number;
  readonly thread: number;
}

let own: Owner | undefined;

export function ownOwner(): Owner {
  own ??= { place: placeOf(), process: process.pid, thread: threadId };
  return own;
}

export function ownerText({ place, process, thread }: Owner): string {
  return `${place}-${process}-${thread}`;
}

/** @returns undefined for a text that {@link ownerText} does not give */
function parseOwner(text: string): Owner | undefined {
  const [, place, process, thread] = /^([0-9a-f]{12})-(\d{1,10})-(\d{1,10})$/.exec(text) ?? [];
  return place === undefined ? undefined : { place, process: Number(process), thread: Number(thread) };
}

/** True if this owner has certainly ended; false if this process cannot know. */
function hasEnded({ place, process: id, thread }: Owner): boolean {
  const here = ownOwner();
  if (place !== here.place) return false;
  if (id === here.process) return thread === here.thread;
  try {
    process.kill(id, 0);
    return false;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ESRCH';
  }
}

function placeOf(): string {
  const parts = [hostname(), attempt(() => readFileSync(BOOT_ID, 'utf8')), attempt(() => readlinkSync(PID_NAMESPACE))];
  return createHash('sha256').update(parts.join('\n')).digest('hex').slice(0, 12);
}

/** Linux alone has them. */
const BOOT_ID = '/proc/sys/kernel/random/boot_id';
const PID_NAMESPACE = '/proc/self/ns/pid';

function attempt(read: () => string): string {
  try {
    return read();
  } catch {
    return '';
  }
}
