import { FhirError } from '../../fhir/error.js';
import { exportProject } from '../../projects/project/export-project.js';
import { type CallerExchange, contextOf, parameterOf } from '../exchange/exchange.js';
import type { Route } from '../exchange/route.js';

/** A project as NDJSON, sent as fast as the client reads. */
export const EXPORT_ROUTES: readonly Route[] = [
  {
    group: 'admin',
    method: 'GET',
    root: 'admin',
    path: 'projects/:project/export',
    parameters: ['history'],
    takesAnyFormat: true,
    async answer(exchange) {
      const history = booleanOf(parameterOf(exchange, 'history'));
      const lines = exportProject(exchange.path.project, { ...contextOf(exchange), history })[Symbol.asyncIterator]();
      // The first line is read before the response begins, so that a refusal can set its status.
      const first = await lines.next();
      return {
        status: 200,
        headers: { 'content-type': 'application/fhir+ndjson' },
        stream: streamOf(lines, first, exchange),
      };
    },
  },
];

/** The size from which on lines are sent, in characters. */
const CHUNK = 1 << 14;

/** A failure after the first line aborts the response, so that no client mistakes a part for the whole. */
function streamOf(
  lines: AsyncIterator<string>,
  first: IteratorResult<string>,
  { report }: CallerExchange,
): ReadableStream<Uint8Array<ArrayBuffer>> {
  const encoder = new TextEncoder();
  let next: IteratorResult<string> | undefined = first;
  return new ReadableStream(
    {
      async pull(controller) {
        try {
          let text = '';
          while (text.length < CHUNK) {
            const { done, value } = next ?? (await lines.next());
            next = undefined;
            if (done === true) {
              if (text !== '') controller.enqueue(encoder.encode(text));
              controller.close();
              return;
            }
            text += value;
          }
          controller.enqueue(encoder.encode(text));
        } catch (error) {
          report(error);
          controller.error(error);
        }
      },
      async cancel() {
        await lines.return?.();
      },
    },
    // A page is read when the client is ready for it.
    { highWaterMark: 0 },
  );
}

function booleanOf(value: string | undefined): boolean {
  if (value === undefined || value === 'false') return false;
  if (value === 'true') return true;
  throw new FhirError('invalid', 'history must be true or false');
}
