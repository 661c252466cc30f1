import type { ExtractResource, ResourceType } from '@medplum/fhirtypes';
import { versionView } from '../access/read/version-view.js';
import { FhirError } from '../fhir/error.js';
import { sameJsonText } from '../fhir/json/copy-json.js';
import { withoutOwnMeta } from '../fhir/own-extensions.js';
import type { AnyResource, Stored } from '../fhir/resource.js';
import { withoutVersion } from '../live/live-event.js';
import { liveItems, positionsOf } from '../live/live-items.js';
import { LiveStream } from '../live/live-stream.js';
import { eitherSignal } from '../platform/runtime.js';
import { requireResourceType } from '../search/parse/parse-context.js';
import type { OpenRepository } from './open-repository.js';
import type { ResourceEvent, SubscribeOptions } from './repository.js';
import { auditedParameters, readSearch, type RepositorySearch } from './search-query.js';

/** Follows a search. @throws FhirError as `Repository.subscribe` */
export function subscribe<Type extends ResourceType>(
  { context, interact, copy }: OpenRepository,
  type: Type,
  query: RepositorySearch,
  { after, signal }: SubscribeOptions,
): AsyncGenerator<ResourceEvent<Stored<ExtractResource<Type>>>, undefined, undefined> {
  const { store, caller, limits, extendedMeta = false } = context;
  requireResourceType(store.model, type);
  const { criteria } = readFollowed(type, query, context);
  const stream = new LiveStream({
    ...{ store, caller, after, limits },
    view: versionView(store.model, caller, { type, criteria }),
    shows: `whole ${extendedMeta}`,
    differs: (known, current) => !sameJsonText(visible(known, extendedMeta), visible(current, extendedMeta)),
    signal: eitherSignal(signal, context.signal),
  });
  return liveItems<ResourceEvent<never>>(stream, {
    show: (batch) =>
      interact('search', { type }, async (facts, session) => {
        facts.parameters = auditedParameters(store.model, type, query);
        facts.results = batch.events.length;
        const positions = positionsOf(batch.events, batch);
        return batch.events.map(({ event, id, resource, stored }, index) => {
          const position = positions[index]!;
          if (resource === undefined) return { event, id, position };
          session.trace?.origins.set(resource, stored!);
          session.trace?.show(resource);
          return { event, id, resource: copy(resource) as never, position };
        });
      }),
  });
}

/** @throws FhirError `invalid`, `unsupported` - a search that cannot be followed */
function readFollowed(
  type: string,
  query: RepositorySearch,
  { store }: OpenRepository['context'],
): ReturnType<typeof readSearch>['request'] {
  const { request, includes, subset } = readSearch(store.model, type, query);
  const { sort, count, offset, total, summaryCount } = request;
  const pages = { _sort: sort, _count: count, _offset: offset, _total: total, _summary: summaryCount };
  const given = [...Object.entries(pages), ['_include', includes[0]], ['_elements', subset]] as const;
  const refused = given.find(([, value]) => value !== undefined)?.[0];
  if (refused === undefined) return request;
  throw new FhirError(
    'unsupported',
    `A subscription takes no "${refused}": it follows whole resources, without order and pages`,
  );
}

/** What counts as a difference. */
function visible(resource: AnyResource, extendedMeta: boolean): object {
  return withoutVersion(extendedMeta ? resource : withoutOwnMeta(resource));
}
