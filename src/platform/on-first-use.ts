import { nextTurn } from './timers.js';

/**
 * Code that a process loads on first use.
 *
 * Other work runs after loading: modules take tens of milliseconds to load, and about as long to run for the first
 * time. If loading fails, the next use tries again.
 *
 * @example
 * const loadWriting = onFirstUse(() => import('./write.js'));
 */
export function onFirstUse<Module>(load: () => Promise<Module>): () => Promise<Module> {
  let loading: Promise<Module> | undefined;
  const start = async (): Promise<Module> => {
    try {
      const loaded = await load();
      await nextTurn();
      return loaded;
    } catch (error) {
      loading = undefined;
      throw error;
    }
  };
  return () => (loading ??= start());
}
