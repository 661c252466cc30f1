import type { Caller } from '../access/caller.js';
import type { GuardedKey } from '../access/contract.js';
import { FhirError } from '../fhir/error.js';
import { type Page, type PageLink, pageOf } from '../fhir/page-links.js';
import { referenceTo } from '../fhir/reference.js';
import { cursorText, foreignCursor, isCount, readCursor } from '../interactions/pages/cursor-text.js';
import type { HistoryEntry } from '../store/history.js';
import type { HistoryEdge } from './history-window.js';
import type { VersionsPage } from './repository.js';

/** A page of the history of a resource, with positions among its versions, newest first. */
export interface FoundHistoryPage {
  readonly versions: readonly HistoryEntry[];
  /** The version before the oldest one of the page. */
  readonly next: HistoryEntry | undefined;
  /** The position of the first version of the page. */
  readonly start: number;
  /** The positions that the history is about: from `first` up to `last`, which is not one of them. */
  readonly first: number;
  readonly last: number;
  /** The number of all versions. */
  readonly total: number;
  /** True if the page ended early, since its versions are large. */
  readonly isCut: boolean;
}

/** The page of a history that `_count`, `_offset` and `_cursor` ask for, and links to the pages beside it. */
export class HistoryPaging {
  readonly page: Page;
  readonly edge: HistoryEdge | undefined;
  readonly #asked: VersionsPage;
  readonly #address: string;
  readonly #caller: Caller;

  /**
   * @throws FhirError `invalid` - no whole numbers, a cursor that is not from a link of this history, or one beside an offset
   * @throws FhirError `too-costly` - a page of more than 1000
   */
  constructor({ type, id }: GuardedKey, asked: VersionsPage, caller: Caller) {
    const { cursor, offset, since, at } = asked;
    this.page = pageOf(asked);
    this.#asked = asked;
    this.#caller = caller;
    const parameters = new URLSearchParams({
      ...(since === undefined ? {} : { _since: since }),
      ...(at === undefined ? {} : { _at: at }),
    }).toString();
    this.#address = `${referenceTo(type, id)}/_history?${parameters === '' ? '' : `${parameters}&`}`;
    if (cursor !== undefined && offset !== undefined) {
      throw new FhirError('invalid', '"_cursor" and "_offset" cannot be combined');
    }
    this.edge = cursor === undefined ? undefined : this.#read(cursor);
  }

  links(found: FoundHistoryPage, baseUrl: string | undefined): PageLink[] {
    const { versions, start, first, last, total } = found;
    const { count, offset } = this.page;
    const { cursor } = this.#asked;
    const url = (place: string): string =>
      `${baseUrl === undefined ? '' : `${baseUrl}/`}${this.#address}_count=${count}${place}`;
    const at = (position: number): string => (position <= 0 ? '' : `&_offset=${position}`);
    const beside = (side: HistoryEdge['side'], version: HistoryEntry, position: number): string => {
      const content = [VERSION, side, version.lastUpdated, Math.max(0, total - position - 1)];
      return `&_cursor=${cursorText(content, this.#caller, this.#address)}`;
    };
    const links: PageLink[] = [
      { relation: 'self', url: url(cursor === undefined ? at(offset) : `&_cursor=${cursor}`) },
    ];
    if (count === 0) return links;
    const end = start + versions.length;
    const [newest] = versions;
    const oldest = versions.at(-1);
    if (start > first) {
      const place = newest === undefined ? at(Math.min(start, last) - first - count) : beside('before', newest, start);
      links.push({ relation: 'previous', url: url(place) });
    }
    if (oldest !== undefined && end < last) {
      links.push({ relation: 'next', url: url(beside('after', oldest, end - 1)) });
    }
    return links;
  }

  #read(cursor: string): HistoryEdge {
    const content = readCursor(cursor, this.#caller, this.#address);
    if (!Array.isArray(content) || content.length !== 4 || content[0] !== VERSION) throw foreignCursor();
    const [, side, text, older] = content as unknown[];
    const instant = typeof text === 'string' ? Date.parse(text) : NaN;
    if ((side !== 'after' && side !== 'before') || Number.isNaN(instant) || !isCount(older)) throw foreignCursor();
    return { side, instant, older };
  }
}

/** Increases when the meaning of the content changes. */
const VERSION = 1;
