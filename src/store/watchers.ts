import { getOrCreate } from '../platform/collections.js';
import { warn } from '../platform/runtime.js';

/** The listeners to changes of projects. */
export class Watchers {
  readonly #projects = new Map<string, Watched>();

  /** @returns a function that stops the listener. The same function may listen twice. */
  watch(project: string, listener: () => void): () => void {
    const watched = getOrCreate(this.#projects, project, () => new Watched());
    const own = { notify: listener };
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
  notify(projects: Iterable<string>): void {
    if (this.hasAny) for (const project of projects) this.#projects.get(project)?.notify();
  }

  /** The same for all projects. */
  notifyAll(): void {
    this.notify([...this.#projects.keys()]);
  }
}

class Watched {
  readonly listeners = new Set<{ readonly notify: () => void }>();
  #isQuiet = true;
  #isDue = false;

  notify(): void {
    this.#isDue = true;
    if (this.#isQuiet) this.#call();
  }

  #call(): void {
    this.#isQuiet = !this.#isDue;
    if (this.#isQuiet) return;
    this.#isDue = false;
    const timer: unknown = setTimeout(() => this.#call(), COALESCED_MS);
    // Browsers have numbers, and no process to hold.
    (timer as { unref?(): unknown }).unref?.();
    for (const { notify } of [...this.listeners]) {
      try {
        notify();
      } catch (error) {
        // The commit is done, and the other listeners are still called.
        warn(error, 'FHIRGRAPH_LISTENER');
      }
    }
  }
}

/** A bulk import wakes its readers so often. */
const COALESCED_MS = 50;
