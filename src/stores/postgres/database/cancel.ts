import { isIP } from 'node:net';
import type { PostgresClient, PostgresPool } from './driver.js';

/**
 * Asks the server to cancel the running statement of a connection. Resolves once the request can no longer affect a later
 * statement of that connection. Rejects if that is unknown, and when its signal fires.
 */
export type Cancel = (client: PostgresClient, signal: AbortSignal) => Promise<void>;

/**
 * Cancels by the protocol's cancel request, over a connection outside of the pool: a full pool cannot keep it waiting.
 * The request carries the process id and the secret key of the connection, and goes to the connection's address.
 * Another server behind the same name does not know the key and does nothing.
 *
 * The server closes the connection of the request after it has signalled the process.
 * See https://www.postgresql.org/docs/current/protocol-flow.html#PROTOCOL-FLOW-CANCELING-REQUESTS.
 *
 * @returns undefined if the driver cannot send such a request
 */
export function cancelOver({ Client, options }: PostgresPool): Cancel | undefined {
  if (typeof Client !== 'function') return undefined;
  return async (client, signal) => {
    const canceller = new Client(options as never);
    if (!isCanceller(canceller)) throw new Error('The driver has no cancel request');
    await send(canceller, client, signal, hasOwnStream(options) ? undefined : addressOf(client));
  };
}

/** True if the server has sent the key that cancels statements of this connection. */
export function isCancellable({ processID, secretKey }: PostgresClient): boolean {
  return typeof processID === 'number' && typeof secretKey === 'number';
}

/** A Client of `pg` before it connects. */
interface Canceller {
  readonly host: string;
  readonly port: number;
  readonly connection: {
    ssl: boolean | object;
    readonly sslNegotiation?: string;
    readonly stream: { destroy(): void };
    connect(port: number | string, host?: string): void;
    requestSsl(): void;
    cancel(processID: number, secretKey: number): void;
    on(event: 'connect' | 'sslconnect' | 'end' | 'error', listener: (error?: Error) => void): unknown;
  };
}

interface Address {
  readonly remoteAddress: string;
  readonly remotePort: number;
}

async function send(
  { connection, host, port }: Canceller,
  { processID, secretKey }: PostgresClient,
  signal: AbortSignal,
  address: Address | undefined,
): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<undefined>();
  let sent = false;
  const cancel = (): void => {
    connection.cancel(processID!, secretKey!);
    sent = true;
  };
  const giveUp = (): void => {
    reject(new Error('The cancel request was not answered in time'));
    connection.stream.destroy();
  };
  const { ssl } = connection;
  if (address !== undefined && ssl) connection.ssl = withServerName(ssl, host);
  connection.on('error', reject);
  connection.on('end', () => (sent ? resolve(undefined) : reject(new Error('The server took no cancel request'))));
  connection.on('connect', () => {
    if (!ssl) cancel();
    else if (connection.sslNegotiation !== 'direct') connection.requestSsl();
  });
  connection.on('sslconnect', cancel);
  if (address !== undefined) connection.connect(address.remotePort, address.remoteAddress);
  else if (host.startsWith('/')) connection.connect(`${host}/.s.PGSQL.${port}`);
  else connection.connect(port, host);
  signal.addEventListener('abort', giveUp, { once: true });
  try {
    await promise;
  } finally {
    signal.removeEventListener('abort', giveUp);
  }
}

/** Connecting by address must still verify the certificate against the host name. */
function withServerName(ssl: true | object, host: string): object {
  const options: { key?: unknown; servername?: string } = ssl === true ? {} : ssl;
  if (isIP(host) !== 0) return ssl === true ? {} : ssl;
  // `pg` hides the key from enumeration.
  return { servername: host, ...options, ...('key' in options ? { key: options.key } : {}) };
}

/** The host creates its own sockets and controls their destination. */
function hasOwnStream(options: object | undefined): boolean {
  return options !== undefined && 'stream' in options && options.stream !== undefined;
}

/** Undefined for Unix domain sockets. */
function addressOf({ connection }: PostgresClient): Address | undefined {
  const { stream } = (connection ?? {}) as { readonly stream?: Partial<Address> };
  const { remoteAddress, remotePort } = stream ?? {};
  return remoteAddress === undefined || remotePort === undefined ? undefined : { remoteAddress, remotePort };
}

function isCanceller(client: object): client is Canceller {
  const { connection } = client as Partial<Canceller>;
  return typeof connection?.connect === 'function' && typeof connection.cancel === 'function';
}
