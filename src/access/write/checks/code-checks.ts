import { FhirError } from '../../../fhir/error.js';
import { refersTo } from '../../../search/criteria/criteria.js';
import type { ResourceKey } from '../../../store/resource-key.js';
import type { Caller, MemberCaller } from '../../caller.js';
import { writtenKey, type AddedWrite, type ReadyWrite } from '../ready-write.js';

/**
 * Adds a check before each write of a Binary: no member may write the code of a Bot. Bots have their own rights and are
 * changed through administrators' operations only: new code is a new Binary, to which an administrator points the Bot.
 *
 * The check runs inside the commit, so that concurrent changes of Bots count.
 */
export function withCodeChecks(caller: Caller, writes: readonly ReadyWrite[]): readonly ReadyWrite[] {
  if (caller.kind !== 'member') return writes;
  return writes.flatMap((ready) => {
    const key = writtenKey(ready);
    return key?.type === 'Binary' ? [isNoCode(caller, key, ready.from), ready] : [ready];
  });
}

function isNoCode({ project }: MemberCaller, key: ResourceKey, from: number): AddedWrite {
  return {
    role: 'added',
    write: { kind: 'assert-no-match', query: { project, type: 'Bot', criteria: refersTo('code-binary', key) } },
    from,
    // The message does not name the Bot, because not every caller may see it.
    refusal: () =>
      new FhirError(
        'forbidden',
        `Not allowed to write Binary/${key.id}, which is the code of a Bot; make another Binary and have the Bot name it`,
      ),
  };
}
