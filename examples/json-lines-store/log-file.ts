import { closeSync, fsyncSync, ftruncateSync, openSync, readFileSync, writeSync } from 'node:fs';
import { type AnyResource, FhirError } from 'fhirgraph';
import { parseJson, stringifyJson } from 'fhirgraph/store';

/** One version of one resource, as it stands in the log. */
export interface LoggedVersion {
  readonly project: string;
  readonly type: string;
  readonly id: string;
  readonly versionId: string;
  /** Milliseconds since 1970. */
  readonly updated: number;
  /** Left out: the version is a deletion. */
  readonly resource?: AnyResource;
  readonly unique?: readonly string[];
}

/** A file with one line per commit: the versions it made. A line counts once its end is there. */
export class LogFile {
  readonly #file: number;
  #length: number;

  /** @param replay gets every commit there is, oldest first */
  constructor(path: string, replay: (commit: readonly LoggedVersion[]) => void) {
    this.#file = openSync(path, 'a+');
    const bytes = readFileSync(this.#file);
    // What stands behind the last line end was being written when the process died: nobody was told that it is kept.
    this.#length = bytes.lastIndexOf(LINE_END) + 1;
    ftruncateSync(this.#file, this.#length);
    for (const line of bytes.toString('utf8', 0, this.#length).split('\n')) {
      if (line !== '') replay(parseCommit(line));
    }
  }

  /**
   * Adds a commit. When it returns, the commit is on disk.
   *
   * @throws FhirError `unavailable` - it could not be written; nothing of it is kept
   */
  append(commit: readonly LoggedVersion[]): void {
    const bytes = Buffer.from(`${stringifyJson(commit)}\n`);
    try {
      for (let written = 0; written < bytes.length;) written += writeSync(this.#file, bytes, written);
      fsyncSync(this.#file);
    } catch (cause) {
      ftruncateSync(this.#file, this.#length);
      throw new FhirError('unavailable', 'The log cannot be written', { cause });
    }
    this.#length += bytes.length;
  }

  close(): void {
    closeSync(this.#file);
  }
}

const LINE_END = 0x0a;

function parseCommit(line: string): readonly LoggedVersion[] {
  try {
    return parseJson(line) as readonly LoggedVersion[];
  } catch (cause) {
    throw new FhirError('corrupt', 'A line of the log is not JSON', { cause });
  }
}
