import { createHash } from 'node:crypto';
import { readFileSync, readlinkSync } from 'node:fs';
import { hostname } from 'node:os';
import { threadId } from 'node:worker_threads';

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
export function parseOwner(text: string): Owner | undefined {
  const [, place, process, thread] = /^([0-9a-f]{12})-(\d{1,10})-(\d{1,10})$/.exec(text) ?? [];
  return place === undefined ? undefined : { place, process: Number(process), thread: Number(thread) };
}

/** True if this owner has certainly ended; false if this process cannot know. */
export function hasEnded({ place, process: id, thread }: Owner): boolean {
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
