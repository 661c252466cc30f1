import { getOrCreate } from '../platform/collections.js';
import { warn } from '../platform/runtime.js';

/** The listeners to news of projects. */
export class Watchers {
  readonly #projects = new Map<string, Watched>();

  /** @returns a function that stops the listener. The same function may listen twice. */
  watch(project: string, listener: () => void): () => void {
    const watched = getOrCreate(this.#projects, project, () => new Watched());
    const own = { tell: listener };
    watched.listeners.add(own);
    return () => {
      watched.listeners.delete(own);
      if (watched.listeners.size === 0 && this.#projects.get(project) === watched) this.#projects.delete(project);
    };
  }

  /** True if somebody watches. */
  get hasAny(): boolean {
    return this.#projects.size > 0;
  }

  /** Calls the listeners of these projects: at once, or as soon as 50 ms have passed since their last call. */
  tell(projects: Iterable<string>): void {
    if (this.hasAny) for (const project of projects) this.#projects.get(project)?.tell();
  }

  /** The same for all projects. */
  tellAll(): void {
    this.tell([...this.#projects.keys()]);
  }
}

class Watched {
  readonly listeners = new Set<{ readonly tell: () => void }>();
  #isQuiet = true;
  #hasNews = false;

  tell(): void {
    this.#hasNews = true;
    if (this.#isQuiet) this.#pass();
  }

  #pass(): void {
    this.#isQuiet = !this.#hasNews;
    if (this.#isQuiet) return;
    this.#hasNews = false;
    const timer: unknown = setTimeout(() => this.#pass(), COALESCED_MS);
    // Browsers have numbers, and no process to hold.
    (timer as { unref?(): unknown }).unref?.();
    for (const { tell } of [...this.listeners]) {
      try {
        tell();
      } catch (error) {
        // The commit is done, and the other listeners are still told.
        warn(error, 'FHIRGRAPH_LISTENER');
      }
    }
  }
}

/** A bulk import wakes its readers so often. */
const COALESCED_MS = 50;
