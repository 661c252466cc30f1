import type { Bundle } from '@medplum/fhirtypes';
import { tracedBy } from '../access/access-trace.js';
import type { MemberCaller } from '../access/caller.js';
import { guardStore } from '../access/guarded-store.js';
import { audited } from '../access/operation.js';
import type { VersionView } from '../access/read/version-view.js';
import { narrowCaller, standingOf, termsOf } from '../access/sign-in/session.js';
import { mayChangeUnnoticed, signIn, timeLeft } from '../access/sign-in/sign-in.js';
import { type SubscriptionAuthor, subscriptionView } from '../access/write/subscription-write.js';
import type { AuditFacts } from '../audit/audit.js';
import { type ErrorCode, FhirError } from '../fhir/error.js';
import { copyForHost, sameJsonText } from '../fhir/json/copy-json.js';
import { keepDecimalTexts } from '../fhir/json/decimal-texts.js';
import { withoutOwnMeta } from '../fhir/own-extensions.js';
import { referenceTo } from '../fhir/reference.js';
import { type AnyResource, elementsOf } from '../fhir/resource.js';
import { sha256Of } from '../platform/crypto.js';
import { Pace } from '../platform/pace.js';
import { pause } from '../platform/runtime.js';
import { compareTexts } from '../platform/texts.js';
import { untilCallEnds } from '../store/guards.js';
import type { ResourceKey } from '../store/resource-key.js';
import type { ReadResult } from '../store/stored-resource.js';
import type { DeliverySettings, SubscriptionNotification } from './delivery-settings.js';
import { type DeliveryState, type Lease, StoredState } from './delivery-state.js';
import { liveEvent, type LiveEvent, withoutVersion } from '../live/live-event.js';
import { notificationBundle, type PayloadContent } from './notification.js';
import { type RestHook, restHookIn, Unserved } from './rest-hook.js';
import type { TypeFeed, TypePage, VersionChange } from './type-feed.js';

/** What the Subscriptions of a process share. */
interface DeliveryTools {
  readonly settings: DeliverySettings;
  readonly lease: Lease;
  feed(project: string, type: string): TypeFeed;
}

/** A Subscription as it was read. */
interface ReadSubscription {
  readonly key: ResourceKey;
  /** Undefined: trusted code wrote it. */
  readonly author: SubscriptionAuthor | undefined;
  readonly found: ReadResult & { readonly status: 'found' };
  readonly state: ReadResult | undefined;
}

/** The rights of a Subscription, as of an epoch. */
interface Rights {
  readonly author: MemberCaller;
  readonly view: VersionView;
  readonly bot: MemberCaller | undefined;
  readonly epoch: string | undefined;
  /** Equal for the same author with the same view at the same time: see {@link DeliveryState.rights}. */
  readonly key: string;
  /** When they were confirmed: a page that was read later has the changes under them. */
  readonly since: number;
}

/** One Subscription while this process serves it. */
export class ServedSubscription {
  readonly #key: ResourceKey;
  readonly #author: SubscriptionAuthor | undefined;
  readonly #state: StoredState;
  #resource: AnyResource;
  #version: string;
  /** May be ahead of the stored state, but never with a number. */
  #now: DeliveryState;
  #saved = performance.now();
  #rights: Rights | undefined;
  #hook: RestHook | undefined;

  constructor(
    private readonly tools: DeliveryTools,
    { key, author, found, state }: ReadSubscription,
    private readonly signal: AbortSignal,
  ) {
    this.#key = key;
    this.#author = author;
    this.#resource = found.resource;
    this.#version = found.versionId;
    this.#state = new StoredState(tools.settings.store, key, state);
    this.#now = this.#state.now;
  }

  /**
   * Serves it until the signal fires or it is not active any more.
   *
   * @throws FhirError `unavailable`, `precondition-failed` … - read it again, and serve it again
   */
  async run(): Promise<void> {
    const { status } = elementsOf(this.#resource);
    if (status === 'error') return;
    // A later request begins at its own time.
    if (status === 'off')
      return this.#now.position === undefined ? undefined : this.#save({ number: this.#now.number });
    try {
      this.#hook = restHookIn(this.#resource, this.tools.settings.store.model);
      await this.#confirm(await this.tools.settings.store.accessEpoch?.());
      if (status === 'requested') await this.#activate();
      await this.#deliverAll();
    } catch (error) {
      if (this.signal.aborted || !(error instanceof FhirError) || MAY_PASS.has(error.code)) throw error;
      const { code, ends, message } = unservedBy(error, 'It cannot be served');
      await this.#setStatus(ends, message);
      // What is lost stays lost: a later request begins at its own time.
      if (code === 'reset') await this.#save({ number: this.#now.number });
    } finally {
      if (this.#now !== this.#state.now && this.tools.lease.isHeld) await this.#save(this.#now).catch(() => undefined);
    }
  }

  async #activate(): Promise<void> {
    const feed = this.#feed();
    const { number, position, rights } = this.#now;
    const { key } = this.#rights!;
    // After an error, it continues where it was. Another author, or one with other rights, begins now.
    const isKnown = rights === key && position !== undefined && !(await feed.page(position)).isReset;
    if (!isKnown) await this.#save({ number, position: await feed.now(), rights: key });
    if (this.#rights!.bot === undefined) await this.#attempts(() => this.#send(undefined), 'the handshake');
    await this.#setStatus('active');
  }

  async #deliverAll(): Promise<void> {
    while (!this.signal.aborted) {
      const feed = this.#feed();
      const { position = await feed.now() } = this.#now;
      const page = await feed.page(position);
      if (page.isReset) {
        throw new Unserved(
          'reset',
          'It is not known any more which changes were sent; search again, then set the status to "requested"',
        );
      }
      await this.#confirm(page.epoch);
      await this.#pass(page, position);
      const { number, rights } = this.#now;
      if (page.position !== position) {
        this.#now = { number, rights, position: page.position };
        continue;
      }
      const { key, since } = this.#rights!;
      if (rights !== key) {
        if (page.begun > since) await this.#save({ number, rights: key, position });
        continue;
      }
      if (this.#state.now.isPending === true || performance.now() - this.#saved > SAVE_MS) await this.#save(this.#now);
      const { view } = this.#rights!;
      const next = await feed.wait(view, page, this.#patience(), this.signal);
      if (next !== position) this.#now = { number, rights, position: next };
    }
  }

  /** How long the rights are sure to hold while the epoch is the same, and the position need not be stored, in milliseconds. */
  #patience(): number {
    const { author, bot, epoch } = this.#rights!;
    const callers = bot === undefined ? [author] : [author, bot];
    if (epoch === undefined || callers.some(mayChangeUnnoticed)) return RECHECK_MS;
    const { end } = elementsOf(this.#resource);
    const left = typeof end === 'string' ? Date.parse(end) - Date.now() : Infinity;
    return Math.max(0, Math.min(SAVE_MS, left, ...callers.map(timeLeft)));
  }

  async #pass({ changes }: TypePage, position: string): Promise<void> {
    const { at, isPending } = this.#now;
    const handled = this.#lastHandled(changes);
    const pace = new Pace();
    let [before, commit] = [position, position];
    for (const [index, change] of changes.entries()) {
      if (pace.isSpent) await pace.next();
      if (change.position !== commit) [before, commit] = [commit, change.position];
      const isLast = index === handled && change.name === at;
      if (index <= handled && !(isLast && isPending === true)) continue;
      if (this.#eventOf(change) !== undefined) await this.#deliver(change, before, isLast);
    }
  }

  /** The index of the last change that was handled before: see {@link DeliveryState}. */
  #lastHandled(changes: readonly VersionChange[]): number {
    const { at, commit } = this.#now;
    if (at === undefined) return -1;
    const [, id = ''] = at.split('/');
    return changes.findLastIndex(
      ({ name, key, position }) => position === commit && (name === at || compareTexts(key.id, id) < 0),
    );
  }

  /**
   * @param position before the commit of the change
   * @param isNumbered the event has a number from an earlier attempt
   */
  async #deliver(change: VersionChange, position: string, isNumbered: boolean): Promise<void> {
    await this.#attempts(async () => {
      const event = await this.#readable(change);
      if (event === undefined) return;
      if (!isNumbered) {
        const { number, rights } = this.#now;
        const { name: at, position: commit } = change;
        await this.#save({ number: number + 1, rights, position, at, commit, isPending: true });
      }
      isNumbered = true;
      await this.#send(event);
    });
    if (isNumbered) this.#now = { ...this.#now, isPending: false };
  }

  /**
   * Works with the rights of the moment, again after each failure to send.
   *
   * @param name names in an error what was sent. Default: the last notification
   */
  async #attempts(work: () => Promise<void>, name?: string): Promise<void> {
    const { store, retry } = this.tools.settings;
    for (let attempt = 1; ; attempt += 1) {
      await this.#confirm(await store.accessEpoch?.());
      try {
        return await work();
      } catch (error) {
        if (!(error instanceof Unsent)) throw error;
        if (attempt >= retry.attempts) {
          const what = name ?? `notification ${this.#now.number}`;
          throw new Unserved('conflict', `The endpoint did not accept ${what} in ${attempt} attempts`);
        }
        await pause(Math.min(retry.delay * 2 ** (attempt - 1), MAX_DELAY), this.signal);
      }
    }
  }

  /** @param event undefined: the handshake */
  async #send(event: LiveEvent | undefined): Promise<void> {
    const { settings, lease } = this.tools;
    if (!lease.isHeld) throw new FhirError('unavailable', 'Another process delivers');
    const { content, bot: _, ...channel } = this.#hook!;
    const bundle = event === undefined ? this.#bundle(content, event) : await this.#audited(content, event);
    const notification: SubscriptionNotification = {
      type: event === undefined ? 'handshake' : 'event-notification',
      project: this.#key.project,
      subscription: referenceTo('Subscription', this.#key.id),
      ...channel,
      bundle,
      caller: this.#rights!.bot,
    };
    const signal = AbortSignal.any([this.signal, AbortSignal.timeout(settings.retry.timeout)]);
    try {
      const sending = new Promise<unknown>((resolve) => resolve(settings.deliver(notification, { signal })));
      await untilCallEnds(sending, { signal });
    } catch (error) {
      throw this.signal.aborted ? error : new Unsent();
    }
  }

  /** Records what the notification shows, then makes it. */
  #audited(content: PayloadContent, event: LiveEvent): Promise<Bundle> {
    const { store, audit, requireAudit } = this.tools.settings;
    const { author: caller, view } = this.#rights!;
    const facts: AuditFacts = { targets: [{ type: view.type }], results: 1 };
    const trace = tracedBy({ store, audit }, facts);
    const { resource, stored } = event;
    return audited(
      { store, caller, audit, requireAudit },
      'search',
      async () => {
        if (trace !== undefined && resource !== undefined && content === 'full-resource') {
          trace.origins.set(resource, stored!);
          trace.show(resource);
        }
        return this.#bundle(content, event);
      },
      facts,
    );
  }

  #bundle(content: PayloadContent, event: LiveEvent | undefined): Bundle {
    const { baseUrl } = this.tools.settings;
    const facts = { subscription: this.#resource, state: this.#now, baseUrl };
    const shown = event?.resource && copyForHost(withoutOwnMeta(event.resource));
    return notificationBundle(facts, content, this.#rights!.view.type, event && { ...event, resource: shown });
  }

  /** The event of a change, by the versions themselves. */
  #eventOf({ key: { type, id }, versions: [before, after] }: VersionChange): LiveEvent | undefined {
    const { view } = this.#rights!;
    return liveEvent({ view, differs }, { type, id, past: [before], now: after });
  }

  /**
   * The event, without the resource if the author cannot read this version any more. After a change of the rights, there is
   * none without a resource: with the rights of that time, the author may never have known the id.
   */
  async #readable(change: VersionChange): Promise<LiveEvent | undefined> {
    const event = this.#eventOf(change);
    const resource = event?.resource && (await this.#read(change, event.resource));
    const isKnown = resource !== undefined || this.#now.rights === this.#rights!.key;
    return event && isKnown ? { ...event, resource } : undefined;
  }

  /** @param shown the version as the author sees it */
  async #read({ key, versionId: version }: VersionChange, shown: AnyResource): Promise<AnyResource | undefined> {
    const { store } = this.tools.settings;
    const [now] = await store.read([key]);
    if (now?.status === 'found' && now.versionId === version) return shown;
    const guard = guardStore(store, this.#rights!.author);
    const [seen] = await guard.read([{ type: key.type, id: key.id, version }]);
    return seen?.status === 'found' ? seen.resource : undefined;
  }

  /** The rights as they are at this epoch. @throws FhirError - they are gone */
  async #confirm(epoch: string | undefined): Promise<void> {
    const { end } = elementsOf(this.#resource);
    if (typeof end === 'string' && !(Date.parse(end) > Date.now())) {
      throw new Unserved('forbidden', 'Its end has passed', 'off');
    }
    const known = this.#rights;
    const isSame = known !== undefined && epoch !== undefined && epoch === known.epoch;
    if (isSame && [known.author, known.bot].every((caller) => caller === undefined || isCurrent(caller))) return;
    const author = this.#author;
    if (author === undefined) {
      throw new Unserved('forbidden', 'Trusted code wrote it; a member must write it, in whose name it acts');
    }
    const { store } = this.tools.settings;
    const { criteria } = elementsOf(this.#resource);
    const caller = await part('Its author cannot sign in', () => this.#signIn(author));
    const view = await part('Its criteria cannot be followed', async () =>
      subscriptionView(store.model, caller, criteria),
    );
    const key = sha256Of(JSON.stringify([author.membership, standingOf(caller)!.member.versions, view.key]));
    const bot = await part('Its Bot cannot sign in', () => this.#signInBot(caller, author));
    this.#rights = {
      author: caller,
      view,
      bot,
      epoch,
      key,
      since: known?.key === key ? known.since : performance.now(),
    };
  }

  async #signIn(author: SubscriptionAuthor): Promise<MemberCaller> {
    const { membership, user, accepted, requirePolicy, narrowings } = author;
    const caller = await signIn(this.tools.settings.store, { membership }, { issuedAt: 'now', requirePolicy });
    if (caller.project !== this.#key.project || caller.user !== user) {
      throw new FhirError('membership-missing', 'The member who wrote it does not exist any more');
    }
    if (termsOf(caller)!.accepted === accepted) return narrowings.reduce(narrowCaller, caller);
    throw new FhirError('session-ended', 'The session that wrote it was revoked');
  }

  async #signInBot(
    caller: MemberCaller,
    { written, requirePolicy }: SubscriptionAuthor,
  ): Promise<MemberCaller | undefined> {
    const { store } = this.tools.settings;
    const { bot: id, endpoint } = this.#hook!;
    if (id === undefined) return undefined;
    const [bot] = await guardStore(store, caller).read([{ type: 'Bot', id }]);
    if (bot?.status !== 'found') throw new Unserved('forbidden', 'Its author can read no such Bot');
    const identity = { project: this.#key.project, client: endpoint };
    return signIn(store, identity, { issuedAt: new Date(written), requirePolicy });
  }

  async #setStatus(status: 'active' | 'error' | 'off', error?: string): Promise<void> {
    const { error: _, ...elements } = elementsOf(this.#resource);
    const changed = { ...elements, status, ...(error === undefined ? {} : { error }) };
    const resource = keepDecimalTexts(this.#resource, changed as unknown as AnyResource);
    const expect = { version: this.#version };
    const [result] = await this.tools.settings.store.commit([{ kind: 'put', key: this.#key, resource, expect }]);
    this.#resource = resource;
    if (result?.kind === 'put') this.#version = result.versionId;
  }

  async #save(state: DeliveryState): Promise<void> {
    await this.#state.save(state);
    this.#now = state;
    this.#saved = performance.now();
  }

  #feed(): TypeFeed {
    const { project, type } = this.#rights!.view;
    return this.tools.feed(project, type);
  }
}

function isCurrent(caller: MemberCaller): boolean {
  return !mayChangeUnnoticed(caller) && timeLeft(caller) > 0;
}

/** Whether a reader who knows one version learns anything from the other. */
function differs(known: AnyResource, current: AnyResource): boolean {
  return !sameJsonText(withoutVersion(withoutOwnMeta(known)), withoutVersion(withoutOwnMeta(current)));
}

/** Of other errors, the message may name what its readers must not see. */
function unservedBy(error: FhirError, what: string): Unserved {
  return error instanceof Unserved ? error : new Unserved(error.code, `${what} (${error.code})`);
}

/** Does a part of the work of a Subscription, which errors name. */
async function part<Result>(what: string, work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    throw error instanceof FhirError && !MAY_PASS.has(error.code) ? unservedBy(error, what) : error;
  }
}

/** The host could not send. Its own error may hold anything, so that nothing of it is kept. */
class Unsent extends Error {}

/** Errors that are no reason to end a Subscription: the store, another process, or a fault of this library. */
const MAY_PASS: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  'aborted',
  'corrupt',
  'internal',
  'precondition-failed',
  'throttled',
  'unavailable',
]);

/** The longest pause between two attempts, in milliseconds. */
const MAX_DELAY = 600_000;

/** A position without an event is stored so often, in milliseconds. `changeRetention` must be longer: docs/concepts/live.md says so. */
const SAVE_MS = 600_000;

/** Authors whose rights can change without a change of the epoch sign in again so often, in milliseconds. */
const RECHECK_MS = 5_000;
