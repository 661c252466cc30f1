/** See https://httpwg.org/specs/rfc9110.html#field.retry-after. */
export function retryHeaders(details: { readonly retryAfter?: unknown } | undefined): {
  readonly [name: string]: string;
} {
  const { retryAfter } = details ?? {};
  return typeof retryAfter === 'number' ? { 'retry-after': String(retryAfter) } : {};
}
