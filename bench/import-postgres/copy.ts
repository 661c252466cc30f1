import type { PoolClient } from 'pg';

// COPY written by hand over the protocol of `pg`.

export interface Copy {
  /** `COPY … FROM STDIN` */
  readonly text: string;
  readonly rows: Buffer;
}

interface CopyConnection {
  query(text: string): void;
  sendCopyFromChunk(chunk: Buffer): void;
  endCopyFrom(): void;
}

/** One transaction in one message. */
export function copyIn(client: PoolClient, copies: readonly Copy[]): Promise<void> {
  const texts = ['BEGIN', ...copies.map(({ text }) => text), 'COMMIT'];
  let next = 0;
  return run(client, texts.join('; '), {
    handleCopyInResponse(connection) {
      const { rows } = copies[next++]!;
      for (let start = 0; start < rows.length; start += PIECE) {
        connection.sendCopyFromChunk(rows.subarray(start, start + PIECE));
      }
      connection.endCopyFrom();
    },
  });
}

/** The rows of `COPY … TO STDOUT`. */
export async function copyOut(client: PoolClient, text: string): Promise<string> {
  const chunks: Buffer[] = [];
  // A chunk is a part of a buffer that later chunks overwrite.
  await run(client, text, { handleCopyData: ({ chunk }) => chunks.push(Buffer.from(chunk)) });
  return Buffer.concat(chunks).toString();
}

interface Handlers {
  handleCopyInResponse?(connection: CopyConnection): void;
  handleCopyData?(message: { readonly chunk: Buffer }): void;
}

function run(client: PoolClient, text: string, handlers: Handlers): Promise<void> {
  return new Promise((resolve, reject) => {
    client.query({
      submit: (connection: CopyConnection) => connection.query(text),
      handleError: reject,
      handleReadyForQuery: () => resolve(),
      handleCommandComplete: nothing,
      handleRowDescription: nothing,
      handleDataRow: nothing,
      handleCopyInResponse: nothing,
      handleCopyData: nothing,
      ...handlers,
    } as never);
  });
}

const PIECE = 1 << 16;

function nothing(): void {
  // Not awaited.
}
