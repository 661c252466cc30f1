import type { ResourceStore } from '../store/store.js';
import type { Terminology } from '../store/terminology.js';
import { withTerminology } from '../store/with-terminology.js';
import { observeLike } from '../telemetry/with-telemetry.js';

/**
 * The store of a service with the terminology of its configuration: the same view for the same store each time, so that
 * a handler can compare its store with the service's.
 */
export function serviceStore(store: ResourceStore, terminology: Terminology | undefined): ResourceStore {
  if (terminology === undefined || store.terminology === terminology) return store;
  const views = VIEWS.get(store) ?? new WeakMap<Terminology, ResourceStore>();
  VIEWS.set(store, views);
  const known = views.get(terminology);
  if (known !== undefined) return known;
  const view = withTerminology(store, terminology);
  observeLike(view, store);
  views.set(terminology, view);
  return view;
}

const VIEWS = new WeakMap<ResourceStore, WeakMap<Terminology, ResourceStore>>();
