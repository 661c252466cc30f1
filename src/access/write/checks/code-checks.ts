import { FhirError } from '../../../fhir/error.js';
import { refersTo } from '../../../search/criteria/criteria.js';
import type { ResourceKey } from '../../../store/store.js';
import type { Caller, MemberCaller } from '../../caller.js';
import { writtenKey, type AddedWrite, type ReadyWrite } from '../ready-write.js';

/**
 * The writes of a commit with a check before each of a Binary: no member writes one that a Bot of the project has as its
 * code. Bots act with rights of their own, and change through administrators' operations only: whoever wants other code
 * makes another Binary, and an administrator points the Bot to it.
 *
 * The commit itself checks it, so a Bot that is pointed to the Binary in the meantime counts.
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
    // Which Bot it is, is not for everybody to know.
    refusal: () =>
      new FhirError(
        'forbidden',
        `Not allowed to write Binary/${key.id}, which is the code of a Bot; make another Binary and use updateBot`,
      ),
  };
}
